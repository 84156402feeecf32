package eval_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"strata/internal/eval"
)

func TestTexts(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"a.jsonl":      `{"text":"one","turns":[{"text":"two"},"three"],"n":4}` + "\n" + `"five"`,
		"deep/b.jsonl": `["six"]`,
		"notes.txt":    `"seven"`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := eval.Texts(dir)
	slices.Sort(got)
	if want := []string{"five", "one", "six", "three", "two"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(`{"cut`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := eval.Texts(dir); err == nil {
		t.Error("a broken row is passed over")
	}
}
