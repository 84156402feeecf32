package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

func (p *program) sessionsCommand() *cobra.Command {
	return group("sessions", "Look at recorded conversations and delete them",
		"  strata sessions ls --user alice\n  strata sessions show --user alice s-17\n  strata sessions rm --user alice s-17",
		p.sessionsListCommand(), p.sessionsShowCommand(), p.sessionsRemoveCommand())
}

// shownSession is a conversation, as far as it is shown.
type shownSession struct {
	ID        string    `json:"id"`
	User      string    `json:"user"`
	TurnCount int       `json:"turn_count"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Closed    bool      `json:"closed"`
}

func (p *program) sessionsListCommand() *cobra.Command {
	var t target
	var g paging
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List sessions", Args: noArguments,
		Example: "  strata sessions ls --user alice\n  strata sessions ls --limit 0 --json",
		RunE: func(*cobra.Command, []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return listing(p, c, "/v1/sessions", "sessions", nil, g, []string{"ID", "USER", "TURNS", "BEGAN", "LAST", "CLOSED"}, func(s shownSession) []string {
				closed := ""
				if s.Closed {
					closed = "closed"
				}
				return []string{s.ID, s.User, strconv.Itoa(s.TurnCount), when(s.CreatedAt), when(s.UpdatedAt), closed}
			})
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	t.addJSONTo(cmd)
	g.addTo(cmd)
	return cmd
}

func (p *program) sessionsShowCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show what was said in a session", Args: exactlyOne("one session id; `strata sessions ls` lists them"),
		Example: "  strata sessions show --user alice s-17",
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.sessionsShow(c, args[0])
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	t.addJSONTo(cmd)
	return cmd
}

func (p *program) sessionsShow(c *client, id string) error {
	var s struct {
		shownSession
		Summary string `json:"summary"`
		Turns   []struct {
			Role    string    `json:"role"`
			Content string    `json:"content"`
			At      time.Time `json:"at"`
			Status  string    `json:"status"`
		} `json:"turns"`
	}
	b, err := c.get("/v1/sessions/"+segment(id), nil, &s)
	if err != nil {
		return err
	}
	if c.asJSON {
		return p.printRaw(b)
	}
	fmt.Fprintf(p.stdout, "%s  user %s, %d turns, %s to %s\n", plain(s.ID), plain(s.User), s.TurnCount, when(s.CreatedAt), when(s.UpdatedAt))
	if s.Summary != "" {
		fmt.Fprintf(p.stdout, "\nsummary\n%s\n", beside(s.Summary, "  "))
	}
	for _, turn := range s.Turns {
		status := ""
		if turn.Status != "complete" {
			status = "  (" + turn.Status + ")"
		}
		fmt.Fprintf(p.stdout, "\n%s  %s%s\n%s\n", plain(turn.Role), when(turn.At), plain(status), beside(turn.Content, "  "))
	}
	return nil
}

func (p *program) sessionsRemoveCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "rm ID…", Aliases: []string{"delete"}, Short: "Delete sessions, and the memories that rest on nothing else",
		Args:    atLeast(1, "session ids; `strata sessions ls` lists them"),
		Example: "  strata sessions rm --user alice s-17",
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.removeEach(c, "/v1/sessions/", args)
		},
	}
	t.addTo(cmd)
	t.addUserTo(cmd)
	return cmd
}
