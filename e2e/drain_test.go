package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

const streamCall = `{"model":"gpt-4o-mini","stream":true,"messages":[{"role":"user","content":"hello"}]}`

// event is one event of a chat stream.
func event(n int) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"part %d \"}}]}\n\n", n)
}

// gated is a stream that sends one event, waits for the gate and ends well;
// whole is its body.
func gated(gate <-chan struct{}) (s *upstreamtest.Script, whole string) {
	s = upstreamtest.Stream().WriteString(event(0)).Wait(gate)
	whole = event(0)
	for i := 1; i < 20; i++ {
		s.WriteString(event(i))
		whole += event(i)
	}
	s.WriteString("data: [DONE]\n\n")
	return s, whole + "data: [DONE]\n\n"
}

func TestTerminationLetsAStreamEnd(t *testing.T) {
	gate := make(chan struct{})
	script, whole := gated(gate)
	up := upstreamtest.New(t, upstreamtest.Always(script))
	p := start(t, up.Addr())

	// A second client's connection rests, kept alive: it must not hold the end up.
	idle := http.Client{Timeout: patience, Transport: &http.Transport{}}
	if resp, err := idle.Get("http://" + p.admin + "/livez"); err != nil {
		t.Fatal(err)
	} else {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	_, resp := p.chatCall(t, streamCall)
	readSome(t, resp.Body, event(0))

	p.signal(t, syscall.SIGTERM)
	p.waitUntil(t, "/readyz says 503", func() bool { return p.readiness() == http.StatusServiceUnavailable })
	p.waitUntil(t, "new connections are refused", func() bool {
		c, err := net.Dial("tcp", p.addr)
		if err == nil {
			_ = c.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	close(gate)
	rest, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("the stream broke while draining: %v", err)
	}
	if got := event(0) + string(rest); got != whole {
		t.Errorf("the stream came as %q, want %q", got, whole)
	}
	if code := p.exitCode(t, patience); code != 0 {
		t.Errorf("exit code %d after a drain, want 0", code)
	}
}

func TestTerminationCutsWhatOutlivesTheDrain(t *testing.T) {
	script := upstreamtest.Stream().WriteString(event(0)).Silence()
	up := upstreamtest.New(t, upstreamtest.Always(script))
	p := start(t, up.Addr(), "STRATA_DRAIN_MAX=300ms")
	_, resp := p.chatCall(t, streamCall)
	readSome(t, resp.Body, event(0))

	began := time.Now()
	p.signal(t, syscall.SIGTERM)
	rest, err := io.ReadAll(resp.Body)
	if err == nil {
		t.Errorf("the cut stream ended as a complete answer (%q)", rest)
	}
	code := p.exitCode(t, 10*time.Second)
	took := time.Since(began)
	if took < 300*time.Millisecond {
		t.Errorf("the stream was cut after %v, before drain.max", took)
	}
	if code < 0 {
		t.Error("the program was killed by a signal instead of ending")
	}
	t.Logf("ended %v after the signal with code %d", took.Round(time.Millisecond), code)
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	script := upstreamtest.Stream().WriteString(event(0)).Silence()
	up := upstreamtest.New(t, upstreamtest.Always(script))
	p := start(t, up.Addr(), "STRATA_DRAIN_MAX=10m")
	_, resp := p.chatCall(t, streamCall)
	readSome(t, resp.Body, event(0))

	p.signal(t, syscall.SIGTERM)
	p.waitUntil(t, "/readyz says 503", func() bool { return p.readiness() == http.StatusServiceUnavailable })
	p.signal(t, syscall.SIGTERM)
	if code := p.exitCode(t, 3*time.Second); code != 1 {
		t.Errorf("exit code %d after a second signal, want 1", code)
	}
	if rest, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the cut stream ended as a complete answer (%q)", strings.TrimSpace(string(rest)))
	}
}
