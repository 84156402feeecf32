package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"strata/internal/demo"
)

func (p *program) demoCommand() *cobra.Command {
	lang := ""
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See it work: no key, no network, nothing kept",
		Long: `Run Strata in front of a small local model with a sample handbook, have a
conversation through it and show for each turn what was decided, what was given
to the model and how long that took. The exit code is 1 if anything is not as
it should be. Everything lives in a temporary folder that is removed.`,
		Example: "  strata demo\n  strata demo --lang zh",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if lang == "" {
				lang = "en"
				if strings.HasPrefix(p.env.getenv("LANG"), "zh") {
					lang = "zh"
				}
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return p.demo(ctx, lang)
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "", "en or zh (default: by LANG)")
	return cmd
}

func (p *program) demo(ctx context.Context, lang string) error {
	docs, steps, err := demo.Script(lang)
	if err != nil {
		return usageError{err}
	}
	dir, err := os.MkdirTemp("", "strata-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	model := new(demo.Model)
	upstream := &http.Server{Handler: model, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = upstream.Serve(ln) }()
	defer upstream.Close()

	cfg := defaults(p.env.getenv)
	cfg.Listen, cfg.Admin.Listen, cfg.DataDir = "127.0.0.1:0", "127.0.0.1:0", dir
	cfg.Upstream.BaseURL = "http://" + ln.Addr().String() + "/v1"
	s := newServer(&cfg, slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if err := s.start(true); err != nil {
		return err
	}
	go func() { _ = s.proxy.Serve(s.data) }()
	s.setNotReady("")
	defer func() { s.windUp(time.Now().Add(time.Second)) }() // nothing is in flight then

	token, _ := adminToken("", dir)
	control, err := p.client(target{server: "http://" + s.adminLn.Addr().String(), token: token})
	if err != nil {
		return err
	}
	d := &demoRun{ctx: ctx, out: p.stdout, model: model, control: control, talks: map[string][]demoMessage{}, memories: map[string]string{},
		data: "http://" + s.data.Addr().String(), colour: isTerminal(p.stdout)}
	return d.run(docs, steps)
}

// demoRun is a demo under way.
type demoRun struct {
	ctx      context.Context
	out      io.Writer
	model    *demo.Model
	control  *client
	data     string // URL of the data plane
	colour   bool
	talks    map[string][]demoMessage // by user and session
	memories map[string]string        // by user, as shown last
	wrong    int
}

type demoMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (d *demoRun) run(docs []demo.Document, steps []demo.Step) error {
	d.print("", "Strata runs at %s in front of a small model at your machine; nothing leaves it.\n", d.data)
	for _, doc := range docs {
		if err := d.put(doc); err != nil {
			return err
		}
	}
	for i, step := range steps {
		d.print("1", "\n%d. %s", i+1, step.Title)
		if err := d.step(step); err != nil {
			return err
		}
	}
	if d.wrong > 0 {
		return fmt.Errorf("%d of the things above are not as they should be", d.wrong)
	}
	d.print("32", "\nAll %d steps came out as they should. Next: strata serve", len(steps))
	return nil
}

func (d *demoRun) step(step demo.Step) error {
	if step.Put != nil {
		return d.put(*step.Put)
	}
	id := step.User + "/" + step.Session
	talk := append(d.talks[id], demoMessage{"user", step.Say})
	if !step.Continue {
		talk = talk[len(talk)-1:]
	}
	d.print("36", "   %-7s %s", step.User, indent(step.Say, "           "))
	head, answer, err := d.ask(step, talk)
	if err != nil {
		return err
	}
	d.talks[id] = append(talk, demoMessage{"assistant", answer})
	texts := make([]string, len(talk))
	for i, m := range talk {
		texts[i] = m.Content
	}
	added := d.model.Received(texts)
	if err := d.decided(head); err != nil {
		return err
	}
	if added != "" {
		d.print("2", "           │ %s", indent(strings.TrimSpace(added), "           │ "))
	}
	d.print("", "   model   %s", indent(answer, "           "))
	learned, err := d.learn(step.User)
	if err != nil {
		return err
	}
	if learned != "" {
		d.print("33", "   memory  %s", learned)
	}
	d.check(step, head, added)
	return nil
}

// check compares what came of a step with what must.
func (d *demoRun) check(step demo.Step, head http.Header, added string) {
	fail := func(format string, args ...any) {
		d.wrong++
		d.print("31", "   WRONG   "+format, args...)
	}
	if got, _, _ := strings.Cut(head.Get("X-Strata-Intent"), ";"); got != step.Intent {
		fail("the intent is %s, not %s", got, step.Intent)
	}
	for _, text := range step.Gets {
		if !strings.Contains(added, text) {
			fail("the model was not given %q", text)
		}
	}
	for _, text := range step.Never {
		if strings.Contains(added, text) {
			fail("the model was given %q", text)
		}
	}
}

// decided prints what Strata did for a request.
func (d *demoRun) decided(head http.Header) error {
	var receipt struct {
		Layers []struct {
			Name   string
			IDs    []string
			Tokens int
		}
		Tokens int `json:"block_tokens"`
	}
	if _, err := d.control.get("/v1/receipts/"+head.Get("X-Strata-Request-Id"), nil, &receipt); err != nil {
		return err
	}
	var layers []string
	for _, l := range receipt.Layers {
		if len(l.IDs) > 0 {
			layers = append(layers, fmt.Sprintf("%s %d", l.Name, len(l.IDs)))
		}
	}
	what := strings.Join(layers, ", ")
	if what == "" {
		what = "nothing"
	}
	_, ms, _ := strings.Cut(head.Get("Server-Timing"), "strata;dur=")
	d.print("35", "   strata  %s · gives %s · %d tokens · %s ms", strings.ReplaceAll(head.Get("X-Strata-Intent"), "; ", " "), what, receipt.Tokens, ms)
	return nil
}

// ask sends the conversation as an app would.
func (d *demoRun) ask(step demo.Step, talk []demoMessage) (http.Header, string, error) {
	body, err := json.Marshal(map[string]any{"model": "demo", "messages": talk})
	if err != nil {
		return nil, "", err
	}
	req, err := http.NewRequestWithContext(d.ctx, http.MethodPost, d.data+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Strata-User", step.User)
	req.Header.Set("X-Strata-Session", step.Session)
	req.Header.Set("X-Strata-Groups", step.Groups)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Choices []struct{ Message demoMessage }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		return nil, "", fmt.Errorf("the model's answer cannot be read (status %d)", resp.StatusCode)
	}
	return resp.Header, answer.Choices[0].Message.Content, nil
}

// learn waits for the memory and tells what it holds now, if that changed.
func (d *demoRun) learn(who string) (string, error) {
	if _, err := d.control.do(http.MethodPost, "/v1/learn/flush", nil, struct{}{}); err != nil {
		return "", err
	}
	var list struct{ Memories []struct{ Summary string } }
	if _, err := d.control.get("/v1/memories", url.Values{"user": {who}}, &list); err != nil {
		return "", err
	}
	var held []string
	for _, m := range list.Memories {
		held = append(held, "“"+m.Summary+"”")
	}
	now := strings.Join(held, " ")
	before := d.memories[who]
	if d.memories[who] = now; before == now {
		return "", nil
	}
	if now == "" {
		now = "(empty)"
	}
	return now, nil
}

func (d *demoRun) put(doc demo.Document) error {
	var result struct {
		Version, Passages int
		Status            string
	}
	query := url.Values{"groups": {strings.Join(doc.Groups, ",")}}
	resp, err := d.control.send(d.ctx, http.MethodPut, "/v1/documents/"+doc.ID+".md", query, "text/markdown", bytes.NewReader(doc.Body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&result); err != nil {
		return fmt.Errorf("storing %s: %w", doc.ID, err)
	}
	groups := "everybody"
	if len(doc.Groups) > 0 {
		groups = strings.Join(doc.Groups, ", ")
	}
	d.print("", "   stored  %s.md, version %d, %d passages, for %s", doc.ID, result.Version, result.Passages, groups)
	if result.Status != "published" {
		d.wrong++
		d.print("31", "   WRONG   it is %s, not published", result.Status)
	}
	return nil
}

func (d *demoRun) print(style, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if d.colour && style != "" {
		text = "\x1b[" + style + "m" + text + "\x1b[0m"
	}
	fmt.Fprintln(d.out, text)
}

func indent(text, with string) string { return strings.ReplaceAll(text, "\n", "\n"+with) }
