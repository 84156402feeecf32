package ledger

import (
	"path/filepath"
	"strings"
	"testing"
)

// Reads on the way of a request must find their rows by an index, also for a
// user with very many: the planner's choice is held here.
func TestPlans(t *testing.T) {
	l, err := New(t.Context(), Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, c := range map[string]struct {
		query string
		args  int
		want  []string
	}{
		"named":    {openSession, 4, []string{"exchanges_turn (turn_key=?)"}},
		"linked":   {openLinked, 9, []string{"exchanges_turn (turn_key=?)", "exchanges_pair (tenant=? AND user_id=? AND pair_key=?)", "SEARCH s USING PRIMARY KEY (tenant=? AND user_id=? AND session=?)"}},
		"record":   {recordState, 9, []string{"exchanges_turn (turn_key=?)", "exchanges_id (tenant=? AND id=?)"}},
		"replaced": {turnsToCompare, 5, []string{"exchanges_session (tenant=? AND user_id=?)"}},
		"examples": {servedExamples, 2, []string{"intent_examples_newest (tenant=?)"}},
		"passages": {versionPassages, 4, []string{"SEARCH v USING PRIMARY KEY (tenant=? AND document=? AND version=?)", "passages_ordinal (tenant=? AND document=? AND version=? AND ordinal>?)"}},
		"memories": {workspaceMemories + userMemories + sessionMemories, 4, []string{"memories_slot (tenant=? AND scope=? AND user_id=? AND owner=?)"}},
	} {
		args := make([]any, c.args)
		for i := range args {
			args[i] = "x"
		}
		rows, err := l.read.Query("EXPLAIN QUERY PLAN "+c.query, args...)
		if err != nil {
			t.Fatal(name, err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, step)
			if table, scanned := strings.CutPrefix(step, "SCAN "); scanned && !strings.Contains("l r o CONSTANT ROW", table) {
				t.Errorf("%s: all of %s is read", name, table)
			}
			if step == "USE TEMP B-TREE FOR ORDER BY" && name == "passages" {
				t.Errorf("%s: all are read and sorted for a page", name)
			}
		}
		rows.Close()
		for _, want := range c.want {
			if !strings.Contains(strings.Join(plan, "\n"), want) {
				t.Errorf("%s: no %q in\n%s", name, want, strings.Join(plan, "\n"))
			}
		}
	}
}
