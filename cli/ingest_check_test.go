package cli_test

import (
	"strings"
	"testing"
)

// TestIngestCheck: a version that fails the questions is not published, and
// neither is anything that came with it; the old one stays.
func TestIngestCheck(t *testing.T) {
	s, code := here(t, map[string]string{"STRATA_DATA_DIR": t.TempDir(), "STRATA_ADMIN_TOKEN": "t", "STRATA_PLAN_RAG_DEADLINE": "5s"})
	s.put(t, "hr/leave.md", leaveText)
	s.put(t, "hr/bands.md?groups=people", "# Salary bands\n\nThe salary band of level five is BAND-90.\n")
	questions := write(t, t.TempDir(), "questions.yaml", `- question: How many days of annual leave does the policy give everybody?
  document: hr/leave.md
  section: Annual leave
  must_contain: thirty days
- question: What is the salary band of level five in the policy?
  groups: people
  must_contain: BAND-90
- question: What is the salary band of level five in the policy?
  must_not_contain: BAND-90
`)
	broken := tree(t, map[string]string{"leave.md": strings.Replace(leaveText, "thirty days", "plenty", 1), "new.md": "# Parking\n\nThe garage opens at six."})
	exit, stdout, stderr := verb(t, s.admin, "ingest", broken, "--prefix", "hr", "--check", questions)
	if exit != 1 || !strings.Contains(stdout, "failed  line 1 ") || strings.Count(stdout, "ok ") != 2 || strings.Contains(stdout, "stored") || !strings.Contains(stderr, "1 of 3 questions failed, so nothing is published") {
		t.Errorf("a broken version: %d\n%s%s", exit, stdout, stderr)
	}
	ok(t, s.admin, []string{"docs", "show", "hr/leave.md"}, "version 1", "thirty days")
	if exit, _, _ := verb(t, s.admin, "docs", "show", "hr/new.md"); exit != 1 {
		t.Error("what came with a broken version was published")
	}
	fine := tree(t, map[string]string{"leave.md": strings.Replace(leaveText, "a year", "each year", 1)})
	ok(t, s.admin, []string{"ingest", fine, "--prefix", "hr", "--check", questions}, "ok      line 1", "published  hr/leave.md: version 2")
	// Until a later version is in force, the one before it is what counts.
	ok(t, s.admin, []string{"ingest", fine, "--prefix", "hr", "--effective", "2999-01-01", "--check", questions}, "ok      line 1", "scheduled  hr/leave.md: version 3")
	// What sync would delete is missed before it is gone.
	exit, stdout, stderr = verb(t, s.admin, "ingest", fine, "--prefix", "hr", "--check", questions, "--sync")
	if exit != 1 || !strings.Contains(stdout, "failed  line 5 ") {
		t.Errorf("a delete that fails: %d\n%s%s", exit, stdout, stderr)
	}
	ok(t, s.admin, []string{"docs", "ls"}, "hr/bands.md")
	if exit, _, stderr := verb(t, s.admin, "ingest", fine, "--check", fine+"/none.yaml"); exit != 2 || !strings.Contains(stderr, "none.yaml") {
		t.Errorf("no file of questions: %d %s", exit, stderr)
	}
	if got, _ := s.end(t, code); got != 0 {
		t.Errorf("exit code %d", got)
	}
}
