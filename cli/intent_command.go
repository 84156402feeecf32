package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"strata/intent"
)

func (p *program) intentCommand() *cobra.Command {
	return group("intent", "Put the kind of a question right, and look at what was put right",
		"  strata intent fix last rag\n  strata intent fix data --text \"各门店的客单价\"\n  strata intent ls\n  strata intent rm iex_0123\n  strata intent export fixes.jsonl",
		p.intentFixCommand(), p.intentListCommand(), p.intentRemoveCommand(), p.intentExportCommand())
}

// shownExample is an example of an intent, as far as it is shown.
type shownExample struct {
	ID        string    `json:"id"`
	Text      string    `json:"text"`
	Intent    string    `json:"intent"`
	Source    string    `json:"source"`
	Request   string    `json:"request_id"`
	User      string    `json:"user"`
	CreatedAt time.Time `json:"created_at"`
}

func (p *program) intentFixCommand() *cobra.Command {
	var t target
	text := ""
	cmd := &cobra.Command{
		Use: "fix [REQUEST_ID|last] chat|rag|data", Short: "Say what kind of question a message is",
		Long: `Say what kind of question a message is. From the next request on, the same
message and ones that hardly differ from it are of this kind, for all of the
tenant. REQUEST_ID is the id of a request (X-Strata-Request-Id) or of an answer,
last the latest request; its words are taken as they were recorded. Where none
were, or without a request, --text gives them.`,
		Example: `  strata intent fix last rag
  strata intent fix req_0123 data --user alice
  strata intent fix req_0123 rag --text "How many days of leave do I have?"
  strata intent fix chat --text "帮我想个团建口号"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 || len(args) == 1 && text != "" {
				return knownIntent(args[len(args)-1])
			}
			return usageError{errors.New("`strata intent fix` needs a request id or last, and chat, rag or data; or one of these with --text")}
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			body := map[string]string{"intent": args[len(args)-1]}
			if text != "" {
				body["text"] = text
			}
			if len(args) == 2 {
				if body["request_id"], err = c.requestID(args[0]); err != nil {
					return err
				}
			}
			return p.intentFix(c, body)
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	t.addJSONTo(cmd)
	cmd.Flags().StringVar(&text, "text", "", "the message, where it is not recorded")
	return cmd
}

func knownIntent(name string) error {
	if slices.Contains([]intent.Intent{intent.Chat, intent.RAG, intent.Data}, intent.Intent(name)) {
		return nil
	}
	return usageError{fmt.Errorf("%q is no kind of question; take chat, rag or data", name)}
}

// requestID is id, or that of the latest request for "last".
func (c *client) requestID(id string) (string, error) {
	if id != "last" {
		return id, nil
	}
	var receipt struct {
		ID string `json:"request_id"`
	}
	_, err := c.get("/v1/receipts/last", nil, &receipt)
	if failure, ok := errors.AsType[*refusedError](err); ok && failure.status == http.StatusNotFound {
		return "", errors.New("nothing is recorded yet; leave the request out and give the message with --text")
	}
	return receipt.ID, err
}

func (p *program) intentFix(c *client, body map[string]string) error {
	b, err := c.do(http.MethodPost, "/v1/intents/examples", nil, body)
	if err != nil {
		return err
	}
	if c.asJSON {
		return p.printRaw(b)
	}
	var e shownExample
	if err := json.Unmarshal(b, &e); err != nil {
		return fmt.Errorf("%s answers something else than an example; check --server", c.server)
	}
	fmt.Fprintf(p.stdout, "%s from now on, and what is like it: %s\n", plain(e.Intent), shorten(strings.Join(strings.Fields(plain(e.Text)), " "), maxCell))
	fmt.Fprintf(p.stdout, "`strata intent rm %s` takes it back\n", plain(e.ID))
	return nil
}

func (p *program) intentListCommand() *cobra.Command {
	var t target
	var g paging
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the messages whose kind was put right", Args: noArguments,
		Example: "  strata intent ls\n  strata intent ls --user alice --json",
		RunE: func(*cobra.Command, []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return listing(p, c, "/v1/intents/examples", "examples", nil, g, []string{"ID", "INTENT", "TEXT", "USER", "REQUEST", "CREATED"}, func(e shownExample) []string {
				return []string{e.ID, e.Intent, e.Text, e.User, e.Request, when(e.CreatedAt)}
			})
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	t.addJSONTo(cmd)
	g.addTo(cmd)
	return cmd
}

func (p *program) intentRemoveCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "rm ID…", Aliases: []string{"delete"}, Short: "Take back what was put right", Args: atLeast(1, "ids of examples; `strata intent ls` lists them"),
		Example: "  strata intent rm iex_0123",
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.removeEach(c, "/v1/intents/examples/", args)
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	return cmd
}

func (p *program) intentExportCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "export [FILE]", Short: "Write what was put right as rows to train from",
		Long: `Write what was put right as rows to train from, a JSON object a line:
{"lang","label","text","source":"fix"}. FILE is a new file, readable by its owner
alone (default: standard output).`,
		Example: "  strata intent export fixes.jsonl\n  strata intent export | wc -l",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("`%s` takes one file at most", cmd.CommandPath())}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			rows, err := c.do(http.MethodGet, "/v1/intents/examples.jsonl", nil, nil)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				_, err = p.stdout.Write(rows)
				return err
			}
			if err := writeNew(args[0], rows, "name another file"); err != nil {
				return err
			}
			fmt.Fprintf(p.stdout, "%s written\n", args[0])
			return nil
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	return cmd
}
