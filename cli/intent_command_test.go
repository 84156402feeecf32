package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestIntentVerbs(t *testing.T) {
	store, url := control(t)
	if code, _, stderr := verb(t, url, "intent", "fix", "last", "rag"); code != 1 || !strings.Contains(stderr, "nothing is recorded yet") {
		t.Errorf("nothing yet: %d %s", code, stderr)
	}
	store.Say("default", "alice", "s1", "req_1", "年假有几天？\x1b[31m", "30")
	store.Say("default", "bob", "s2", "req_2", "bar chart of the shops", "ok")
	store.Say("default", "bob", "s2", "req_3", "", "off the record")
	out := ok(t, url, []string{"intent", "fix", "last", "rag", "-u", "alice"}, "rag from now on", "年假有几天？", "strata intent rm iex_")
	if strings.Contains(out, "\x1b") {
		t.Error("a text commands the terminal")
	}
	first := strings.Trim(strings.Fields(out[strings.Index(out, "rm iex_"):])[1], "`")
	if got := object(t, url, "intent", "fix", "chatcmpl-req_2", "data"); got["request_id"] != "req_2" || got["intent"] != "data" {
		t.Errorf("as JSON: %v", got)
	}
	ok(t, url, []string{"intent", "fix", "chat", "--text", "just a text"}, "chat from now on, and what is like it: just a text")
	if code, _, stderr := verb(t, url, "intent", "fix", "last", "chat"); code != 1 || !strings.Contains(stderr, "--text") {
		t.Errorf("words that were not recorded: %d %s", code, stderr)
	}
	ok(t, url, []string{"intent", "fix", "last", "chat", "--text", "what it was"}, "what it was")
	for _, args := range [][]string{{"req_1", "sql"}, {"req_1"}, {"rag"}, {"a", "b", "rag"}, {}} {
		if code, _, stderr := verb(t, url, append([]string{"intent", "fix"}, args...)...); code != 2 || !strings.Contains(stderr, "chat, rag or data") {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
	ok(t, url, []string{"intent", "ls"}, "ID", "INTENT", first, "年假有几天？", "bar chart of the shops", "req_3")
	if got := object(t, url, "intent", "ls", "--user", "alice"); len(got["examples"].([]any)) != 1 {
		t.Errorf("alice's: %v", got)
	}
	rows := `{"lang":"en","label":"CHAT","text":"what it was","source":"fix"}`
	ok(t, url, []string{"intent", "export"}, rows, `"label":"DATA"`)
	file := filepath.Join(t.TempDir(), "fixes.jsonl")
	ok(t, url, []string{"intent", "export", file}, "written")
	if b, _ := os.ReadFile(file); strings.Count(string(b), "\n") != 4 || !strings.HasSuffix(string(b), rows+"\n") {
		t.Errorf("exported: %s", b)
	}
	if code, _, stderr := verb(t, url, "intent", "export", file); code != 2 || !strings.Contains(stderr, "not overwritten") {
		t.Errorf("over a file: %d %s", code, stderr)
	}
	ok(t, url, []string{"intent", "rm", first}, "deleted "+first)
	if code, _, _ := verb(t, url, "intent", "rm", first); code != 1 {
		t.Error("deleted twice")
	}
}
