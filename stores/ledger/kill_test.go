package ledger_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"strata/stores"
	"strata/stores/ledger"
)

// killPath tells a child of this test what to write to.
const killPath = "STRATA_TEST_KILL_PATH"

func TestMain(m *testing.M) {
	if path := os.Getenv(killPath); path != "" {
		recordForEver(path)
	}
	os.Exit(m.Run())
}

// recordForEver records from several goroutines and says which ids are safe.
func recordForEver(path string) {
	l, err := ledger.New(context.Background(), ledger.Config{Path: path})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	run := fmt.Sprint(os.Getpid())
	ids := make(chan string)
	for i := range 4 {
		go func() {
			scope := stores.Scope{Tenant: "acme", User: fmt.Sprint("u", i), Session: "s" + run}
			for n := 0; ; n++ {
				id := fmt.Sprint("req_", run, "_", i, "_", n)
				err := l.Record(context.Background(), stores.Exchange{ID: id, Scope: scope, Links: stores.Links{Turn: id}, Asked: strings.Repeat("问", 200),
					Answer: "answer to " + id, Status: stores.Complete, Finished: true, Learn: true, At: time.Now()})
				if err != nil {
					id = "error " + err.Error()
				}
				ids <- id
			}
		}()
	}
	for id := range ids {
		fmt.Println(id)
	}
}

// TestKill kills a recording process at random moments: what it had
// acknowledged is there, and the file is sound.
func TestKill(t *testing.T) {
	rounds := 20
	if os.Getenv("STRATA_LONG") == "1" {
		rounds = 100
	}
	if testing.Short() {
		rounds = 4
	}
	path := filepath.Join(t.TempDir(), "ledger.db")
	known := map[string]bool{}
	for range rounds {
		for _, id := range killOne(t, path) {
			if strings.HasPrefix(id, "error") {
				t.Fatal(id)
			}
			known[id] = true
		}
	}
	if len(known) < rounds {
		t.Fatalf("only %d exchanges were acknowledged", len(known))
	}
	l, err := ledger.New(t.Context(), ledger.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, path)
	defer l.Close()
	there := map[string]bool{}
	for i := range 4 {
		x, err := l.ExportUser(t.Context(), "acme", fmt.Sprint("u", i))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range x.Sessions {
			for _, turn := range s.History {
				if turn.Role == "assistant" && turn.Content == "answer to "+turn.Exchange {
					there[turn.Exchange] = true
				}
			}
		}
	}
	for id := range known {
		if !there[id] {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	t.Logf("%d kills, %d acknowledged, %d there", rounds, len(known), len(there))
}

// killOne returns the ids that a child acknowledged before it was killed.
func killOne(t *testing.T, path string) (ids []string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), killPath+"="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	after := 1 + rand.IntN(400)
	for lines.Scan() {
		ids = append(ids, lines.Text())
		if len(ids) == after {
			break
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	return ids
}

func sound(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity: %s, %v", verdict, err)
	}
}
