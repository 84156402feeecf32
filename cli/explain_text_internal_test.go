package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhatIs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"request", "two words"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]named{
		"-": namedFile, "request": namedFile, "two words": namedFile, "nowhere.json": namedFile,
		"last": namedReceipt, "req_9": namedReceipt, "chatcmpl-9aZ": namedReceipt, "0196a3bc": namedReceipt, "gen/a.b:c-d": namedReceipt,
		"How many days of leave?": namedText, "what is in data.json": namedText, "年假怎么申请": namedText, "年假2天": namedText, "hello": namedText, "thanks!": namedText,
		"folder": namedText, "why\tnot": namedText, "": namedText,
	} {
		if got := whatIs(arg); got != want {
			t.Errorf("%q is %d, want %d", arg, got, want)
		}
	}
}
