package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

const leaveText = "---\ntitle: Leave policy\n---\n# Annual leave\n\nEverybody has thirty days of annual leave a year.\n\n# Parental leave\n\nParents have fourteen weeks of parental leave, paid in full.\n"

// Questions are asked of the running program, and nothing of it goes to a
// model.
func TestCheck(t *testing.T) {
	var asked atomic.Int32
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer upstream.Close()
	s, code := here(t, map[string]string{"STRATA_DATA_DIR": t.TempDir(), "STRATA_ADMIN_TOKEN": "t", "STRATA_UPSTREAM_BASE_URL": upstream.URL, "STRATA_PLAN_RAG_DEADLINE": "5s"})
	s.put(t, "hr/leave.md", leaveText)
	s.put(t, "hr/bands.md?groups=people", "# Salary bands\n\nThe salary band of level five is BAND-90.\n")
	dir := t.TempDir()
	check := func(file string, args ...string) (int, string, string) {
		return verb(t, s.admin, append([]string{"check", write(t, dir, "questions.yaml", file), "--proxy", s.data}, args...)...)
	}
	good := `questions:
  - question: How many days of annual leave does the policy give everybody?
    user: alice
    intent: RAG
    document: hr/leave.md
    section: annual LEAVE
    must_contain: thirty days of annual leave
    must-not-contain: [BAND-90, "twenty days"]
  - question: What is the salary band of level five in the policy?
    groups: [people, sales]
    document: hr/bands.md
`
	if code, stdout, stderr := check(good); code != 0 || strings.Count(stdout, "\nok ") != 1 || !strings.Contains(stdout, "ok      line 2    How many days") || !strings.Contains(stdout, "2 questions, all as they should be") {
		t.Errorf("as it should be: %d\n%s%s", code, stdout, stderr)
	}
	bad := `- question: How many days of annual leave does the policy give everybody?
  intent: chat
  document: hr/leave.md
  section: Sick leave
  must_not_contain: thirty days
- question: What is the salary band of level five in the policy?
  document: hr/bands.md
- question: How many weeks of parental leave does the policy give?
  document: hr/none.md
  must_contain: sixteen weeks
- question: How many weeks of parental leave does the policy give?
  section: Parental leave
`
	code1, stdout, stderr := check(bad)
	for _, want := range []string{"failed  line 1 ", "the intent is rag, not chat", `hr/leave.md is given, but not its section "Sick leave"; given is Leave policy`, `"thirty days" is given`, "failed  line 6 ",
		"hr/bands.md is not given", " by words 0.", ", by vectors -\n", "there is no document hr/none.md", `"sixteen weeks" is not given`, "ok      line 11"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if code1 != 1 || !strings.Contains(stderr, "3 of 4 questions failed") {
		t.Errorf("failures: %d %s", code1, stderr)
	}
	_, stdout, _ = check(bad, "--json")
	var r struct {
		Questions, Failed int
		Results           []struct {
			Line           int
			OK             bool
			Wrong, Sources []string
			Passages       []struct {
				ID      string
				Words   float64
				Vectors *float64
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.Questions != 4 || r.Failed != 3 || len(r.Results) != 4 || r.Results[0].Line != 1 || len(r.Results[0].Wrong) != 3 || !r.Results[3].OK || len(r.Results[3].Sources) == 0 ||
		len(r.Results[3].Passages) == 0 || r.Results[3].Passages[0].ID == "" || r.Results[3].Passages[0].Words <= 0 || r.Results[3].Passages[0].Vectors != nil {
		t.Errorf("as JSON: %v %s", err, stdout)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("a model was called %d times", n)
	}
	if got, _ := s.end(t, code); got != 0 {
		t.Errorf("exit code %d", got)
	}
}

// A wrong file is named with its line, and the exit code is 2.
func TestCheckMistakes(t *testing.T) {
	dir := t.TempDir()
	for want, file := range map[string]string{
		`questions.yaml:2: unknown key documnet; known: question`: "- question: a?\n  documnet: b\n",
		"questions.yaml:1: question is missing":                   "- intent: rag\n",
		"questions.yaml:2: nothing is expected":                   "\n- question: a?\n  user: b\n",
		`questions.yaml:2: intent: "sql" is not chat`:             "- question: a?\n  intent: sql\n",
		"questions.yaml:3: must_contain is given twice":           "- question: a?\n  must_contain: b\n  must-contain: c\n",
		"questions.yaml:2: must_contain: an empty text":           "- question: a?\n  must_contain: ['']\n",
		"questions.yaml:1: expected a list of questions":          "question: a?\nintent: rag\n",
		"questions.yaml: expected a list":                         "",
		"questions.yaml:1: not valid YAML":                        "- question: [\n",
		"questions.yaml:1: question: anchors":                     "- question: &a b\n  groups: *a\n",
	} {
		path := write(t, dir, "questions.yaml", file)
		if code, stdout, stderr := verb(t, "http://127.0.0.1:1", "check", path); code != 2 || stdout != "" || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: %d %q %q, want %q", file, code, stdout, stderr, want)
		}
	}
	if code, _, stderr := verb(t, "http://127.0.0.1:1", "check", dir+"/none.yaml"); code != 2 || !strings.Contains(stderr, "none.yaml cannot be read") {
		t.Errorf("no file: %d %s", code, stderr)
	}
	if code, _, stderr := verb(t, "http://127.0.0.1:1", "check", write(t, dir, "q.yaml", "- question: a?\n  intent: rag\n"), "--proxy", "http://127.0.0.1:1"); code != 1 || !strings.Contains(stderr, "not running") {
		t.Errorf("no program: %d %s", code, stderr)
	}
}
