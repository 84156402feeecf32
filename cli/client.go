package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// controlCommands are the verbs that go through the admin API.
func (p *program) controlCommands() []*cobra.Command {
	return []*cobra.Command{
		p.ingestCommand(), p.docsCommand(), p.memoriesCommand(), p.sessionsCommand(), p.usersCommand(), p.intentCommand(),
		p.explainCommand(), p.checkCommand(), p.tailCommand(), p.statsCommand(), p.flushCommand(),
	}
}

// target is which Strata a verb talks to, and on whose behalf.
type target struct {
	server, token string
	tenant, user  string
	asJSON        bool
}

// addTo declares the flags that every verb has.
func (t *target) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.server, "server", "", "URL of the control plane (default: from admin.listen)")
	cmd.Flags().StringVar(&t.token, "token", "", "its token (default: admin.token, else data_dir/admin.token)")
	cmd.Flags().StringVar(&t.tenant, "tenant", "", "tenant (default: the server's)")
}

func (t *target) addUserTo(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&t.user, "user", "u", "", "user whose rows are meant (default: all of the tenant)")
}

func (t *target) addJSONTo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.asJSON, "json", false, "as JSON")
}

// client calls the admin API.
type client struct {
	target
	http *http.Client
	flag string // that names the server
}

// client finds address and token of the control plane. The configuration is
// read only for what the flags leave open.
func (p *program) client(t target) (*client, error) {
	if t.server == "" || t.token == "" {
		l, err := p.load()
		if err != nil {
			return nil, err
		}
		if t.server == "" {
			if t.server, err = controlURL(&l.Config); err != nil {
				return nil, err
			}
		}
		if t.token == "" {
			if t.token, err = knownToken(&l.Config); err != nil {
				return nil, err
			}
		}
	}
	u, err := url.Parse(t.server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usageError{fmt.Errorf("--server: %q is not a URL; write it like http://127.0.0.1:4471", t.server)}
	}
	t.server = strings.TrimRight(t.server, "/")
	// Never through a proxy, as the token is for this address alone.
	return &client{target: t, flag: "--server", http: &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

func controlURL(c *Config) (string, error) {
	if c.Admin.Listen == "off" {
		return "", usageError{errors.New("admin.listen is off, and this command needs the control plane; turn it on, or pass --server")}
	}
	return localURL(c.Admin.Listen)
}

// localURL leads to a listener of this machine.
func localURL(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", usageError{err}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// knownToken is the configured token, else the one that serve has made.
func knownToken(c *Config) (string, error) {
	if c.Admin.Token != "" {
		return c.Admin.Token, nil
	}
	path := filepath.Join(c.DataDir, "admin.token")
	token, err := readToken(path)
	if err != nil {
		return "", usageError{fmt.Errorf("no admin token: %s cannot be read; start `strata serve` once, which makes it, or pass --token", path)}
	}
	return token, nil
}

// refusedError is an error that the server answered.
type refusedError struct {
	status  int
	message string
}

func (e *refusedError) Error() string { return e.message }

// notFound reports that the server has no such record.
func notFound(err error) bool {
	failure, ok := errors.AsType[*refusedError](err)
	return ok && failure.status == http.StatusNotFound
}

// send makes one call. The caller closes the body; an answer other than 2xx is
// an error.
func (c *client) send(ctx context.Context, method, path string, query url.Values, kind string, body io.Reader) (*http.Response, error) {
	address := c.server + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, usageError{fmt.Errorf("--server: %s is not a usable address", c.server)}
	}
	if file, ok := body.(*io.SectionReader); ok {
		req.ContentLength = file.Size()
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(file, 0, file.Size())), nil }
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	for name, value := range map[string]string{"Content-Type": kind, "X-Strata-Tenant": c.tenant, "X-Strata-User": c.user} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, c.refused(resp)
	}
	return resp, nil
}

// awayError says that nothing listens where the server should be.
type awayError struct{ server, flag string }

func (e *awayError) Error() string {
	return fmt.Sprintf("strata serve is not running at %s; start it or pass %s", e.server, e.flag)
}

func (c *client) unreachable(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s did not answer in time", c.server)
	case errors.Is(err, syscall.ECONNREFUSED):
		return &awayError{c.server, c.flag}
	}
	if failure, ok := errors.AsType[*url.Error](err); ok {
		err = failure.Err
	}
	return fmt.Errorf("%s cannot be asked (%w); check %s", c.server, err, c.flag)
}

func (c *client) refused(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var a struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(b, &a) != nil || a.Error.Message == "" {
		return &refusedError{resp.StatusCode, fmt.Sprintf("%s answers %s, which is not Strata; check %s", c.server, resp.Status, c.flag)}
	}
	message := plain(a.Error.Message)
	if resp.StatusCode == http.StatusUnauthorized {
		message += " Or pass it with --token."
	}
	return &refusedError{resp.StatusCode, message}
}

// callLimit is how long one call may take; uploads and streams have their own.
const callLimit = 2 * time.Minute

// do makes a call with an optional JSON body and returns the answer's bytes.
func (c *client) do(method, path string, query url.Values, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	var reader io.Reader
	kind := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader, kind = bytes.NewReader(b), "application/json"
	}
	resp, err := c.send(ctx, method, path, query, kind, reader)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, brokenOff(c.server)
	}
	return b, nil
}

// get decodes an answer into v and returns its bytes too.
func (c *client) get(path string, query url.Values, v any) ([]byte, error) {
	b, err := c.do(http.MethodGet, path, query, nil)
	if err == nil && json.Unmarshal(b, v) != nil {
		err = foreign(c.server)
	}
	return b, err
}

func foreign(server string) error {
	return fmt.Errorf("%s answers something else than Strata's control plane; check --server", server)
}

func brokenOff(server string) error { return fmt.Errorf("%s broke off its answer; try again", server) }

// fetch writes an answer to a file.
func (c *client) fetch(path string, query url.Values, file io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	resp, err := c.send(ctx, http.MethodGet, path, query, "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(file, resp.Body)
	if failure, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("the answer cannot be kept in a temporary file (%w); set TMPDIR to a folder with room", failure.Err)
	}
	if err != nil {
		return brokenOff(c.server)
	}
	return nil
}

// segment makes an id one segment of a path, also "." and "..".
func segment(id string) string {
	if strings.Trim(id, ".") == "" {
		return strings.ReplaceAll(id, ".", "%2E")
	}
	return url.PathEscape(id)
}

// maxPage is the most rows that one call answers.
const maxPage = 500

// paging are the flags of a list.
type paging struct {
	limit  int
	cursor string
}

func (g *paging) addTo(cmd *cobra.Command) {
	cmd.Flags().IntVar(&g.limit, "limit", 50, "rows at most; 0 = all")
	cmd.Flags().StringVar(&g.cursor, "cursor", "", "go on after the list that ended with this next_cursor")
}

// rows reads a list, page by page. The rows are in the member called name.
func (c *client) rows(path, name string, query url.Values, g paging) (rows []json.RawMessage, next string, err error) {
	if g.limit < 0 {
		return nil, "", usageError{errors.New("--limit: a whole number from 0")}
	}
	next = g.cursor
	for {
		size := maxPage
		if g.limit > 0 {
			size = min(size, g.limit-len(rows))
		}
		q := url.Values{"limit": {strconv.Itoa(size)}}
		for k, v := range query {
			q[k] = v
		}
		if next != "" {
			q.Set("cursor", next)
		}
		var page map[string]json.RawMessage
		if _, err := c.get(path, q, &page); err != nil {
			return nil, "", err
		}
		var part []json.RawMessage
		next = ""
		if json.Unmarshal(page[name], &part) != nil || page["next_cursor"] != nil && json.Unmarshal(page["next_cursor"], &next) != nil {
			return nil, "", fmt.Errorf("%s answers something else than a list of %s; check --server", c.server, name)
		}
		rows = append(rows, part...)
		if next == "" || g.limit > 0 && len(rows) >= g.limit {
			return rows, next, nil
		}
	}
}

// listing reads a list and prints it: as JSON, or as a table of what cells
// gives for each row.
func listing[T any](p *program, c *client, path, name string, query url.Values, g paging, header []string, cells func(T) []string) error {
	rows, next, err := c.rows(path, name, query, g)
	if err != nil {
		return err
	}
	if c.asJSON {
		if rows == nil {
			rows = []json.RawMessage{}
		}
		return p.printJSON(map[string]any{name: rows, "next_cursor": next})
	}
	t := newTable(header...)
	for _, raw := range rows {
		var row T
		if err := json.Unmarshal(raw, &row); err != nil {
			return fmt.Errorf("%s answers %s of another version; --json shows them", c.server, name)
		}
		t.add(cells(row)...)
	}
	if len(rows) == 0 {
		fmt.Fprintf(p.stderr, "no %s\n", name)
		return nil
	}
	if err := t.write(p.stdout); err != nil {
		return err
	}
	if next != "" {
		fmt.Fprintf(p.stderr, "there are more; --limit 0 lists all\n")
	}
	return nil
}

// printJSON prints v indented on standard output.
func (p *program) printJSON(v any) error {
	enc := json.NewEncoder(p.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printRaw prints an answer as JSON, indented, numbers as they came.
func (p *program) printRaw(b []byte) error { return p.printJSON(json.RawMessage(b)) }

// writeNew writes a file that was not there, readable by its owner alone.
func writeNew(path string, b []byte, hint string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usageError{fmt.Errorf("%s exists and is not overwritten; %s", path, hint)}
	}
	if err != nil {
		return usageError{fmt.Errorf("%s cannot be written; %s", path, hint)}
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// removeEach calls DELETE for every id and goes on after errors, so that one
// id that is gone leaves none of the others.
func (p *program) removeEach(c *client, path string, ids []string) error {
	var failed []error
	for _, id := range ids {
		if _, err := c.do(http.MethodDelete, path+segment(id), nil, nil); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", plain(id), err))
			continue
		}
		fmt.Fprintf(p.stdout, "deleted %s\n", plain(id))
	}
	return errors.Join(failed...)
}

// atLeast refuses a call without the arguments it needs.
func atLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usageError{fmt.Errorf("`%s` needs %s", cmd.CommandPath(), what)}
		}
		return nil
	}
}

// exactlyOne refuses any other number of arguments.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("`%s` needs %s", cmd.CommandPath(), what)}
		}
		return nil
	}
}

// group is a command that only holds others.
func group(use, short, example string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Example: example, Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(subs...)
	return cmd
}
