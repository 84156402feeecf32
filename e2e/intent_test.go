package e2e_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// fixed is an example of an intent as the control plane shows it.
type fixed struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Intent  string `json:"intent"`
	Request string `json:"request_id"`
	User    string `json:"user"`
}

// verdict is intent and stage of an answer.
func (a reply) verdict() string {
	kind, rest, _ := strings.Cut(a.header.Get("X-Strata-Intent"), ";")
	_, stage, _ := strings.Cut(rest, "stage=")
	return kind + " by " + stage
}

// wantExample asks until an example decides: on a busy machine the first
// question after a change may go on without.
func (r *rig) wantExample(t testing.TB, w who, kind, text string) reply {
	t.Helper()
	var a reply
	for range 5 {
		if a = r.ask(t, w, user(text)); a.verdict() == kind+" by example" {
			return a
		}
	}
	t.Errorf("%q is %s, want %s by example", text, a.verdict(), kind)
	return a
}

// wantNoExample checks one question.
func (r *rig) wantNoExample(t testing.TB, w who, text string) {
	t.Helper()
	if got := r.ask(t, w, user(text)).verdict(); strings.HasSuffix(got, "example") {
		t.Errorf("%q for %s/%s is %s", text, w.tenant, w.user, got)
	}
}

// An intent that somebody puts right holds from the next request on, for the
// tenant and for what hardly differs, until it is taken back.
func TestIntentIsPutRight(t *testing.T) {
	r := newRig(t, nil)
	const elsewhere = "the pink elephants of the third floor"
	// The other tenant has examples too: its own alone are read for it.
	r.must(t, who{tenant: "T2"}, http.MethodPost, "/v1/intents/examples", "application/json", string(jsonOf(map[string]string{"text": elsewhere, "intent": "data"})), nil)
	for _, c := range []struct{ text, kind, polite, word, other string }{
		{"帮我把新员工入职第一周的安排写成一段话", "rag", "麻烦帮我把新员工入职第一周的安排写成一段话，谢谢", "帮我把新员工入职第二周的安排写成一段话", "帮我把这句话翻译成英文"},
		{"How long may a contractor keep the laptop after the project ends?", "data",
			"Could you please tell me how long a contractor may keep the laptop after the project ends?", "How long may a contractor keep the phone after the project ends?", "Write a short poem about laptops"},
	} {
		asked := who{tenant: "T1", user: "U1"}
		first := r.ask(t, asked, user(c.text))
		if got := first.verdict(); strings.HasPrefix(got, c.kind+" ") {
			t.Fatalf("%q is %s already, the test needs another one", c.text, got)
		}
		id := first.header.Get("X-Strata-Request-Id")
		r.written(t)
		var e fixed
		r.must(t, who{tenant: "T1"}, http.MethodPost, "/v1/intents/examples", "application/json", string(jsonOf(map[string]string{"request_id": id, "intent": c.kind})), &e)
		if e.Text != c.text || e.Request != id || e.User != "U1" {
			t.Errorf("kept: %+v", e)
		}
		again := r.wantExample(t, asked, c.kind, c.text)
		for _, w := range []who{asked, {tenant: "T1", user: "U2"}, {tenant: "T1"}} {
			for _, text := range []string{c.text, c.polite, c.word} {
				r.wantExample(t, w, c.kind, text)
			}
			r.wantNoExample(t, w, c.other)
		}
		r.wantExample(t, who{tenant: "T2"}, "data", elsewhere)
		for _, w := range []who{{tenant: "T2", user: "U1"}, {tenant: "T2"}, {user: "U1"}} {
			r.wantNoExample(t, w, c.text)
		}
		// The receipt of another user's question names the example, not its words.
		others := r.wantExample(t, who{tenant: "T1", user: "U2"}, c.kind, c.word)
		r.written(t)
		for _, a := range []reply{again, others} {
			_, receipt := r.control(t, who{tenant: "T1"}, http.MethodGet, "/v1/receipts/"+a.header.Get("X-Strata-Request-Id"), "", "")
			if !strings.Contains(receipt, `"rule":"example `+e.ID+`"`) || strings.Contains(receipt, c.text) {
				t.Errorf("receipt %s", receipt)
			}
		}
		if status, _ := r.control(t, who{tenant: "T2"}, http.MethodDelete, "/v1/intents/examples/"+e.ID, "", ""); status != http.StatusNotFound {
			t.Errorf("deleted by another tenant: %d", status)
		}
		r.must(t, who{tenant: "T1"}, http.MethodDelete, "/v1/intents/examples/"+e.ID, "", "", nil)
		for _, text := range []string{c.text, c.polite, c.word} {
			r.wantNoExample(t, asked, text)
		}
	}
}

// What was put right goes with the user, the session and the restart that it
// has to go or stay with.
func TestIntentExamplesEnd(t *testing.T) {
	r := newRig(t, nil)
	const first, second, given = "列一下蓝鲸的二层清单", "which blue whales live on the second floor", "the pink elephants of the third floor"
	post := func(w who, fields map[string]string) {
		t.Helper()
		r.must(t, w, http.MethodPost, "/v1/intents/examples", "application/json", string(jsonOf(fields)), nil)
	}
	for session, text := range map[string]string{"S1": first, "S2": second} {
		id := r.ask(t, u1(session), user(text)).header.Get("X-Strata-Request-Id")
		r.written(t)
		post(who{}, map[string]string{"request_id": id, "intent": "data"})
	}
	post(who{}, map[string]string{"text": given, "intent": "data"})
	other := who{user: "U2"}
	r.restart(t)
	for _, text := range []string{first, second, given} {
		r.wantExample(t, other, "data", text)
	}
	if status, _ := r.control(t, who{}, http.MethodDelete, "/v1/sessions/S1?user=U1", "", ""); status != http.StatusOK {
		t.Errorf("deleting the session: %d", status)
	}
	r.wantNoExample(t, other, first)
	r.wantExample(t, other, "data", second)
	if _, export := r.control(t, who{}, http.MethodGet, "/v1/users/U1", "", ""); !strings.Contains(export, second) || !strings.Contains(export, `"intent_examples":[{`) {
		t.Errorf("the export: %s", export)
	}
	r.must(t, who{}, http.MethodDelete, "/v1/users/U1", "", "", nil)
	r.wantNoExample(t, other, second)
	r.wantExample(t, other, "data", given)
	r.wantNowhere(t, who{}, second, "/v1/intents/examples", "/v1/intents/examples.jsonl", "/v1/receipts/last?user="+url.QueryEscape("U2"))
}

// What the record does not hold is not kept by the way of an example either.
func TestIntentExamplesKeepToTheRecord(t *testing.T) {
	r := newRig(t, nil)
	id := func(a reply) string { return a.header.Get("X-Strata-Request-Id") }
	readOnly := u1("S1")
	readOnly.header = http.Header{"X-Strata-Mode": {"read-only"}}
	for what, request := range map[string]string{
		"read-only":      id(r.ask(t, readOnly, user("My locker code is ZEBRA-41."))),
		"off the record": id(r.ask(t, u1("S1"), user("Off the record: my locker code is ZEBRA-41."))),
		"nobody":         id(r.ask(t, who{}, user("My locker code is ZEBRA-41."))),
		"unknown":        "req_none",
	} {
		r.written(t)
		status, text := r.control(t, who{}, http.MethodPost, "/v1/intents/examples", "application/json", string(jsonOf(map[string]string{"request_id": request, "intent": "rag"})))
		if status/100 != 4 || !strings.Contains(text, "as text") || !strings.HasPrefix(text, `{"error":{"message":`) {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
	request := id(r.ask(t, u1("S2"), user("Is 13800138000 the number of the help desk?")))
	r.written(t)
	var e fixed
	r.must(t, who{}, http.MethodPost, "/v1/intents/examples", "application/json", string(jsonOf(map[string]string{"request_id": request, "intent": "rag"})), &e)
	if e.Text != "Is [redacted:phone] the number of the help desk?" {
		t.Errorf("kept: %q", e.Text)
	}
	r.wantNowhere(t, who{}, zebra, "/v1/intents/examples")
}
