package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/internal/upstreamtest"
)

// zebra is the marker of the recorded cases: what only its owner may see.
const zebra = "ZEBRA-41"

// wantMarker checks whether a marker is in what upstream got besides the
// client's own bytes.
func (a reply) wantMarker(t testing.TB, marker string, want bool) {
	t.Helper()
	if a.status != http.StatusOK {
		t.Errorf("status %d: %.300s", a.status, a.body)
	}
	if got := strings.Contains(a.injected(), marker); got != want {
		t.Errorf("%s inserted: %v, want %v (%s; %s)\nsent %s\ninserted %s", marker, got, want,
			a.header.Get("X-Strata-Intent"), a.header.Get("X-Strata-Context"), a.sent, a.injected())
	}
}

// askServed asks until nothing of the answer's context was left out for coming
// late, as happens now and then on a busy machine.
func (r *rig) askServed(t testing.TB, w who, messages ...string) (a reply) {
	t.Helper()
	for range 10 {
		if a = r.ask(t, w, messages...); !a.late() {
			break
		}
	}
	return a
}

// wantNowhere checks that no answer of the control plane to w holds a marker.
func (r *rig) wantNowhere(t testing.TB, w who, marker string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, text := r.control(t, w, http.MethodGet, path, "", ""); strings.Contains(text, marker) {
			t.Errorf("GET %s for %s/%s: %s is in %s", path, w.tenant, w.user, marker, text)
		}
	}
}

// holding are the active memories whose summary holds a text.
func holding(list []kept, text string) []kept {
	return slices.DeleteFunc(slices.Clone(list), func(m kept) bool { return !strings.Contains(m.Summary, text) })
}

// wantOne checks that exactly one active memory holds a text.
func (r *rig) wantOne(t testing.TB, w who, text string) kept {
	t.Helper()
	list := r.memories(t, w, "")
	found := holding(list, text)
	if len(found) != 1 {
		t.Fatalf("%d active memories hold %q, want 1: %+v", len(found), text, list)
	}
	return found[0]
}

func TestMemoryIsItsOwnersC066(t *testing.T) {
	r := newRig(t, nil)
	owner := who{tenant: "T1", user: "U1", session: "S1"}
	first := r.ask(t, owner, user("My locker code is ZEBRA-41."))
	r.flush(t)
	m := r.wantOne(t, owner, zebra)
	const question = "What is my locker code?"
	asked := owner
	asked.session = "S9"
	r.askServed(t, asked, user(question)).wantMarker(t, zebra, true) // and every cache is warm

	id, request := "/v1/memories/"+m.ID, first.header.Get("X-Strata-Request-Id")
	for _, w := range []who{{tenant: "T1", user: "U2"}, {tenant: "T2", user: "U1"}, {tenant: "T1", user: "u1"}, {tenant: "T1", user: "U1\u00a0"},
		{tenant: "T1"}, {tenant: "T2"}, {tenant: "T1 U1", user: "U1"}} {
		if w.user != "" { // with a memory of its own, so that memories are read
			r.addMemory(t, w, "conclusion", "note", "The locker of the gym is green.")
		}
		for _, session := range []string{"S1", "S9", ""} {
			w.session = session
			r.ask(t, w, user(question)).wantMarker(t, zebra, false)
			r.ask(t, w, user("What do you remember about me?")).wantMarker(t, zebra, false)
			w.header = http.Header{"X-Strata-Explain": {"1"}}
			if a := r.ask(t, w, user(question)); strings.Contains(a.body, zebra) {
				t.Errorf("explained to %s/%s: %s", w.tenant, w.user, a.body)
			}
			w.header = nil
		}
		if w.tenant == "T1" && w.user == "" {
			continue // the operator's view of the tenant
		}
		w.session = ""
		r.wantNowhere(t, w, zebra, "/v1/memories", "/v1/memories?status=superseded", id, "/v1/sessions/S1", "/v1/sessions",
			"/v1/rejected", "/v1/receipts/"+request, "/v1/users/U1", "/v1/users/"+"u1")
	}
	for _, w := range []who{{tenant: "T1", user: "U2"}, {tenant: "T2", user: "U1"}, {tenant: "T2"}} {
		for _, call := range []struct{ method, path, body string }{{http.MethodPatch, id, `{"summary":"x"}`}, {http.MethodDelete, id, ""},
			{http.MethodDelete, "/v1/sessions/S1", ""}, {http.MethodPost, "/v1/sessions/S1/close", "{}"}, {http.MethodGet, id, ""}} {
			status, _ := r.control(t, w, call.method, call.path, "application/json", call.body)
			if status != http.StatusNotFound && call.path == id {
				t.Errorf("%s %s for %s/%s: %d, want 404", call.method, call.path, w.tenant, w.user, status)
			}
		}
	}
	r.wantOne(t, owner, zebra)
	if turns := r.turns(t, owner); len(turns) != 2 || turns[0].Content != "My locker code is ZEBRA-41." {
		t.Errorf("the owner's session is %+v", turns)
	}
	// Space around a header's value is no part of it; inside a body it is.
	a := r.askBody(t, who{tenant: "T1"}, `{"safety_identifier":"U1 ","messages":[`+user(question)+`]}`)
	a.wantMarker(t, zebra, false)
	r.askBody(t, who{tenant: "T1"}, `{"safety_identifier":"U1","messages":[`+user(question)+`]}`).wantMarker(t, zebra, true)
}

func TestOneKeyForAllC068(t *testing.T) {
	r := newRig(t, nil)
	const fact, question = "Remember: my locker code is ZEBRA-41.", "What is my locker code?"
	nobody := func(what string, a reply) {
		t.Helper()
		a.wantMarker(t, zebra, false)
		if a.field("reason") != "no_user" || a.field("fix") != "identity" {
			t.Errorf("%s: X-Strata-Context is %q, want reason=no_user; fix=identity", what, a.header.Get("X-Strata-Context"))
		}
		if a.header.Get("X-Strata-Session") != "" {
			t.Errorf("%s: a session without a person: %v", what, a.header)
		}
	}
	for _, session := range []string{"", "S1"} { // two people, one key
		nobody("says", r.ask(t, who{session: session}, user(fact)))
		nobody("field says", r.askBody(t, who{session: session}, `{"user":"U1","messages":[`+user(fact)+`]}`))
		r.flush(t)
		nobody("asks", r.ask(t, who{session: session}, user(question)))
		nobody("field asks", r.askBody(t, who{session: session}, `{"user":"U1","messages":[`+user(question)+`]}`))
		r.ask(t, u1(session), user(question)).wantMarker(t, zebra, false)
	}
	r.wantNowhere(t, who{}, "ZEBRA", "/v1/memories", "/v1/sessions", "/v1/users", "/v1/sessions/S1")

	r.ask(t, u1("A"), user(fact))
	r.flush(t)
	r.ask(t, who{user: "U2", session: "A"}, user(question)).wantMarker(t, zebra, false)
	r.askServed(t, u1("B"), user(question)).wantMarker(t, zebra, true)
}

func TestBodyFieldNamesUserWhereSetC068(t *testing.T) {
	r := newRig(t, nil, "STRATA_IDENTITY_BODY=user")
	say := func(name, words string) reply {
		return r.askBody(t, who{}, `{"user":"`+name+`","messages":[`+user(words)+`]}`)
	}
	say("U1", "Remember: my locker code is ZEBRA-41.")
	r.flush(t)
	say("U1", "What is my locker code?").wantMarker(t, zebra, true)
	say("U2", "What is my locker code?").wantMarker(t, zebra, false)
}

// rawChat sends a chat request with header lines as they are.
func (r *rig) rawChat(t testing.TB, body string, lines ...string) (status int, context string) {
	t.Helper()
	c := r.dial(t)
	defer c.Close()
	head := "POST /v1/chat/completions HTTP/1.1\r\nHost: " + r.addr + "\r\nContent-Type: application/json\r\n"
	for _, line := range lines {
		head += line + "\r\n"
	}
	if _, err := fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", head, len(body), body); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("X-Strata-Context")
}

func TestSpoofedIdentityC069(t *testing.T) {
	for name, set := range map[string]struct{ header, other, setting string }{
		"own header":    {"X-Strata-User", "X-Remote-User", "STRATA_LOG_LEVEL=info"},
		"mapped header": {"X-Remote-User", "X-Strata-User", "STRATA_IDENTITY_USER_HEADER=X-Remote-User"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil, set.setting)
			const question = "What is my locker code?"
			body := `{"model":"m","messages":[` + user(question) + `]}`
			named := `{"model":"m","user":"U1","safety_identifier":"U1","metadata":{"user_id":"U1"},"messages":[` + user(question) + `]}`
			h := set.header + ": "
			if status, _ := r.rawChat(t, `{"messages":[`+user("Remember: my locker code is ZEBRA-41.")+`]}`, h+"U1"); status != 200 {
				t.Fatal(status)
			}
			r.flush(t)
			r.wantOne(t, u1(""), zebra)
			for _, c := range []struct {
				what, body string
				lines      []string
			}{
				{"body against header", named, []string{h + "U2"}},
				{"two copies", body, []string{h + "U2", h + "U1"}},
				{"two copies, other order", body, []string{h + "U1", h + "U2"}},
				{"two copies of the same", body, []string{h + "U1", h + "U1"}},
				{"two spellings", body, []string{strings.ToLower(h) + "U1", strings.ToUpper(h) + "U2"}},
				{"list", body, []string{h + "U1,U2"}},
				{"list with a body", named, []string{h + "U2, U1"}},
				{"NUL", body, []string{h + "U1\x00"}},
				{"control", body, []string{h + "U1\x01"}},
				{"long", named, []string{h + strings.Repeat("U1", 2500)}},
				{"not UTF-8", named, []string{h + "U1\xff"}},
				{"body field alone", `{"user":"U1","messages":[` + user(question) + `]}`, nil},
				{"another header", body, []string{set.other + ": U1"}},
				{"another header beside", body, []string{set.other + ": U1", h + "U2"}},
				{"underscores", body, []string{strings.ReplaceAll(h, "-", "_") + "U1"}},
				{"trailing dot", body, []string{strings.Replace(h, ":", ".:", 1) + "U1"}},
			} {
				before := len(r.up.Requests())
				status, context := r.rawChat(t, c.body, c.lines...)
				if status != http.StatusOK && status != http.StatusBadRequest {
					t.Errorf("%s: status %d", c.what, status)
				}
				for _, req := range r.up.Requests()[before:] {
					if strings.Contains(string(req.Body), zebra) {
						t.Errorf("%s (%s): the marker reached upstream: %s", c.what, context, req.Body)
					}
				}
			}
			before := len(r.up.Requests())
			r.rawChat(t, body, strings.ToUpper(h)+" U1 ")
			if got := r.up.Requests()[before:]; len(got) != 1 || !strings.Contains(string(got[0].Body), zebra) {
				t.Error("the header in another case does not name the user")
			}
		})
	}
}

func TestSameFactAtOnceC071(t *testing.T) {
	r := newRig(t, nil)
	r.memories(t, u1(""), "") // reads the token, once
	var all sync.WaitGroup
	for i := range 20 {
		text := "User's project code is ZEBRA-41."
		switch {
		case i%4 == 0:
			text = "user's  Project Code is   zebra-41"
		case i%4 == 1:
			text = "Remember: my project code is ZEBRA-41"
		}
		all.Go(func() { r.ask(t, u1(fmt.Sprint("S", i%7)), user(text)) })
		if i%6 == 5 {
			all.Go(func() { r.control(t, who{}, http.MethodPost, "/v1/learn/flush", "application/json", "{}") })
		}
	}
	all.Wait()
	r.flush(t)
	check := func(sources int) {
		t.Helper()
		list := r.memories(t, u1(""), "")
		if len(list) != 1 || !strings.Contains(strings.ToUpper(list[0].Summary), zebra) || len(list[0].Sources) != sources {
			t.Fatalf("remembered %+v, want one about the code with %d sources", list, sources)
		}
		a := r.askServed(t, u1("Q"), user("what is my project code"))
		if n := strings.Count(strings.ToUpper(a.injected()), zebra); n != 1 {
			t.Errorf("inserted %d times: %s", n, a.injected())
		}
	}
	check(20)
	r.restart(t)
	r.ask(t, u1("S8"), user("Remember: my project code is ZEBRA-41."))
	r.flush(t)
	check(21)
}

// corrections are what is said first, what replaces it, and who asks then.
var corrections = []struct{ first, then, question, old, now, topic string }{
	{"我的办公室在3号楼。", "我搬到5号楼办公了。", "我的办公室在哪？", "3号楼", "5号楼", "office"},
	{"My office is in building 3.", "I moved to building 5.", "Where is my office?", "building 3", "building 5", "office"},
	{"请记住：我的项目代号是 ZEBRA-40", "我的项目代号现在是 ZEBRA-41。", "我的项目代号是什么？", "ZEBRA-40", "ZEBRA-41", "project_code"},
	{"From now on, always answer in French.", "From now on, always answer in German.", "Where is Rome?", "French", "German", "language"},
}

func TestCorrectionReplacesC072(t *testing.T) {
	r := newRig(t, nil)
	for i, c := range corrections {
		for _, way := range []string{"same session", "two sessions", "two sessions learned together", "the later session was there first"} {
			t.Run(fmt.Sprint(c.now, ", ", way), func(t *testing.T) {
				w := who{user: fmt.Sprint("U", i, way), session: "A"}
				first, then := w, w
				if way != "same session" {
					first.session = "B"
				}
				if way == "the later session was there first" {
					r.ask(t, then, user("Good morning"))
				}
				r.ask(t, first, user(c.first))
				if way == "same session" || way == "two sessions" {
					r.flush(t)
				}
				r.ask(t, then, user(c.then))
				r.flush(t)
				list := r.memories(t, w, "")
				if len(list) != 1 || !strings.Contains(list[0].Summary, c.now) || list[0].Topic != c.topic {
					t.Errorf("remembered %+v, want one about %s", list, c.now)
				}
				for _, session := range []string{"C", "A", first.session} {
					w.session = session
					a := r.askServed(t, w, user(c.question))
					a.wantMarker(t, c.now, true)
					a.wantFormer(t, c.old)
				}
				old := r.memories(t, w, "status=superseded")
				if len(holding(old, c.old)) != 1 {
					t.Errorf("superseded are %+v, want one about %s", old, c.old)
				}
			})
		}
	}
}

// What an earlier turn is marked with that states what was replaced since.
const (
	noLonger   = "part of it no longer holds"
	noLongerZH = "其中有内容已不再有效"
)

// wantFormer checks that a text that holds no longer is not inserted, or only
// in a turn that says so.
func (a reply) wantFormer(t testing.TB, old string) {
	t.Helper()
	for line := range strings.SplitSeq(a.injected(), `\n`) {
		if strings.Contains(line, old) && !strings.Contains(line, noLonger) && !strings.Contains(line, noLongerZH) {
			t.Errorf("%q is served as if it held: %s", old, a.injected())
			return
		}
	}
}

func TestDeletedIsGoneC074(t *testing.T) {
	r := newRig(t, func(req *upstreamtest.Request) *upstreamtest.Script {
		if strings.Contains(string(req.Body), zebra) {
			return said("Your code is ZEBRA-41.")
		}
		return said("OK.")
	})
	asks := []string{"what is my project code", "我的项目代号是什么？", "Tell me the code of my project please", "project code", "What do you remember about me?"}
	gone := func(w who, sessions ...string) {
		t.Helper()
		for _, session := range sessions {
			w.session = session
			for _, words := range asks {
				r.ask(t, w, user(words)).wantMarker(t, zebra, false)
				r.ask(t, w, user("Hello"), assistant("Hi."), user(words)).wantMarker(t, zebra, false)
			}
		}
	}
	whole := t
	for name, remember := range map[string]func(t *testing.T, w who) kept{
		"by the admin": func(t *testing.T, w who) kept {
			return r.addMemory(t, w, "conclusion", "project_code", "User's project code (我的项目代号) is ZEBRA-41.")
		},
		"by talking": func(t *testing.T, w who) kept {
			r.ask(t, w, user("Remember: my project code (我的项目代号) is ZEBRA-41"))
			r.flush(t)
			return r.wantOne(t, w, zebra)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := who{user: name, session: "S1"}
			m := remember(t, w)
			for _, session := range []string{"S1", "S2"} {
				w.session = session
				r.askServed(t, w, user(asks[0])).wantMarker(t, zebra, true)
			}
			if status := r.deleteMemory(t, w, m.ID); status != http.StatusOK {
				t.Fatal(status)
			}
			gone(w, "S1", "S2", "S3")
			r.wantNowhere(t, w, zebra, "/v1/memories", "/v1/memories?status=deleted", "/v1/memories?status=superseded", "/v1/memories/"+m.ID)
			r.flush(t)
			gone(w, "S1", "S2", "S4")
			r.restart(whole)
			gone(w, "S1", "S2", "S5")
		})
	}
	t.Run("by asking to forget", func(t *testing.T) {
		w := who{user: "by asking", session: "S1"}
		r.ask(t, w, user("Remember: my project code is ZEBRA-41"))
		r.flush(t)
		w.session = "S2"
		r.askServed(t, w, user(asks[0])).wantMarker(t, zebra, true)
		w.session = "S3"
		r.ask(t, w, user("Forget my project code.")).wantMarker(t, zebra, false)
		r.flush(t)
		gone(w, "S1", "S2", "S3", "S4")
	})
}

func TestDeletedIsGoneFromTheFileC074(t *testing.T) {
	r := newRig(t, nil)
	w := u1("S1")
	m := r.addMemory(t, w, "conclusion", "project_code", "User's project code (我的项目代号) is ZEBRA-41.")
	for range 3 {
		r.askServed(t, w, user("what is my project code")).wantMarker(t, zebra, true)
	}
	r.deleteMemory(t, w, m.ID)
	r.stop(t)
	r.wantNotInFiles(t, zebra)
}

// wantNotInFiles checks every byte of what a stopped program leaves behind.
func (r *rig) wantNotInFiles(t testing.TB, texts ...string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files in the data folder, %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if strings.Contains(string(b), text) {
				t.Errorf("%q is in %s (%d bytes)", text, filepath.Base(file), len(b))
			}
		}
	}
}
