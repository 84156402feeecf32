package cli

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (p *program) docsCommand() *cobra.Command {
	return group("docs", "Look at the documents that answers can draw on, and delete them",
		"  strata docs ls\n  strata docs show handbook/leave.md\n  strata docs diff handbook/leave.md\n  strata docs rm handbook/leave.md",
		p.docsListCommand(), p.docsShowCommand(), p.docsHistoryCommand(), p.docsDiffCommand(), p.docsJobsCommand(), p.docsRemoveCommand())
}

// shownDocument is what the documents calls answer, as far as it is shown.
type shownDocument struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Version   int       `json:"version"`
	Status    string    `json:"status"`
	Groups    []string  `json:"groups"`
	UpdatedAt time.Time `json:"updated_at"`
}

// shownVersions is a document with its versions and the passages of one.
type shownVersions struct {
	shownDocument
	Versions []shownVersion `json:"versions"`
	Passages []struct {
		ID      string `json:"id"`
		Ordinal int    `json:"ordinal"`
		Heading string `json:"heading"`
		Text    string `json:"text"`
		Tokens  int    `json:"tokens"`
	} `json:"passages"`
}

type shownVersion struct {
	Version   int       `json:"version"`
	Status    string    `json:"status"`
	Title     string    `json:"title"`
	Groups    []string  `json:"groups"`
	SHA256    string    `json:"sha256"`
	Effective time.Time `json:"effective"`
	Expires   time.Time `json:"expires"`
	Vectors   string    `json:"vectors"`
	Passages  int       `json:"passages"`
	CreatedAt time.Time `json:"created_at"`
}

// documentPassages reads a document with the passages of a version, 0 for the
// one in force. A document that is not there has none.
func (c *client) documentPassages(id string, version int) (d shownVersions, err error) {
	query := url.Values{}
	if version > 0 {
		query.Set("version", strconv.Itoa(version))
	}
	_, err = c.get("/v1/documents/"+segment(id), query, &d)
	if failure, ok := errors.AsType[*refusedError](err); ok && failure.status == http.StatusNotFound && version == 0 {
		return shownVersions{}, nil
	}
	return d, err
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
	var d shownVersions
	b, err := c.get("/v1/documents/"+segment(id), nil, &d)
	if err != nil {
		return err
	}
	if c.asJSON {
		return p.printRaw(b)
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
	for _, passage := range d.Passages {
		fmt.Fprintf(p.stdout, "\n#%d  %s  (%d tokens)\n%s\n", passage.Ordinal, plain(passage.Heading), passage.Tokens, beside(passage.Text, "  "))
	}
	return nil
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
