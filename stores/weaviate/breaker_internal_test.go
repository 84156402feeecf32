package weaviate

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	now := time.Unix(0, 0)
	var b breaker
	fresh := func() { b = breaker{clock: func() time.Time { return now }} }
	late := fmt.Errorf("search: %w", context.DeadlineExceeded)
	note := func(n int, err error, took time.Duration) {
		for range n {
			b.note(err, took)
		}
	}
	for _, tt := range []struct {
		name string
		do   func()
		open bool // searches go on
	}{
		{"nothing", func() {}, true},
		{"a few are late", func() { note(breakAfter-1, late, time.Second) }, true},
		{"too many are late", func() { note(breakAfter, late, time.Second) }, false},
		{"too many fail", func() { note(breakAfter, errors.New("refused"), 0) }, false},
		{"one went well between", func() { note(breakAfter-1, late, time.Second); note(1, nil, 0); note(breakAfter-1, late, time.Second) }, true},
		{"callers leave", func() { note(99, context.Canceled, time.Second) }, true},
		{"callers have no time", func() { note(99, late, patience/2) }, true},
		{"the server answers with errors", func() { note(99, &answer{status: 500}, 0) }, true},
	} {
		fresh()
		tt.do()
		if got := b.allow(); got != tt.open {
			t.Errorf("%s: goes on %v", tt.name, got)
		}
	}

	// One goes first to find out, and the others when it came back.
	fresh()
	note(breakAfter, late, time.Second)
	now = now.Add(breakFor)
	if !b.allow() || b.allow() {
		t.Error("not one search goes first")
	}
	note(1, late, time.Second)
	now = now.Add(breakFor / 2)
	if b.allow() {
		t.Error("one follows at once on one that failed")
	}
	now = now.Add(breakFor)
	if !b.allow() {
		t.Error("nobody tries again")
	}
	note(1, nil, 0)
	for range 2 {
		if !b.allow() {
			t.Error("it is not over")
		}
	}
}
