package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// checking asks questions and compares what would be given with what must be.
type checking struct {
	ask func(question) (explanation, error)
	// sections returns the path of headings of each passage of a document, by
	// the passages' ids; none where there is no such document.
	sections func(document string) (map[string]string, error)
}

// checked is what became of one question.
type checked struct {
	Line     int       `json:"line"`
	Question string    `json:"question"`
	OK       bool      `json:"ok"`
	Intent   string    `json:"intent"`
	Sources  []string  `json:"sources"`  // title > section of what was given
	Passages []fitting `json:"passages"` // best first
	Wrong    []string  `json:"wrong"`    // each in a sentence
}

// shownPassages is of how many passages a failed question's line tells how well
// they fit.
const shownPassages = 3

// lateTries is how often a question is asked whose documents came too late: a
// busy machine is no wrong answer.
const lateTries = 3

// run checks one question. An error means that it could not be asked.
func (c *checking) run(q question) (checked, error) {
	r := checked{Line: q.line, Question: q.text, Sources: []string{}, Wrong: []string{}}
	var e explanation
	for try := 0; try == 0 || try < lateTries && e.late(); try++ {
		var err error
		if e, err = c.ask(q); err != nil {
			return r, err
		}
	}
	r.Intent, r.Passages = e.Intent, e.passages()
	wrong := func(format string, args ...any) { r.Wrong = append(r.Wrong, fmt.Sprintf(format, args...)) }
	sources := e.sources()
	for _, s := range sources {
		r.Sources = append(r.Sources, s.String())
	}
	if q.intent != "" && q.intent != e.Intent {
		wrong("the intent is %s, not %s", cmp.Or(e.Intent, "none"), q.intent)
	}
	if err := c.compareSource(q, &e, sources, wrong); err != nil {
		return r, err
	}
	given := e.Stable + "\n" + e.Volatile
	for _, text := range q.holds {
		if !holdsText(given, text) {
			wrong("%q is not given", text)
		}
	}
	for _, text := range q.lacks {
		if holdsText(given, text) {
			wrong("%q is given", text)
		}
	}
	if len(r.Wrong) > 0 && e.late() {
		wrong("the documents came too late")
	}
	r.OK = len(r.Wrong) == 0
	return r, nil
}

// compareSource looks for document and section among what was given.
func (c *checking) compareSource(q question, e *explanation, sources []source, wrong func(string, ...any)) error {
	instead := "nothing of the documents is"
	if len(sources) > 0 {
		instead = "given is " + sources[0].String()
	}
	if q.document == "" {
		if q.section != "" && !slices.ContainsFunc(sources, func(s source) bool { return holdsText(s.section, q.section) }) {
			wrong("no section %q is given; %s", q.section, instead)
		}
		return nil
	}
	sections, err := c.sections(q.document)
	switch {
	case err != nil:
		return err
	case len(sections) == 0:
		wrong("there is no document %s", q.document)
		return nil
	}
	found := false
	for _, layer := range e.Layers {
		for _, id := range layer.IDs {
			heading, of := sections[id]
			found = found || of
			if of && (q.section == "" || holdsText(heading, q.section)) {
				return nil
			}
		}
	}
	if found {
		wrong("%s is given, but not its section %q; %s", q.document, q.section, instead)
	} else {
		wrong("%s is not given; %s", q.document, instead)
	}
	return nil
}

// late tells whether documents were left out for their time, or the ledger
// took too long to open the walk.
func (e *explanation) late() bool {
	if e.Reason == "ledger" || e.Reason == "late" {
		return true
	}
	for _, s := range e.Skipped {
		if s.Reason == "busy" || s.Reason == "late" || strings.HasSuffix(s.Reason, "_late") {
			return true
		}
	}
	return false
}

// source is what a block says of where a passage is from.
type source struct{ title, section string }

func (s source) String() string {
	if s.section == "" {
		return s.title
	}
	return s.title + " > " + s.section
}

var sourceTag = regexp.MustCompile(`<document title="([^"]*)"(?: section="([^"]*)")?`)

// sources are those of the passages in the volatile block, in their order.
func (e *explanation) sources() []source {
	var out []source
	for _, m := range sourceTag.FindAllStringSubmatch(e.Volatile, -1) {
		out = append(out, source{m[1], m[2]})
	}
	return out
}

// asWorded turns the signs that a block does not hold into those that stand for
// them there.
var asWorded = strings.NewReplacer(`"`, "'", "<", "＜", ">", "›")

// holdsText compares without case and as if every run of blanks were one.
func holdsText(text, part string) bool {
	plainly := func(s string) string { return strings.ToLower(asWorded.Replace(strings.Join(strings.Fields(s), " "))) }
	return strings.Contains(plainly(text), plainly(part))
}

// all checks every question, prints a line for each unless out is nil, and
// returns what became of them and how many failed.
func (c *checking) all(list []question, out io.Writer) (results []checked, failed int, err error) {
	for _, q := range list {
		r, err := c.run(q)
		if err != nil {
			return results, failed, fmt.Errorf("line %d: %w", q.line, err)
		}
		results = append(results, r)
		if !r.OK {
			failed++
		}
		if out != nil {
			r.print(out)
		}
	}
	return results, failed, nil
}

func (r *checked) print(w io.Writer) {
	question := shorten(strings.Join(strings.Fields(plain(r.Question)), " "), 60)
	if r.OK {
		fmt.Fprintf(w, "ok      line %-4d %s\n", r.Line, question)
		return
	}
	fmt.Fprintf(w, "failed  line %-4d %s: %s\n", r.Line, question, plain(strings.Join(r.Wrong, "; ")))
	for _, f := range r.Passages[:min(len(r.Passages), shownPassages)] {
		fmt.Fprintf(w, "                  %s by words %s, by vectors %s\n", plain(f.ID), byWords(f.Words), byVectors(f.Vectors))
	}
}

// onRunning asks the running program.
func (p *program) onRunning(c *client, a asking) *checking {
	known := map[string]map[string]string{}
	return &checking{
		ask: func(q question) (explanation, error) { return p.askQuestion(c.target, a, q) },
		sections: func(id string) (map[string]string, error) {
			if known[id] != nil {
				return known[id], nil
			}
			sections, err := c.sections(id)
			if err == nil {
				known[id] = sections
			}
			return sections, err
		},
	}
}

// sections are the headings of a document's passages by their ids; one that is
// not there has none.
func (c *client) sections(id string) (map[string]string, error) {
	sections := map[string]string{}
	d, err := c.openDocument(id, 0)
	if notFound(err) {
		return sections, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for p, err := range passagesOf[shownPassage](d) {
		if err != nil {
			return nil, err
		}
		sections[p.ID] = p.Heading
	}
	return sections, nil
}

// askQuestion has the data plane at a.proxy decide on a question.
func (p *program) askQuestion(t target, a asking, q question) (e explanation, err error) {
	body, err := messageBody(q.text)
	if err != nil {
		return e, err
	}
	t.user, a.groups = q.user, strings.Join(q.groups, ",")
	b, err := p.askExplain(t, a, body)
	if err != nil {
		return e, err
	}
	if json.Unmarshal(b, &e) != nil || e.Body == nil {
		return e, errors.New("the answer explains nothing, so it is not from Strata's data plane; check --proxy")
	}
	return e, nil
}
