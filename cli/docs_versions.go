package cli

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"strata/ingest/compare"
)

func (p *program) docsHistoryCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "history ID", Short: "Show the versions of a document, the newest first", Args: exactlyOne("one document id; `strata docs ls` lists them"),
		Example: "  strata docs history handbook/leave.md",
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.docsHistory(c, args[0])
		},
	}
	t.addTo(cmd)
	t.addJSONTo(cmd)
	return cmd
}

func (p *program) docsHistory(c *client, id string) error {
	d, err := c.versions(id)
	if err != nil {
		return err
	}
	if c.asJSON {
		return p.printJSON(map[string]any{"id": d.ID, "versions": d.Versions})
	}
	t := newTable("VERSION", "STATUS", "TAKEN IN", "EFFECTIVE", "EXPIRES", "PASSAGES", "GROUPS", "TITLE", "SHA-256")
	for _, v := range d.Versions {
		t.add(strconv.Itoa(v.Version), v.Status, when(v.CreatedAt), when(v.Effective), when(v.Expires), strconv.Itoa(v.Passages), strings.Join(v.Groups, ","), v.Title, v.SHA256[:min(12, len(v.SHA256))])
	}
	return t.write(p.stdout)
}

func (p *program) docsDiffCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "diff ID [FROM [TO]]", Short: "Show what changed between two versions of a document, section by section",
		Long: `Show what changed between two versions of a document, line by line under the
headings. Without numbers the newest version is compared with the one before
it, with one number that version with the newest.`,
		Example: "  strata docs diff handbook/leave.md\n  strata docs diff handbook/leave.md 2 5",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 3 {
				return usageError{fmt.Errorf("`strata docs diff` needs a document id, and at most two numbers of versions")}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.docsDiff(c, args[0], args[1:])
		},
	}
	t.addTo(cmd)
	t.addJSONTo(cmd)
	return cmd
}

func (p *program) docsDiff(c *client, id string, numbers []string) error {
	d, err := c.versions(id)
	if err != nil {
		return err
	}
	from, to, err := twoVersions(&d, numbers)
	if err != nil {
		return err
	}
	var texts [2]*compare.Version
	for i, v := range []shownVersion{from, to} {
		file, err := newTemporaryFile()
		if err != nil {
			return err
		}
		defer file.Close()
		texts[i] = compare.NewVersion(file)
		if err := c.readVersion(texts[i], id, v.Version); err != nil {
			return err
		}
	}
	sections := compare.Versions(texts[0], texts[1])
	if c.asJSON {
		o := &jsonObject{out: p.stdout}
		o.member("from", from)
		o.member("id", d.ID)
		jsonList(o, "sections", sections)
		o.member("to", to)
		return o.end()
	}
	return p.printDiff(d.ID, from, to, sections)
}

// readVersion adds the passages of one version to v.
func (c *client) readVersion(v *compare.Version, id string, number int) error {
	d, err := c.openDocument(id, number)
	if err != nil {
		return err
	}
	defer d.Close()
	for p, err := range passagesOf[shownPassage](d) {
		if err == nil {
			err = v.Add(compare.Passage{Heading: p.Heading, Text: p.Text})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// twoVersions finds the versions that numbers name.
func twoVersions(d *shownVersions, numbers []string) (from, to shownVersion, err error) {
	find := func(text string) (shownVersion, error) {
		n, err := strconv.Atoi(strings.TrimPrefix(text, "v"))
		i := slices.IndexFunc(d.Versions, func(v shownVersion) bool { return v.Version == n })
		if err != nil || i < 0 {
			return shownVersion{}, usageError{fmt.Errorf("%s has no version %s; `strata docs history %s` lists them", plain(d.ID), plain(text), plain(d.ID))}
		}
		return d.Versions[i], nil
	}
	if len(d.Versions) < 2 {
		return from, to, usageError{fmt.Errorf("%s has only one version, so there is nothing to compare", plain(d.ID))}
	}
	from, to = d.Versions[1], d.Versions[0]
	if len(numbers) > 0 {
		if from, err = find(numbers[0]); err != nil {
			return from, to, err
		}
	}
	if len(numbers) > 1 {
		to, err = find(numbers[1])
	}
	return from, to, err
}

func (p *program) printDiff(id string, from, to shownVersion, sections iter.Seq2[compare.Section, error]) error {
	fmt.Fprintf(p.stdout, "%s: version %d (%s) to version %d (%s)\n", plain(id), from.Version, from.Status, to.Version, to.Status)
	changed := false
	for _, f := range []struct{ name, from, to string }{
		{"title", from.Title, to.Title}, {"groups", strings.Join(from.Groups, ","), strings.Join(to.Groups, ",")},
		{"effective", when(from.Effective), when(to.Effective)}, {"expires", when(from.Expires), when(to.Expires)},
	} {
		if f.from != f.to {
			changed = true
			fmt.Fprintf(p.stdout, "  %-9s %s -> %s\n", f.name, orNone(f.from), orNone(f.to))
		}
	}
	for s, err := range sections {
		if err != nil {
			return err
		}
		changed = true
		heading := s.Heading
		if heading == "" {
			heading = "(before the first heading)"
		}
		fmt.Fprintf(p.stdout, "\n%s: %s\n", s.Status, plain(heading))
		for line := range strings.Lines(s.Lines) {
			fmt.Fprintln(p.stdout, plain(strings.TrimSuffix(line, "\n")))
		}
	}
	if !changed {
		fmt.Fprintln(p.stdout, "  no passage differs")
	}
	return nil
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return plain(text)
}
