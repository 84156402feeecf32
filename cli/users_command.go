package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (p *program) usersCommand() *cobra.Command {
	return group("users", "List users, export or erase everything that is kept about one",
		"  strata users ls\n  strata users export alice --out alice.json\n  strata users rm alice --yes",
		p.usersListCommand(), p.usersExportCommand(), p.usersRemoveCommand())
}

func (p *program) usersListCommand() *cobra.Command {
	var t target
	var g paging
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List users", Args: noArguments,
		Example: "  strata users ls --limit 0",
		RunE: func(*cobra.Command, []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			type listed struct {
				ID       string    `json:"id"`
				Sessions int       `json:"sessions"`
				Memories int       `json:"memories"`
				LastSeen time.Time `json:"last_seen"`
			}
			return listing(p, c, "/v1/users", "users", nil, g, []string{"USER", "SESSIONS", "MEMORIES", "LAST SEEN"}, func(u listed) []string {
				return []string{u.ID, strconv.Itoa(u.Sessions), strconv.Itoa(u.Memories), when(u.LastSeen)}
			})
		},
	}
	t.addTo(cmd)
	t.addJSONTo(cmd)
	g.addTo(cmd)
	return cmd
}

func (p *program) usersExportCommand() *cobra.Command {
	var t target
	out := ""
	cmd := &cobra.Command{
		Use: "export USER", Short: "Print everything that is kept about a user, as JSON", Args: exactlyOne("one user; `strata users ls` lists them"),
		Example: "  strata users export alice > alice.json\n  strata users export alice --out alice.json",
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.usersExport(c, args[0], out)
		},
	}
	t.addTo(cmd)
	t.addJSONTo(cmd)
	cmd.Flags().StringVarP(&out, "out", "o", "", "new file to write, readable by its owner alone (default: standard output)")
	return cmd
}

func (p *program) usersExport(c *client, user, path string) error {
	b, err := c.do(http.MethodGet, "/v1/users/"+segment(user), nil, nil)
	if err != nil {
		return err
	}
	if path == "" {
		return p.printRaw(b)
	}
	if err := writeNew(path, b, "name another file with --out"); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "%s written\n", path)
	return nil
}

func (p *program) usersRemoveCommand() *cobra.Command {
	var t target
	yes := false
	cmd := &cobra.Command{
		Use: "rm USER", Aliases: []string{"erase"}, Short: "Erase everything that is kept about a user, and report it", Args: exactlyOne("one user; `strata users ls` lists them"),
		Example: "  strata users rm alice --yes",
		RunE: func(_ *cobra.Command, args []string) error {
			if !yes {
				if err := p.confirm("Everything that is kept about "+args[0]+" is erased for good", args[0]); err != nil {
					return err
				}
			}
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.usersRemove(c, args[0])
		},
	}
	t.addTo(cmd)
	t.addJSONTo(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirm has a person type a word; without a terminal it refuses.
func (p *program) confirm(what, word string) error {
	f, ok := p.stdin.(*os.File)
	if !ok || !isTerminal(f) {
		return usageError{fmt.Errorf("%s; add --yes to go on", what)}
	}
	fmt.Fprintf(p.stderr, "%s. Type %s to go on: ", what, word)
	line, _ := bufio.NewReader(p.stdin).ReadString('\n')
	if strings.TrimSpace(line) != word {
		return errors.New("nothing was erased")
	}
	return nil
}

func (p *program) usersRemove(c *client, user string) error {
	b, err := c.do(http.MethodDelete, "/v1/users/"+segment(user), nil, nil)
	if err != nil {
		return err
	}
	if c.asJSON {
		return p.printRaw(b)
	}
	var report struct {
		Erased map[string]int `json:"erased"`
		Rows   int            `json:"rows"`
	}
	if err := json.Unmarshal(b, &report); err != nil {
		return fmt.Errorf("%s answers something else than a report; check --server", c.server)
	}
	fmt.Fprintf(p.stdout, "erased %s: %d rows\n", plain(user), report.Rows)
	t := newTable("TABLE", "ROWS")
	for _, table := range slices.Sorted(maps.Keys(report.Erased)) {
		t.add(table, strconv.Itoa(report.Erased[table]))
	}
	return t.write(p.stdout)
}
