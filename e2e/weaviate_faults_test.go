//go:build unix

package e2e_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/internal/weaviateserver"
)

// fault is how a wire to a server behaves.
type fault int

const (
	sound   fault = iota
	silent        // takes connections and never answers
	refuses       // takes none
	slow          // answers after five seconds
	cuts          // resets in the middle of an answer
)

// cutAfter is how much of each answer a wire lets through that cuts: its head
// and the beginning of its body.
const cutAfter = 400

// wire is a TCP relay to a server that can be told to fail.
type wire struct {
	t    *testing.T
	to   string
	addr string

	mu    sync.Mutex
	ln    net.Listener // nil while it refuses
	fault fault
	open  map[net.Conn]bool
}

func newWire(t *testing.T, to string) *wire {
	w := &wire{t: t, to: strings.TrimPrefix(to, "http://"), open: map[net.Conn]bool{}}
	w.listen("127.0.0.1:0")
	w.addr = w.ln.Addr().String()
	t.Cleanup(func() { w.set(refuses) })
	return w
}

func (w *wire) url() string { return "http://" + w.addr }

func (w *wire) listen(addr string) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ln = ln
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go w.serve(c)
		}
	}()
}

// set changes how it behaves and ends the connections that there are.
func (w *wire) set(f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = f
	for c := range w.open {
		_ = c.Close()
	}
	switch {
	case f == refuses && w.ln != nil:
		_ = w.ln.Close()
		w.ln = nil
	case f != refuses && w.ln == nil:
		w.listen(w.addr)
	}
}

// hold registers a connection, so that set ends it.
func (w *wire) hold(c net.Conn) fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[c] = true
	return w.fault
}

func (w *wire) drop(c net.Conn) {
	_ = c.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, c)
}

func (w *wire) serve(client net.Conn) {
	defer w.drop(client)
	f := w.hold(client)
	if f == silent {
		_, _ = io.Copy(io.Discard, client)
		return
	}
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer w.drop(server)
	w.hold(server)
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	switch f {
	case slow:
		first := make([]byte, 1)
		if _, err := io.ReadFull(server, first); err != nil {
			return
		}
		time.Sleep(5 * time.Second)
		if _, err := client.Write(first); err != nil {
			return
		}
	case cuts:
		_, _ = io.CopyN(client, server, cutAfter)
		_ = client.(*net.TCPConn).SetLinger(0)
		return
	}
	_, _ = io.Copy(client, server)
}

// C104: whatever a server does instead of answering, also at the start, a chat
// request goes on within its limit, with the client's own bytes, and what was
// said meanwhile is recorded. By words alone and with vectors.
func TestC104WeaviateThatFails(t *testing.T) {
	t.Run("words", func(t *testing.T) { weaviateThatFails(t, ragLimit) })
	t.Run("vectors", func(t *testing.T) {
		e := newEmbedder(t)
		weaviateThatFails(t, ragLimit, e.settings("m1")...)
	})
}

func weaviateThatFails(t *testing.T, limit time.Duration, set ...string) {
	s := sharedWeaviate.For(t)
	w := newWire(t, s.URL())
	r := newRig(t, nil, append(set, "STRATA_INDEX_URL="+w.url(), "STRATA_INDEX_API_KEY="+weaviateserver.Key)...)
	r.putDocument(t, "", "lunch.md", lunch)
	if len(set) > 0 {
		r.waitVectors(t, "lunch.md")
	}
	r.wantFound(t, lunchHit, r.askLunch)
	pace := r.pace(t)
	asked := 0
	ask := func(state string, n int) {
		t.Helper()
		var answers []reply
		for range n {
			a := r.askLunch(t, fmt.Sprint("fails-", asked))
			asked++
			a.wantOK(t)
			a.wantTransparent(t)
			if skipped := a.field("skipped"); !strings.HasPrefix(skipped, "knowledge:") || a.result() != "none" {
				t.Errorf("%s: X-Strata-Context %q", state, a.header.Get("X-Strata-Context"))
			}
			if t.Failed() {
				t.Fatalf("while the server is %s", state)
			}
			answers = append(answers, a)
		}
		wantQuick(t, answers, limit, pace)
	}
	for _, f := range []struct {
		state string
		fault fault
	}{{"cutting answers", cuts}, {"refusing", refuses}, {"slow", slow}, {"silent", silent}} {
		w.set(f.fault)
		ask(f.state, 20)
	}
	before := r.metric(t, "go_goroutines")
	ask("silent", 200)
	if after := r.metric(t, "go_goroutines"); after > before+20 {
		t.Errorf("%v goroutines after 200 more requests, %v before", after, before)
	}

	// A start meanwhile is no different.
	began := time.Now()
	r.restart(t)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a restart takes %v; the server is waited for for 3 s", took)
	}
	ask("silent since before the start", 20)
	w.set(sound)
	r.wantFound(t, lunchHit, r.askLunch)
	for n := range asked {
		r.waitUntil(t, "what was said meanwhile is recorded", func() bool { return len(r.turns(t, u1(fmt.Sprint("fails-", n)))) == 2 })
	}
}
