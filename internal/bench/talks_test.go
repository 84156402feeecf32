package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

func TestTalksAreManyPeoplesAndNeverTheSame(t *testing.T) {
	makes := newTalks()
	next := makes.next()
	users, sessions, seen := map[string]int{}, map[string]bool{}, map[string]bool{}
	stating := 0
	for range 2 * talkUsers * talkTurns {
		head, body, _ := bytes.Cut(next(), blankLine)
		if len(body) != requestSize || !json.Valid(body) {
			t.Fatalf("%d bytes: %s", len(body), body)
		}
		if seen[string(body)] {
			t.Fatalf("sent twice: %s", body)
		}
		seen[string(body)] = true
		user, session := lineOf(head, "X-Strata-User"), lineOf(head, "X-Strata-Session")
		users[user]++
		sessions[user+" "+session] = true
		for _, words := range stated {
			if bytes.Contains(body, []byte(words)) {
				stating++
			}
		}
	}
	if len(users) != talkUsers || users["user-07"] != 2*talkTurns || stating != 2*talkUsers {
		t.Errorf("%d users, %d exchanges of one, %d statements", len(users), users["user-07"], stating)
	}
	// The first exchange of all is the second user's, so one session more begins.
	if n := len(sessions); n < 2*talkUsers || n > 2*talkUsers+1 {
		t.Errorf("%d sessions", n)
	}
}

func lineOf(head []byte, name string) string {
	_, rest, _ := bytes.Cut(head, []byte(name+": "))
	value, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return string(value)
}

func TestTheCorpusIsTheSameEachTime(t *testing.T) {
	a, b := newCorpus(), newCorpus()
	for n := range 4 {
		if x, y := a.document(n), b.document(n); !bytes.Equal(x, y) || bytes.Count(x, []byte("\n## ")) != docSections {
			t.Fatalf("document %d:\n%s\n%s", n, x, y)
		}
	}
	if len(a.questions) != 4*docSections/questionEach+1 || fmt.Sprint(a.questions) != fmt.Sprint(b.questions) {
		t.Errorf("questions %q", a.questions)
	}
}
