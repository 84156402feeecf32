package cli_test

import (
	"strings"
	"testing"
)

func TestDocsHistoryAndDiff(t *testing.T) {
	_, url := control(t)
	dir := t.TempDir()
	put := func(text string, args ...string) {
		t.Helper()
		ok(t, url, append([]string{"ingest", write(t, dir, "leave.md", text), "--id", "hr/leave"}, args...), "published  hr/leave")
	}
	put("Leave is 20 days.\n\nAsk your manager.")
	if code, _, stderr := verb(t, url, "docs", "diff", "hr/leave"); code != 2 || !strings.Contains(stderr, "only one version") {
		t.Errorf("one version: %d %s", code, stderr)
	}
	put("Leave is 25 days.\n\nAsk your manager.")
	put("Leave is 30 days.\n\nAsk your manager.", "--groups", "hr", "--expires", "2030-12-31")
	out := ok(t, url, []string{"docs", "history", "hr/leave"}, "VERSION", "current", "replaced", "2030-12-31", "hr")
	if strings.Index(out, "\n3 ") > strings.Index(out, "\n1 ") || strings.Count(out, "\n") != 4 {
		t.Errorf("not the newest first:\n%s", out)
	}
	ok(t, url, []string{"docs", "diff", "hr/leave"}, "hr/leave: version 2 (replaced) to version 3 (current)", "groups    none -> hr", "expires   none -> 2030-12-31", "\n-Leave is 25 days.\n+Leave is 30 days.\n Ask your manager.\n")
	ok(t, url, []string{"docs", "diff", "hr/leave", "1"}, "version 1 (replaced) to version 3", "-Leave is 20 days.")
	ok(t, url, []string{"docs", "diff", "hr/leave", "3", "1"}, "+Leave is 20 days.")
	if got := object(t, url, "docs", "diff", "hr/leave", "1", "2"); len(got["sections"].([]any)) != 1 || got["from"].(map[string]any)["version"] != 1.0 {
		t.Errorf("as JSON: %v", got)
	}
	if got := object(t, url, "docs", "history", "hr/leave"); len(got["versions"].([]any)) != 3 {
		t.Errorf("history as JSON: %v", got)
	}
	for want, args := range map[string][]string{"no version 9": {"hr/leave", "9"}, "no version x": {"hr/leave", "x"}, "at most two": {"a", "1", "2", "3"}} {
		if code, _, stderr := verb(t, url, append([]string{"docs", "diff"}, args...)...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
	if code, _, _ := verb(t, url, "docs", "history", "none"); code != 1 {
		t.Errorf("no document: %d", code)
	}
}
