package cli

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Of several that start on one folder at once, all end with the token that is
// kept there.
func TestAdminTokenMadeOnce(t *testing.T) {
	for range 30 {
		dir := filepath.Join(t.TempDir(), "data")
		var (
			wg       sync.WaitGroup
			start    = make(chan struct{})
			tokens   [8]string
			warnings [8]string
		)
		for i := range tokens {
			wg.Go(func() {
				<-start
				tokens[i], warnings[i] = adminToken("", dir)
			})
		}
		close(start)
		wg.Wait()
		kept, err := os.ReadFile(filepath.Join(dir, "admin.token"))
		if err != nil {
			t.Fatal(err)
		}
		for i, token := range tokens {
			if token != strings.TrimSpace(string(kept)) || warnings[i] != "" {
				t.Fatalf("start %d has %q (%s), kept is %q", i, token, warnings[i], kept)
			}
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Fatalf("the folder holds more than the token: %v", left)
		}
	}
}

func TestAdminTokenGiven(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if token, warning := adminToken("mine", dir); token != "mine" || warning != "" {
		t.Errorf("%q %q", token, warning)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made for a token that is not kept there")
	}
}

// An emptied file is not a token of no letters.
func TestAdminTokenEmptyFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "admin.token"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if token, warning := adminToken("", dir); len(token) != 64 || !strings.Contains(warning, "is empty") {
		t.Errorf("%q %q", token, warning)
	}
}
