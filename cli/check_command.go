package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func (p *program) checkCommand() *cobra.Command {
	var t target
	var a asking
	cmd := &cobra.Command{
		Use: "check FILE", Short: "Check that questions get the documents they should",
		Long: `Ask the running program each question of a YAML file and compare what a model
would be given with what must be. No model is called and nothing is stored. A
question has question, user and groups, and of what is expected at least one:
intent (chat, rag, data), document (an id), section (part of its headings),
must_contain and must_not_contain (a text or a list). The exit code is 1 when a
question fails, and 2 when the file is wrong.`,
		Example: `  strata check questions.yaml
  strata check questions.yaml --tenant acme --json
  printf -- '- question: How many days of leave?\n  document: handbook/leave.md\n' | strata check -`,
		Args: exactlyOne("a YAML file of questions, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := p.questions(args[0])
			if err != nil {
				return usageError{err}
			}
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.check(p.onRunning(c, a), list, t.asJSON)
		},
	}
	t.addTo(cmd)
	t.addJSONTo(cmd)
	cmd.Flags().StringVar(&a.proxy, "proxy", "", "URL of the data plane (default: from listen)")
	return cmd
}

func (p *program) check(c *checking, list []question, asJSON bool) error {
	var out io.Writer
	if !asJSON {
		out = p.stdout
	}
	results, failed, err := c.all(list, out)
	if err != nil {
		return err
	}
	if asJSON {
		err := p.printJSON(struct {
			Questions int       `json:"questions"`
			Failed    int       `json:"failed"`
			Results   []checked `json:"results"`
		}{len(results), failed, results})
		if err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d questions failed", failed, len(list))
	}
	if !asJSON {
		fmt.Fprintf(p.stdout, "%d questions, all as they should be\n", len(list))
	}
	return nil
}
