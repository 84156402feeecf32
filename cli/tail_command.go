package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"strata/admin"
)

func (p *program) tailCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "tail", Short: "Show a line for every request, live", Args: noArguments,
		Long: `Show a line for every request as it ends: time, user, intent, tokens added, the
layers they came from, milliseconds added, and the reason when something was
left out. What was learned from a request has a line of its own: how many memories
are new, took the place of others, or are gone. No texts are shown. Ctrl-C ends it.`,
		Example: "  strata tail\n  strata tail --user alice --json",
		RunE: func(*cobra.Command, []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return p.tail(ctx, c)
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	t.addJSONTo(cmd)
	return cmd
}

// event is what GET /v1/events tells, as far as it is shown.
type event struct {
	Kind    string    `json:"event"`
	At      time.Time `json:"at"`
	Request string    `json:"request_id"`
	User    string    `json:"user"`
	Intent  string    `json:"intent"`
	Context string    `json:"context"`
	Reason  string    `json:"reason"`
	Tokens  int       `json:"tokens"`
	Layers  []string  `json:"layers"`
	Millis  float64   `json:"ms"`

	New      int `json:"new"`
	Replaced int `json:"replaced"`
	Erased   int `json:"erased"`
}

const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 5 * time.Second
	silentFor  = 45 * time.Second // the server gives a sign of life every 15 s
)

// tail shows events until ctx ends. Only the first connection may fail for
// good; later the server is waited for.
func (p *program) tail(ctx context.Context, c *client) error {
	connected, lost := false, false
	wait := firstRetry
	for ctx.Err() == nil {
		err := p.tailOnce(ctx, c, func() {
			if lost {
				fmt.Fprintln(p.stderr, "strata tail: connected again")
			}
			connected, lost, wait = true, false, firstRetry
		})
		if ctx.Err() != nil {
			break
		}
		refused, isRefusal := errors.AsType[*refusedError](err)
		if !connected || isRefusal && refused.status < 500 {
			return err
		}
		if !lost {
			fmt.Fprintln(p.stderr, "strata tail: the connection ended; waiting for the server")
			lost = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, lastRetry)
	}
	return nil
}

// tailOnce shows the events of one connection and returns why it ended.
func (p *program) tailOnce(ctx context.Context, c *client, connected func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(silentFor, cancel)
	defer silence.Stop()
	resp, err := c.send(ctx, http.MethodGet, "/v1/events", nil, "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	connected()
	colour := isTerminal(p.stdout) && p.env.getenv("NO_COLOR") == ""
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		silence.Reset(silentFor)
		var e event
		if len(lines.Bytes()) == 0 || json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		if c.asJSON {
			_, err = fmt.Fprintf(p.stdout, "%s\n", lines.Bytes())
		} else {
			_, err = fmt.Fprintln(p.stdout, e.line(colour))
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

func (e event) line(colour bool) string {
	user := e.User
	if user == "" {
		user = "-"
	}
	begin := e.At.Local().Format(time.TimeOnly) + "  " + pad(user, 16) + " "
	if e.Kind == admin.EventLearned {
		return begin + e.learned()
	}
	layers := strings.Join(e.Layers, ",")
	if layers == "" {
		layers = "-"
	}
	intent := pad(e.Intent, 5)
	if code := intentColours[e.Intent]; colour && code != "" {
		intent = "\x1b[" + code + "m" + intent + "\x1b[0m"
	}
	why := strings.TrimSpace(e.Context + " " + e.Reason)
	if e.Context == "full" {
		why = e.Reason
	}
	line := begin + fmt.Sprintf("%s %5d tok  %s %7.1f ms  %s", intent, e.Tokens, pad(layers, 26), e.Millis, plain(why))
	return strings.TrimRight(line, " ")
}

// learned is the part of a line that tells what became of the memory.
func (e event) learned() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{e.New, "new"}, {e.Replaced, "replaced"}, {e.Erased, "erased"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return "learned " + strings.Join(parts, ", ") + "  from " + plain(e.Request)
}

// intentColours are those of a terminal.
var intentColours = map[string]string{"chat": "36", "rag": "32", "data": "35"}

// pad cuts or fills text to n cells.
func pad(text string, n int) string {
	text = shorten(plain(text), n)
	return text + strings.Repeat(" ", n-columns(text))
}
