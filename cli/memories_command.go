package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (p *program) memoriesCommand() *cobra.Command {
	return group("memories", "Look at what is remembered and why, add and delete",
		"  strata memories ls --user alice\n  strata memories add --user alice --type preference --topic language \"Answers in English\"\n"+
			"  strata memories why mem_0123\n  strata memories why --rejected --user alice",
		p.memoriesListCommand(), p.memoriesAddCommand(), p.memoriesRemoveCommand(), p.memoriesWhyCommand())
}

// shownMemory is a memory, as far as it is shown.
type shownMemory struct {
	ID         string    `json:"memory_id"`
	Scope      string    `json:"scope"`
	User       string    `json:"user"`
	Session    string    `json:"session_id"`
	Type       string    `json:"memory_type"`
	Kind       string    `json:"kind"`
	Topic      string    `json:"topic"`
	Summary    string    `json:"summary"`
	Importance int       `json:"importance"`
	Confidence float64   `json:"confidence"`
	Status     string    `json:"status"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	ExpiresAt  time.Time `json:"expires_at"`
	Sources    []string  `json:"source_message_ids"`
	Supersedes string    `json:"supersedes"`
	Scores     scores    `json:"scores"`
	Scorer     string    `json:"scorer"`
	Source     string    `json:"source"`
	Standing   bool      `json:"standing"`
}

// scores are the four sub-scores of a candidate.
type scores struct {
	Reuse         int `json:"reuse"`
	Irrecoverable int `json:"irrecoverable"`
	Stability     int `json:"stability"`
	Impact        int `json:"impact"`
}

func (s scores) String() string {
	return fmt.Sprintf("reuse %d of 3, irrecoverable %d of 2, stability %d of 2, impact %d of 3", s.Reuse, s.Irrecoverable, s.Stability, s.Impact)
}

func (p *program) memoriesListCommand() *cobra.Command {
	var t target
	var g paging
	status, kind := "", ""
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List memories", Args: noArguments,
		Example: "  strata memories ls --user alice\n  strata memories ls --status superseded --type preference --json",
		RunE: func(*cobra.Command, []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			query := url.Values{}
			for name, value := range map[string]string{"status": status, "type": kind} {
				if value != "" {
					query.Set(name, value)
				}
			}
			return listing(p, c, "/v1/memories", "memories", query, g, []string{"ID", "USER", "SCOPE", "TYPE", "TOPIC", "SUMMARY", "UPDATED"}, func(m shownMemory) []string {
				return []string{m.ID, m.User, m.Scope, m.Type, m.Topic, m.Summary, when(m.UpdatedAt)}
			})
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	t.addJSONTo(cmd)
	g.addTo(cmd)
	cmd.Flags().StringVar(&status, "status", "", "active, superseded, deleted or expired (default active)")
	cmd.Flags().StringVar(&kind, "type", "", "preference, goal, agreement, conclusion or summary (default all)")
	return cmd
}

func (p *program) memoriesAddCommand() *cobra.Command {
	var t target
	fields := map[string]*string{}
	cmd := &cobra.Command{
		Use: "add STATEMENT", Short: "Add a memory", Args: exactlyOne("one statement, in quotes"),
		Long: `Add a memory. A preference or an agreement is part of every prompt from the next
session on; a topic that has one value, such as language, replaces the one before.`,
		Example: `  strata memories add --user alice --type preference --topic language "以后用中文回答"
  strata memories add --scope workspace --type agreement "Amounts are in EUR without cents"
  strata memories add --user alice --type goal --expires 2026-12-31 "Pass the audit"`,
		RunE: func(_ *cobra.Command, args []string) error {
			if *fields["memory_type"] == "" {
				return usageError{errors.New("name what it is: --type preference, goal, agreement, conclusion or summary")}
			}
			if t.user == "" && *fields["scope"] != "workspace" {
				return usageError{errors.New("name whose memory it is with --user, or make it everybody's with --scope workspace")}
			}
			c, err := p.client(t)
			if err != nil {
				return err
			}
			body := map[string]string{"summary": args[0]}
			for name, value := range fields {
				if *value != "" {
					body[name] = *value
				}
			}
			return p.memoriesAdd(c, body)
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	t.addJSONTo(cmd)
	for _, f := range []struct{ flag, field, usage string }{
		{"type", "memory_type", "preference, goal, agreement, conclusion or summary"},
		{"scope", "scope", "session, user or workspace (default user)"},
		{"session", "session_id", "the session, for --scope session"},
		{"topic", "topic", "what it is about, such as language or office"},
		{"kind", "kind", "semantic, episodic or procedural (default semantic)"},
		{"expires", "expires_at", "a date, or RFC 3339 with an offset (default never)"},
	} {
		fields[f.field] = cmd.Flags().String(f.flag, "", f.usage)
	}
	return cmd
}

func (p *program) memoriesAdd(c *client, body map[string]string) error {
	b, err := c.do(http.MethodPost, "/v1/memories", nil, body)
	if err != nil {
		return err
	}
	if c.asJSON {
		return p.printRaw(b)
	}
	var m shownMemory
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("%s answers something else than a memory; check --server", c.server)
	}
	fmt.Fprintf(p.stdout, "added %s\n", plain(m.ID))
	if m.Supersedes != "" {
		fmt.Fprintf(p.stdout, "replaces %s\n", plain(m.Supersedes))
	}
	if m.Summary != strings.TrimSpace(body["summary"]) {
		fmt.Fprintf(p.stdout, "stored as: %s\n", plain(m.Summary))
	}
	return nil
}

func (p *program) memoriesRemoveCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "rm ID…", Aliases: []string{"delete"}, Short: "Delete memories", Args: atLeast(1, "memory ids; `strata memories ls` lists them"),
		Example: "  strata memories rm mem_0123",
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.removeEach(c, "/v1/memories/", args)
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	return cmd
}

func (p *program) memoriesWhyCommand() *cobra.Command {
	var t target
	rejected, limit := false, 50
	cmd := &cobra.Command{
		Use: "why ID", Short: "Tell why something is remembered, or with --rejected why something is not",
		Example: "  strata memories why mem_0123\n  strata memories why --rejected --user alice",
		Args: func(cmd *cobra.Command, args []string) error {
			if rejected {
				return noArguments(cmd, args)
			}
			return exactlyOne("one memory id, or --rejected; `strata memories ls` lists ids")(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			if rejected {
				return p.memoriesRejected(c, limit)
			}
			return p.memoriesWhy(c, args[0])
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	t.addJSONTo(cmd)
	cmd.Flags().BoolVar(&rejected, "rejected", false, "list the candidates that were not kept, and why")
	cmd.Flags().IntVar(&limit, "limit", limit, "of --rejected: rows at most, up to 500")
	return cmd
}

func (p *program) memoriesRejected(c *client, limit int) error {
	var answer struct {
		Rejected []struct {
			User   string    `json:"user"`
			Text   string    `json:"text"`
			Reason string    `json:"reason"`
			Scores scores    `json:"scores"`
			At     time.Time `json:"at"`
		} `json:"rejected"`
	}
	b, err := c.get("/v1/rejected", url.Values{"limit": {strconv.Itoa(limit)}}, &answer)
	if err != nil {
		return err
	}
	if c.asJSON {
		return p.printRaw(b)
	}
	if len(answer.Rejected) == 0 {
		fmt.Fprintln(p.stderr, "no rejected candidates")
		return nil
	}
	t := newTable("AT", "USER", "REASON", "R/I/S/I", "CANDIDATE")
	for _, r := range answer.Rejected {
		t.add(when(r.At), r.User, r.Reason, fmt.Sprintf("%d/%d/%d/%d", r.Scores.Reuse, r.Scores.Irrecoverable, r.Scores.Stability, r.Scores.Impact), r.Text)
	}
	return t.write(p.stdout)
}

// evidence is a message that a memory rests on.
type evidence struct {
	Exchange string    `json:"exchange"`
	Role     string    `json:"role"`
	Content  string    `json:"content"`
	At       time.Time `json:"at"`
}

func (p *program) memoriesWhy(c *client, id string) error {
	var m shownMemory
	raw, err := c.get("/v1/memories/"+segment(id), nil, &m)
	if err != nil {
		return err
	}
	var replaced *shownMemory
	var rawReplaced json.RawMessage
	if m.Supersedes != "" {
		replaced = &shownMemory{}
		if rawReplaced, err = c.get("/v1/memories/"+segment(m.Supersedes), nil, replaced); err != nil {
			replaced, rawReplaced = nil, nil // deleted since
		}
	}
	said := c.evidence(m)
	if c.asJSON {
		if said == nil {
			said = []evidence{}
		}
		return p.printJSON(map[string]any{"memory": json.RawMessage(raw), "replaced": rawReplaced, "evidence": said})
	}
	p.printWhy(m, replaced, said)
	return nil
}

// evidence returns what the user said that m rests on, as far as the turns are
// still kept.
func (c *client) evidence(m shownMemory) []evidence {
	if m.Session == "" || len(m.Sources) == 0 {
		return nil
	}
	var s struct {
		Turns []evidence `json:"turns"`
	}
	if _, err := c.get("/v1/sessions/"+segment(m.Session), url.Values{"user": {m.User}}, &s); err != nil {
		return nil
	}
	return slices.DeleteFunc(s.Turns, func(e evidence) bool { return e.Role != "user" || !slices.Contains(m.Sources, e.Exchange) })
}

func (p *program) printWhy(m shownMemory, replaced *shownMemory, said []evidence) {
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(p.stdout, "  %-10s %s\n", what, plain(text))
		}
	}
	fmt.Fprintf(p.stdout, "%s\n", plain(m.Summary))
	line("id", m.ID)
	line("what", strings.Join(slices.DeleteFunc([]string{m.Type, m.Kind, m.Topic}, func(s string) bool { return s == "" }), ", "))
	line("whose", strings.TrimSpace(m.Scope+" "+m.User))
	line("session", m.Session)
	line("status", m.Status)
	line("source", m.Source)
	line("worth", fmt.Sprintf("%d of 10 by %s: %s", m.Importance, m.Scorer, m.Scores))
	line("confidence", strconv.FormatFloat(m.Confidence, 'f', 2, 64))
	if m.Standing {
		line("standing", "yes, part of every prompt")
	}
	line("created", when(m.CreatedAt))
	line("updated", when(m.UpdatedAt))
	line("expires", when(m.ExpiresAt))
	switch {
	case replaced != nil && replaced.Summary != "":
		line("replaced", fmt.Sprintf("%s (%s)", replaced.Summary, m.Supersedes))
	case m.Supersedes != "":
		line("replaced", m.Supersedes+", deleted since")
	}
	for _, e := range said {
		line("evidence", fmt.Sprintf("%s  %s", when(e.At), strings.Join(strings.Fields(e.Content), " ")))
	}
	if len(said) == 0 && len(m.Sources) > 0 {
		line("evidence", strings.Join(m.Sources, ", ")+" (`strata explain ID` shows the receipt)")
	}
}
