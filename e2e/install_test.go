package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// required tells that a missing client is a failure and not a reason to skip.
func required() bool { return os.Getenv("STRATA_E2E_REQUIRE") == "1" }

// missing ends a test that lacks something of the machine; fix names it.
func missing(t testing.TB, fix string) {
	t.Helper()
	if required() {
		t.Fatalf("STRATA_E2E_REQUIRE=1 and something is missing: %s", fix)
	}
	t.Skipf("skipped: %s", fix)
}

// tool is the path of a command of the machine.
func tool(t testing.TB, name, fix string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, fix)
	}
	return path
}

// recipe says how a client library gets into a folder of its own.
type recipe struct {
	name  string
	pins  []string // files that pin the versions; a copy of each is in the folder
	tool  string   // its version is part of what the folder is good for
	fix   string
	steps func(dir string) []*exec.Cmd
}

// install makes the folder of r on first use and returns it. The folder is
// named after the pins, so that a changed pin makes a new one, and is taken
// only when it was finished.
func install(t testing.TB, r recipe) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		missing(t, "a cache folder: set HOME or XDG_CACHE_HOME")
	}
	sum := sha256.New()
	for _, pin := range r.pins {
		sum.Write(contents(t, pin))
	}
	version, err := exec.Command(r.tool, "--version").Output()
	if err != nil {
		missing(t, r.fix)
	}
	sum.Write(version)
	dir := filepath.Join(cache, "strata-e2e", r.name+"-"+hex.EncodeToString(sum.Sum(nil))[:16])
	unlock := lock(t, dir)
	defer unlock()
	finished := filepath.Join(dir, "finished")
	if _, err := os.Stat(finished); err == nil {
		return dir
	}
	fill(t, r, dir)
	if err := os.WriteFile(finished, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func fill(t testing.TB, r recipe, dir string) {
	t.Helper()
	fmt.Fprintf(os.Stderr, "e2e: first use, installing the %s client into %s\n", r.name, dir)
	began := time.Now()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, pin := range r.pins {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(pin)), contents(t, pin), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, cmd := range r.steps(dir) {
		fmt.Fprintf(os.Stderr, "e2e:   %s\n", cmd)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "e2e:   failed: %v\n%s\n", err, said)
			missing(t, fmt.Sprintf("the %s client could not be installed (%v); %s", r.name, err, r.fix))
		}
	}
	fmt.Fprintf(os.Stderr, "e2e:   done in %v\n", time.Since(began).Round(time.Second))
}

// lock keeps two test runs from filling the same folder.
func lock(t testing.TB, dir string) (unlock func()) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { _ = f.Close() } // which unlocks
}

func contents(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
