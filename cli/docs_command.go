package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) docsCommand() *cobra.Command {
	return group("docs", "Look at the documents that answers can draw on, and delete them",
		"  strata docs ls\n  strata docs show handbook/leave.md\n  strata docs diff handbook/leave.md\n  strata docs rm handbook/leave.md",
		p.docsListCommand(), p.docsShowCommand(), p.docsHistoryCommand(), p.docsDiffCommand(), p.docsJobsCommand(), p.docsRemoveCommand())
}

func (p *program) docsListCommand() *cobra.Command {
	var t target
	var g paging
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List documents", Args: noArguments,
		Example: "  strata docs ls\n  strata docs ls --tenant acme --limit 0 --json",
		RunE: func(*cobra.Command, []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			type listed struct {
				shownDocument
				Passages int `json:"passages"`
			}
			return listing(p, c, "/v1/documents", "documents", nil, g, []string{"ID", "TITLE", "VERSION", "STATUS", "PASSAGES", "GROUPS", "UPDATED"}, func(d listed) []string {
				return []string{d.ID, d.Title, strconv.Itoa(d.Version), d.Status, strconv.Itoa(d.Passages), strings.Join(d.Groups, ","), when(d.UpdatedAt)}
			})
		},
	}
	t.addTo(cmd)
	t.addJSONTo(cmd)
	g.addTo(cmd)
	return cmd
}

func (p *program) docsShowCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a document with its versions and passages", Args: exactlyOne("one document id; `strata docs ls` lists them"),
		Example: "  strata docs show handbook/leave.md",
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.docsShow(c, args[0])
		},
	}
	t.addTo(cmd)
	t.addJSONTo(cmd)
	return cmd
}

func (p *program) docsShow(c *client, id string) error {
	d, err := c.openDocument(id, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	if c.asJSON {
		return p.docsShowJSON(d)
	}
	fmt.Fprintf(p.stdout, "%s\n  title    %s\n  status   %s, version %d\n  groups   %s\n  updated  %s\n\n", plain(d.ID), plain(d.Title), d.Status, d.Version,
		plain(strings.Join(d.Groups, ",")), when(d.UpdatedAt))
	versions := newTable("VERSION", "STATUS", "EFFECTIVE", "EXPIRES", "PASSAGES", "VECTORS")
	for _, v := range d.Versions {
		versions.add(strconv.Itoa(v.Version), v.Status, when(v.Effective), when(v.Expires), strconv.Itoa(v.Passages), v.Vectors)
	}
	if err := versions.write(p.stdout); err != nil {
		return err
	}
	for passage, err := range passagesOf[shownPassage](d) {
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "\n#%d  %s  (%d tokens)\n%s\n", passage.Ordinal, plain(passage.Heading), passage.Tokens, beside(passage.Text, "  "))
	}
	return nil
}

// docsShowJSON prints an answer as printRaw does.
func (p *program) docsShowJSON(d *documentFile) error {
	o := &jsonObject{out: p.stdout}
	_, err := d.members(func(name string, value json.RawMessage) error {
		o.member(name, value)
		return nil
	})
	if err != nil {
		return err
	}
	jsonList(o, passagesMember, passagesOf[json.RawMessage](d))
	return o.end()
}

func (p *program) docsRemoveCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "rm ID…", Aliases: []string{"delete"}, Short: "Delete documents", Args: atLeast(1, "document ids; `strata docs ls` lists them"),
		Example: "  strata docs rm handbook/leave.md handbook/travel.md",
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.removeEach(c, "/v1/documents/", args)
		},
	}
	t.addTo(cmd)
	return cmd
}
