package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"strata/intent"
)

// asking is how a request that is explained is sent.
type asking struct {
	proxy, session, groups, intent string
}

func (p *program) explainCommand() *cobra.Command {
	var t target
	var a asking
	cmd := &cobra.Command{
		Use: "explain FILE|ID|last|TEXT", Short: "Show what a request would be given, or what an answer was given, and why",
		Long: `Show intent, what weighed for it, layers and what was left out. FILE is the JSON
body of a chat request (- for standard input), TEXT a message in quotes: Strata
decides on it and shows the blocks, but calls no model and stores nothing. ID is
the id of a request (X-Strata-Request-Id) or of an answer, last the latest
request: its receipt is shown. Of a TEXT the verdict is shown even when no
program is running.`,
		Example: `  strata explain "How many days of leave do I have?" --user alice
  strata explain request.json --user alice
  echo '{"model":"m","messages":[{"role":"user","content":"How many days of leave?"}]}' | strata explain -
  strata explain last --user alice
  strata explain chatcmpl-123`,
		Args: exactlyOne("a file, a request or answer id, last, or a message in quotes"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch whatIs(args[0]) {
			case namedFile:
				return p.explainFile(t, a, args[0])
			case namedReceipt:
				return p.explainReceipt(t, args[0])
			}
			return p.explainText(t, a, args[0])
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	t.addJSONTo(cmd)
	cmd.Flags().StringVar(&a.proxy, "proxy", "", "of FILE or TEXT: URL of the data plane (default: from listen)")
	cmd.Flags().StringVar(&a.session, "session", "", "of FILE or TEXT: session")
	cmd.Flags().StringVar(&a.groups, "groups", "", "of FILE or TEXT: the user's groups, comma-separated")
	cmd.Flags().StringVar(&a.intent, "intent", "", "of FILE or TEXT: force chat, rag or data")
	return cmd
}

// verdict is which intent a message has, and why.
type verdict struct {
	Intent        string                `json:"intent"`
	Confidence    *float64              `json:"confidence"`
	Stage         string                `json:"stage"`
	Rule          string                `json:"rule,omitempty"`
	Probabilities *intent.Probabilities `json:"probabilities,omitempty"`
	Why           []intent.Reason       `json:"why,omitempty"`
	Context       string                `json:"context"`
	Reason        string                `json:"reason"`
}

// explanation is an answer to X-Strata-Explain, or a receipt.
type explanation struct {
	verdict
	Tokens int `json:"block_tokens"`
	Cached int `json:"cached_tokens"`
	Layers []struct {
		Name    string    `json:"name"`
		IDs     []string  `json:"ids"`
		Scores  []float64 `json:"scores"`
		Cosines []float64 `json:"cosines"`
		Tokens  int       `json:"tokens"`
		Millis  float64   `json:"ms"`
	} `json:"layers"`
	Skipped []struct {
		Name   string `json:"name"`
		Reason string `json:"reason"`
		ID     string `json:"id"`
	} `json:"skipped"`
	Stable   string  `json:"stable_block"`
	Volatile string  `json:"volatile_block"`
	Body     *string `json:"body"`

	RequestID string    `json:"request_id"`
	AnswerID  string    `json:"answer_id"`
	At        time.Time `json:"at"`
	Session   string    `json:"session"`
	Model     string    `json:"model"`
}

func (p *program) explainReceipt(t target, id string) error {
	c, err := p.client(t)
	if err != nil {
		return err
	}
	path := "/v1/receipts/" + segment(id)
	if id == "last" {
		path = "/v1/receipts/last"
	}
	var e explanation
	b, err := c.get(path, nil, &e)
	if failure, ok := errors.AsType[*refusedError](err); ok && failure.status == http.StatusNotFound {
		if id == "last" {
			return errors.New("nothing is recorded yet")
		}
		return fmt.Errorf("there is no file %s, and no request or answer of this id is recorded; `strata explain last` shows the latest", plain(id))
	}
	if err != nil {
		return err
	}
	if c.asJSON {
		return p.printRaw(b)
	}
	return p.printExplanation(e)
}

func (p *program) explainFile(t target, a asking, path string) error {
	body, err := p.readRequest(path)
	if err != nil {
		return err
	}
	return p.explainBody(t, a, body)
}

func (p *program) explainBody(t target, a asking, body []byte) error {
	b, err := p.askExplain(t, a, body)
	if err != nil {
		return err
	}
	var e explanation
	if json.Unmarshal(b, &e) != nil || e.Body == nil {
		return errors.New("the answer explains nothing, so it is not from Strata's data plane; check --proxy")
	}
	if t.asJSON {
		return p.printRaw(b)
	}
	return p.printExplanation(e)
}

func (p *program) readRequest(path string) ([]byte, error) {
	var b []byte
	var err error
	if path == "-" {
		b, err = io.ReadAll(p.stdin)
	} else {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("%s cannot be read; name the JSON body of a chat request, an id, or last", path)}
	}
	if !json.Valid(b) {
		return nil, usageError{fmt.Errorf("%s is not JSON; name the body of a chat request", path)}
	}
	return b, nil
}

// askExplain has the data plane decide on a request. The admin token goes
// along only where it is asked for, on other machines.
func (p *program) askExplain(t target, a asking, body []byte) ([]byte, error) {
	if a.proxy == "" {
		l, err := p.load()
		if err != nil {
			return nil, err
		}
		if a.proxy, err = localURL(l.Listen); err != nil {
			return nil, err
		}
	}
	u, err := url.Parse(a.proxy)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usageError{fmt.Errorf("--proxy: %q is not a URL; write it like http://127.0.0.1:4470", a.proxy)}
	}
	address := strings.TrimSuffix(strings.TrimRight(a.proxy, "/"), "/v1") + "/v1/chat/completions"
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, usageError{fmt.Errorf("--proxy: %s is not a usable address", a.proxy)}
	}
	for name, value := range map[string]string{"X-Strata-Explain": "1", "Content-Type": "application/json", "X-Strata-User": t.user, "X-Strata-Tenant": t.tenant,
		"X-Strata-Session": a.session, "X-Strata-Groups": a.groups, "X-Strata-Intent": a.intent} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if !isLoopback(net.JoinHostPort(u.Hostname(), "1")) {
		if err := p.authorise(t, req); err != nil {
			return nil, err
		}
	}
	c := &client{target: target{server: a.proxy}, flag: "--proxy"}
	resp, err := (&http.Client{Transport: &http.Transport{}}).Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, c.refused(resp)
	}
	return io.ReadAll(resp.Body)
}

func (p *program) authorise(t target, req *http.Request) error {
	if t.token == "" {
		l, err := p.load()
		if err != nil {
			return err
		}
		if t.token, err = knownToken(&l.Config); err != nil {
			return err
		}
	}
	req.Header.Set("Authorization", "Bearer "+t.token)
	return nil
}

func (p *program) printExplanation(e explanation) error {
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(p.stdout, "%-9s %s\n", what, plain(text))
		}
	}
	line("request", e.RequestID)
	line("answer", e.AnswerID)
	line("at", when(e.At))
	line("session", e.Session)
	line("model", e.Model)
	kind := e.Intent
	if e.Confidence != nil {
		kind += fmt.Sprintf("  confidence %.2f", *e.Confidence)
	}
	if e.Stage != "" {
		kind += "  by " + strings.TrimSpace(e.Stage+" "+e.Rule)
	}
	line("intent", kind)
	line("likely", likely(e.Probabilities))
	line("because", because(e.Why))
	result := strings.TrimSpace(e.Context + "  " + e.Reason)
	if e.Tokens > 0 {
		result += fmt.Sprintf("  %d tokens", e.Tokens)
	}
	if e.Cached > 0 {
		result += fmt.Sprintf("  %d of the prompt's from the provider's cache", e.Cached)
	}
	line("context", result)
	if err := p.printLayers(e); err != nil {
		return err
	}
	for _, block := range []struct{ name, text string }{{"stable block", e.Stable}, {"volatile block", e.Volatile}} {
		if block.text != "" {
			fmt.Fprintf(p.stdout, "\n%s\n%s\n", block.name, beside(block.text, "  "))
		}
	}
	return nil
}

// printLayers shows what each layer gave, and what was left out.
func (p *program) printLayers(e explanation) error {
	layers, skipped := newTable("LAYER", "TOKENS", "MS", "IDS"), newTable("LEFT OUT", "WHY", "ID")
	for _, l := range e.Layers {
		layers.add(l.Name, strconv.Itoa(l.Tokens), strconv.FormatFloat(l.Millis, 'f', 1, 64), strings.Join(l.IDs, " "))
	}
	for _, s := range e.Skipped {
		skipped.add(s.Name, s.Reason, s.ID)
	}
	passages := newTable("PASSAGE", "BY WORDS", "BY VECTORS")
	for _, f := range e.passages() {
		passages.add(f.ID, byWords(f.Words), byVectors(f.Vectors))
	}
	return p.printTables(layers, passages, skipped)
}

// fitting is a passage that was given, and how well it fits the question.
type fitting struct {
	ID      string   `json:"id"`
	Words   float64  `json:"words"`             // share of the question that it covers, 0-1
	Vectors *float64 `json:"vectors,omitempty"` // cosine; nil = vectors did not find it
}

// passages are those of the knowledge layer, best first. Those of a tool loop's
// further calls have no figures.
func (e *explanation) passages() []fitting {
	out := []fitting{}
	for _, l := range e.Layers {
		if l.Name != "knowledge" || len(l.Scores) != len(l.IDs) {
			continue
		}
		for i, id := range l.IDs {
			f := fitting{ID: id, Words: l.Scores[i]}
			if i < len(l.Cosines) && l.Cosines[i] != 0 {
				f.Vectors = &l.Cosines[i]
			}
			out = append(out, f)
		}
	}
	return out
}

func byWords(cover float64) string { return strconv.FormatFloat(cover, 'f', 2, 64) }

func byVectors(cosine *float64) string {
	if cosine == nil {
		return "-"
	}
	return strconv.FormatFloat(*cosine, 'f', 2, 64)
}
