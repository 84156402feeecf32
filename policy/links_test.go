package policy_test

import (
	"reflect"
	"strings"
	"testing"

	"strata/policy"
	"strata/stores"
)

var linkKeys = policy.NewKeys([]byte("0123456789abcdef0123456789abcdef"))

func links(t testing.TB, c policy.Caller, lines ...string) stores.Links {
	t.Helper()
	id := identity(t, policy.IdentityConfig{})
	req := parsed(t, said(t, lines...))
	return linkKeys.Links(c, req, id.Converse(req, c))
}

var u1 = policy.Caller{Tenant: "T1", User: "U1"}

func TestTurnKey(t *testing.T) {
	base := links(t, u1, "system: s", "user: a", "assistant: b", "user: c").Turn
	if base == "" {
		t.Fatal("no key")
	}
	same := map[string][]string{
		"C087 retry":           {"system: s", "user: a", "assistant: b", "user: c"},
		"C056 loop, call":      {"system: s", "user: a", "assistant: b", "user: c", "call: ", "tool: {}"},
		"C056 loop, next call": {"system: s", "user: a", "assistant: b", "user: c", "call: ", "tool: {}", "call: ", "tool: {}"},
		"regenerated":          {"system: s", "user: a", "assistant: b", "user: c", "assistant: d"},
	}
	for name, lines := range same {
		if got := links(t, u1, lines...).Turn; got != base {
			t.Errorf("%s: another turn", name)
		}
	}
	other := map[string][]string{
		"other words":     {"system: s", "user: a", "assistant: b", "user: C"},
		"other history":   {"system: s", "user: a", "assistant: B", "user: c"},
		"other system":    {"system: S", "user: a", "assistant: b", "user: c"},
		"next turn":       {"system: s", "user: a", "assistant: b", "user: c", "assistant: d", "user: c"},
		"without history": {"system: s", "user: c"},
	}
	for name, lines := range other {
		if got := links(t, u1, lines...).Turn; got == base {
			t.Errorf("%s: the same turn", name)
		}
	}
	callers := map[string]policy.Caller{
		"C066 other user":   {Tenant: "T1", User: "U2"},
		"C066 other tenant": {Tenant: "T2", User: "U1"},
		"C066 space":        {Tenant: "T1", User: "U1 "},
		"shifted":           {Tenant: "T", User: "1U1"},
		"named session":     {Tenant: "T1", User: "U1", Session: "S1", Named: true},
	}
	for name, c := range callers {
		if got := links(t, c, "system: s", "user: a", "assistant: b", "user: c").Turn; got == base {
			t.Errorf("%s: the same turn", name)
		}
	}
	linked := policy.Caller{Tenant: "T1", User: "U1", Session: "ses_1"}
	if got := links(t, linked, "system: s", "user: a", "assistant: b", "user: c").Turn; got != base {
		t.Error("a session that was found by linking changes the key")
	}
}

func TestThinTurnKey(t *testing.T) {
	s1 := policy.Caller{Tenant: "T1", User: "U1", Session: "S1", Named: true}
	s2 := s1
	s2.Session = "S2"
	a := links(t, s1, "system: today is Monday", "user: go on")
	b := links(t, s1, "system: today is Tuesday", "user: go on")
	if !a.Thin || a.Turn != b.Turn {
		t.Error("a thin client's key is more than its one message")
	}
	loop := links(t, s1, "system: today is Monday", "user: go on", "call: ", "tool: {}")
	if loop.Thin || loop.Turn != a.Turn {
		t.Error("the second call of a thin client's tool loop is another turn")
	}
	if links(t, s2, "user: go on").Turn == a.Turn || links(t, s1, "user: 继续").Turn == a.Turn {
		t.Error("other session or words, same key")
	}
}

func TestPairs(t *testing.T) {
	c := u1
	got := links(t, c,
		"system: s",
		"user: q0", "assistant: a0",
		"user: q1", "assistant: a1",
		"user: "+ragNew+"\n年假有几天？", "call: one moment", "tool: {}", "assistant: <think>hm</think>\n15  天",
		"user: cut off", "call: ", "tool: {}",
		"user: q3\n\n"+injected, "assistant: ", "assistant: a3",
		"user: q4", "assistant:   a4 \n",
		"user: now").Pairs
	want := []string{
		linkKeys.Pair(c, "q4", "a4"), linkKeys.Pair(c, "q3", "a3"),
		linkKeys.Pair(c, "年假有几天？", "15 天"), linkKeys.Pair(c, "q1", "a1"),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// What is recorded of a request must be found again in the history of the
// next one.
func TestPairOfRecordedExchange(t *testing.T) {
	id := identity(t, policy.IdentityConfig{})
	picture := "![x](data:image/png;base64," + strings.Repeat("iVBORw0KGgo1", 4000) + ")"
	tests := []struct{ name, asked, shown, answer, back string }{
		{"plain", "hi", "hi", "hello", "hello"},
		{"C064 ends trimmed", "hi", "hi  ", "hello\n", "hello"},
		{"white space of all kinds", "a b c\nd", " a\tb\r\n\n c  d", "1　2 3\n\n- 4", "1 2　　3\r\n-\t4"},
		{"wrapped once", ragNew + "\nhi", "hi", "hello", "hello"},
		{"thinking left out", "hi", "hi", "<think>\nhm\n</think>\n\nhello", "hello"},
		{"thinking as details", "hi", "hi", "hello", "<details type=\"reasoning\" done=\"true\">\n<summary>Thought</summary>\n> hm\n</details>\nhello"},
		{"picture", "看 " + picture, "看 " + picture, picture, picture},
		{"long", strings.Repeat("长 ", 50000), strings.Repeat("长 ", 50000), strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first := id.Converse(parsed(t, said(t, "user: "+tt.asked)), u1)
			key := linkKeys.Pair(u1, first.Words, tt.answer)
			next := links(t, u1, "user: "+tt.shown, "assistant: "+tt.back, "user: and?")
			if key == "" || len(next.Pairs) != 1 || next.Pairs[0] != key {
				t.Errorf("recorded %q, found %q", key, next.Pairs)
			}
		})
	}
}

func TestPairKeyIsOfBothSides(t *testing.T) {
	seen := map[string]string{}
	for name, key := range map[string]string{
		"ab|c": linkKeys.Pair(u1, "ab", "c"), "a|bc": linkKeys.Pair(u1, "a", "bc"), "abc|c": linkKeys.Pair(u1, "abc", "c"),
		"U2": linkKeys.Pair(policy.Caller{Tenant: "T1", User: "U2"}, "ab", "c"), "T2": linkKeys.Pair(policy.Caller{Tenant: "T2", User: "U1"}, "ab", "c"),
		"secret": policy.NewKeys([]byte("other")).Pair(u1, "ab", "c"),
	} {
		if other, dup := seen[key]; dup || key == "" {
			t.Errorf("%s and %s have the key %q", name, other, key)
		}
		seen[key] = name
	}
	for _, empty := range []string{linkKeys.Pair(u1, " ", "a"), linkKeys.Pair(u1, "a", "\n"), linkKeys.Pair(u1, "a", "<think>never ends"), linkKeys.Pair(policy.Caller{Tenant: "T1"}, "a", "b")} {
		if empty != "" {
			t.Errorf("a key for nothing: %q", empty)
		}
	}
}

func TestNoLinksWithoutUser(t *testing.T) {
	for _, c := range []policy.Caller{{Tenant: "T1"}, {User: "U1"}} {
		if l := links(t, c, "user: a", "assistant: b", "user: c"); l.Turn != "" || l.Pairs != nil {
			t.Errorf("%+v", l)
		}
	}
}

func TestKeysAtOnce(t *testing.T) {
	want := linkKeys.Pair(u1, "a", "b")
	done := make(chan bool)
	for range 8 {
		go func() {
			ok := true
			for range 200 {
				ok = ok && linkKeys.Pair(u1, "a", "b") == want
			}
			done <- ok
		}()
	}
	for range 8 {
		if !<-done {
			t.Error("another key")
		}
	}
}

func benchmarkRequest(b *testing.B, size int) {
	lines := []string{"system: You are a helpful assistant of a small company."}
	for n := 0; n < size; n += 400 {
		lines = append(lines, "user: "+strings.Repeat("how many days of leave do I have? ", 6), "assistant: "+strings.Repeat("You have fifteen days of leave. ", 6))
	}
	lines = append(lines, "user: and how many does a colleague with ten years have?")
	id := identity(b, policy.IdentityConfig{Loopback: true})
	req := parsed(b, said(b, lines...))
	headers := sent{"x-strata-user": "U1", "x-strata-session": "S1"}
	b.SetBytes(int64(len(req.Body)))
	b.ReportAllocs()
	for b.Loop() {
		c := id.Identify(headers.header, req)
		v := id.Converse(req, c)
		linkKeys.Links(c, req, v)
	}
}

func BenchmarkRequest4K(b *testing.B)   { benchmarkRequest(b, 4<<10) }
func BenchmarkRequest100K(b *testing.B) { benchmarkRequest(b, 100<<10) }
