package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) statsCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "stats", Short: "Count what is kept, and where it comes from", Args: noArguments,
		Example: "  strata stats\n  strata stats --tenant acme --json",
		RunE: func(*cobra.Command, []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.stats(c)
		},
	}
	t.addTo(cmd)
	t.addJSONTo(cmd)
	return cmd
}

func (p *program) stats(c *client) error {
	var s struct {
		Version string         `json:"version"`
		Tenant  string         `json:"tenant"`
		Rows    map[string]int `json:"rows"`
		Waiting map[string]int `json:"waiting"`

		Memories  map[string]map[string]int `json:"memories"`
		Exchanges map[string]map[string]int `json:"exchanges"`
	}
	b, err := c.get("/v1/stats", nil, &s)
	if err != nil {
		return err
	}
	if c.asJSON {
		return p.printRaw(b)
	}
	fmt.Fprintf(p.stdout, "Strata %s, tenant %s\n\n", plain(s.Version), plain(s.Tenant))
	t := newTable("WHAT", "ROWS")
	counts := func(prefix string, m map[string]int) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			name := k
			if k == "" {
				name = "undecided"
			}
			t.add(prefix+name, strconv.Itoa(m[k]))
		}
	}
	counts("", s.Rows)
	for _, by := range slices.Sorted(maps.Keys(s.Memories)) {
		counts("memories "+strings.TrimPrefix(by, "by_")+" ", s.Memories[by])
	}
	for _, by := range slices.Sorted(maps.Keys(s.Exchanges)) {
		counts("exchanges "+strings.TrimPrefix(by, "by_")+" ", s.Exchanges[by])
	}
	counts("waiting for ", s.Waiting)
	return t.write(p.stdout)
}

func (p *program) flushCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "flush", Short: "Learn now from what is recorded, instead of when it is due", Args: noArguments,
		Long: `Learn now from what is recorded, instead of when it is due. Waits for half a
minute at most; the exit code is 1 when something is still pending then.`,
		Example: "  strata flush",
		RunE: func(*cobra.Command, []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return p.flush(c)
		},
	}
	t.addTo(cmd)
	t.addJSONTo(cmd)
	return cmd
}

func (p *program) flush(c *client) error {
	b, err := c.do(http.MethodPost, "/v1/learn/flush", nil, struct{}{})
	if err != nil {
		return err
	}
	var answer struct {
		Pending int `json:"pending"`
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return fmt.Errorf("%s answers something else than Strata's control plane; check --server", c.server)
	}
	if c.asJSON {
		if err := p.printRaw(b); err != nil {
			return err
		}
	}
	if answer.Pending > 0 {
		return fmt.Errorf("%d exchanges are still pending; run it again", answer.Pending)
	}
	if !c.asJSON {
		fmt.Fprintln(p.stdout, "nothing is pending")
	}
	return nil
}
