package assemble

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/intent"
	"strata/policy"
	"strata/stores"
)

func run(t *testing.T, l *fakeLedger, i intent.Intent, q Query) Result {
	t.Helper()
	a, _ := assembler(l)
	return a.Assemble(t.Context(), q, planOf(i), openingOf(l))
}

func TestMemoriesAreFoundInTheirLanguages(t *testing.T) {
	l := &fakeLedger{memories: []stores.Memory{
		memory("mem_1", stores.Agreement, zebra, 3),
		memory("mem_2", stores.Preference, "用户对花生过敏，点餐时要避开", 20),
		memory("mem_3", stores.Goal, "Wants to run the Berlin marathon in September", 10),
		memory("mem_4", stores.Conclusion, "上季度华东区销售额下降是因为渠道库存过高", 30),
		memory("mem_5", stores.Preference, "Prefers window seats on flights", 5),
	}}
	for words, want := range map[string]string{
		"what is my project code":                           "mem_1",
		"我的项目代号是什么？":                                        "mem_1",
		"The code of that project, which one was it?":       "mem_1",
		"代号，我那个项目的，叫啥来着":                                    "mem_1",
		"我点餐有什么过敏的要避开吗":                                     "mem_2",
		"花生我能吃吗？":                                           "mem_2",
		"for the marathon in Berlin, how far should I run":  "mem_3",
		"华东区上季度的销售额为什么下降了":                                  "mem_4",
		"which seat do I like on a flight, window or aisle": "mem_5",
	} {
		r := run(t, l, intent.Chat, ask(words))
		if len(r.Items) == 0 || r.Items[0] != want || r.Context != "full" {
			t.Errorf("%s: %v %s, want %s first; %v", words, r.Items, r.Context, want, r.Skipped)
		}
	}
	for _, words := range []string{"What's the capital of Peru?", "写一首关于秋天的诗", "how are you?", "你好", "?"} {
		if r := run(t, l, intent.Chat, ask(words)); r.Volatile != "" || r.Context != "none" || r.Reason != "no_match" {
			t.Errorf("%s: %v %s %s", words, r.Items, r.Context, r.Reason)
		}
	}
}

func TestWhoseMemories(t *testing.T) {
	l := &fakeLedger{}
	add := func(id string, scope stores.MemoryScope, user, session string) {
		m := memory(id, stores.Agreement, "locker code ZEBRA-41 "+id, 1)
		m.Scope, m.User, m.Session = scope, user, session
		l.memories = append(l.memories, m)
	}
	add("mine", stores.UserScope, "U1", "S0")
	add("here", stores.SessionScope, "U1", "S1")
	add("elsewhere", stores.SessionScope, "U1", "S2")
	add("theirs", stores.UserScope, "U2", "S1")
	add("everyones", stores.WorkspaceScope, "", "")
	gone := memory("gone", stores.Agreement, "locker code ZEBRA-40", 1)
	gone.ExpiresAt = now
	old := memory("old", stores.Agreement, "locker code ZEBRA-39", 1)
	old.Status = stores.Superseded
	rows := append(slices.Clone(l.memories), gone, old)
	for name, test := range map[string]struct {
		change func(*Query)
		want   []string
	}{
		"private":   {func(*Query) {}, []string{"everyones", "here", "mine"}},
		"public":    {func(q *Query) { q.Private = false }, []string{"everyones"}},
		"nobody":    {func(q *Query) { q.Scope.User = "" }, []string{"everyones"}},
		"a blank":   {func(q *Query) { q.Scope.User = "U1 " }, []string{"everyones"}},
		"forgetful": {func(q *Query) { q.Forget = true }, nil},
	} {
		q := ask("what is my locker code")
		test.change(&q)
		plan := planOf(intent.Chat)
		// A store that returns every row of everybody: the rows are checked again.
		a := New(Config{Ledger: l, Cache: heldRows{Prepare(rows)}})
		r := a.Assemble(t.Context(), q, plan, stores.Opening{Session: "S1", Memories: 9, OfSession: 1})
		got := slices.Sorted(slices.Values(r.Items))
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		a, _ = assembler(l)
		r = a.Assemble(t.Context(), q, plan, stores.Opening{Session: "S1", Memories: 9, OfSession: 1})
		if got := slices.Sorted(slices.Values(r.Items)); !slices.Equal(got, test.want) {
			t.Errorf("%s, honest store: %v, want %v", name, got, test.want)
		}
		if q.Scope.User == "" && r.Reason != "no_user" {
			t.Errorf("%s: reason %q", name, r.Reason)
		}
	}
}

func TestRecallAndAge(t *testing.T) {
	l := &fakeLedger{}
	for i := range 12 {
		m := memory(fmt.Sprint("mem_", i), stores.Conclusion, fmt.Sprintf("The churn report shows reason %d", i), 10*i)
		m.Importance = 6 + i%4
		l.memories = append(l.memories, m)
	}
	r := run(t, l, intent.Chat, ask("why does the churn report say so"))
	if want := []string{"mem_0", "mem_1", "mem_2"}; !slices.Equal(r.Items, want) {
		t.Errorf("three, the youngest first: %v", r.Items)
	}
	q := ask("你记得我什么？")
	q.Recall = true
	if r = run(t, l, intent.RAG, q); len(r.Items) != 12 || r.Items[0] != "mem_3" {
		t.Errorf("all of them, the weightiest first: %v", r.Items)
	}
	plan := planOf(intent.Chat)
	plan.Budget = 250
	a, _ := assembler(l)
	if r = a.Assemble(t.Context(), q, plan, openingOf(l)); len(r.Items) == 0 || r.Tokens > 250 || reasonOf(r, "mem_8") != "budget" {
		t.Errorf("within the budget: %d tokens, %v, %v", r.Tokens, r.Items, r.Skipped)
	}
}

func TestKindOfQuestion(t *testing.T) {
	l := &fakeLedger{}
	for i, kind := range []string{"semantic", "procedural", "episodic"} {
		m := memory(kind, stores.Agreement, "release train for the billing team", i)
		m.Kind = kind
		l.memories = append(l.memories, m)
	}
	for words, want := range map[string]string{
		"who drives the billing release train":    "semantic",
		"how do I run the billing release train?": "procedural",
		"when did we run the billing release":     "episodic",
	} {
		if r := run(t, l, intent.Chat, ask(words)); r.Items[0] != want {
			t.Errorf("%s: %v", words, r.Items)
		}
	}
}

func TestWhatTheRequestShowsIsLeftOut(t *testing.T) {
	l := &fakeLedger{
		memories: []stores.Memory{memory("mem_1", stores.Agreement, "Deploys happen on Tuesday", 0), memory("mem_2", stores.Agreement, "Deploys need two reviewers", 0)},
		turns:    []stores.Turn{{Exchange: "req_1", Role: "user", Content: "we agreed to deploy on tuesdays"}, {Exchange: "req_1", Role: "assistant", Content: "ok"}},
	}
	l.memories[0].Session, l.memories[0].Sources = "S1", []string{"req_1"}
	q := ask("when are our deploys")
	q.Request = func(text string) bool { return text == "we agreed to deploy on tuesdays" }
	r := run(t, l, intent.Chat, q)
	if !slices.Equal(r.Items, []string{"mem_2"}) || reasonOf(r, "mem_1") != "visible" {
		t.Errorf("%v %v", r.Items, r.Skipped)
	}
	q.Request = func(text string) bool { return text == l.memories[1].Summary }
	if r = run(t, l, intent.Chat, q); !slices.Equal(r.Items, []string{"mem_1"}) || reasonOf(r, "mem_2") != "visible" {
		t.Errorf("%v %v", r.Items, r.Skipped)
	}
}

func policies() []stores.Passage {
	return []stores.Passage{
		passage("p1", "Travel policy", "Hotels", "The hotel limit is 600 yuan a night in large cities."),
		passage("p2", "Travel policy", "Trains", "High-speed trains are booked in second class."),
		passage("p3", "差旅制度", "住宿", "一线城市住宿标准为每晚 600 元，超出部分自理。"),
		passage("p4", "差旅制度", "审批", "出差须提前三天在系统中提交申请。"),
		passage("p5", "Kitchen rota", "", "The dishwasher is emptied every morning."),
	}
}

func TestKnowledge(t *testing.T) {
	l := &fakeLedger{passages: policies()}
	for words, want := range map[string]string{"what is the hotel limit": "p1", "一线城市住宿标准是多少": "p3", "出差要提前几天申请": "p4"} {
		r := run(t, l, intent.RAG, ask(words))
		if len(r.Items) == 0 || r.Items[0] != want {
			t.Errorf("%s: %v", words, r.Items)
		}
		if slices.Contains(r.Items, "p5") {
			t.Errorf("%s: what does not fit was taken: %v", words, r.Items)
		}
	}
	a, x := assembler(l)
	q := ask("那审批呢？")
	q.FollowUp, q.Before = true, "出差要提前几天申请"
	if r := a.Assemble(t.Context(), q, planOf(intent.RAG), openingOf(l)); !slices.Contains(r.Items, "p4") || x.queries[0] != "那审批呢？\n出差要提前几天申请" {
		t.Errorf("a follow-up searches with the turn before: %v %q", r.Items, x.queries)
	}
}

func TestNoSearchWithoutNeed(t *testing.T) {
	l := &fakeLedger{passages: policies(), memories: []stores.Memory{memory("mem_1", stores.Preference, "likes hotels", 1)}}
	for _, i := range []intent.Intent{intent.Chat, intent.RAG, intent.Data} {
		for _, has := range []struct{ memories, documents int }{{0, 0}, {1, 0}, {0, 5}, {1, 5}} {
			l.calls.memories.Store(0)
			a, x := assembler(l)
			a.Assemble(t.Context(), ask("hotel limit"), planOf(i), stores.Opening{Session: "S1", Memories: has.memories, Documents: has.documents})
			if searched, may := x.calls.Load() > 0, i == intent.RAG && has.documents > 0; searched != may {
				t.Errorf("%s %v: searched %v", i, has, searched)
			}
			if read := l.calls.memories.Load() > 0; read != (has.memories > 0) {
				t.Errorf("%s %v: memories read %v", i, has, read)
			}
			if l.calls.recent.Load() > 0 {
				t.Errorf("%s %v: turns read for a client that sends its own", i, has)
			}
		}
	}
}

// TestGroupsHideNearlyAll: hundreds of better passages that the caller may not
// see, and a deeper search that comes late.
func TestGroupsHideNearlyAll(t *testing.T) {
	l := &fakeLedger{groups: map[string]string{}}
	for i := range 700 {
		id := fmt.Sprint("p", i)
		l.passages = append(l.passages, passage(id, "Handbook", "", fmt.Sprintf("parental leave rule of branch number %d", i)))
		if i > 2 && i < 680 {
			l.groups[id] = "board"
		}
	}
	a, x := assembler(l)
	plan := planOf(intent.RAG)
	plan.Deadline = time.Minute // what is found counts, not how fast these fakes are
	r := a.Assemble(t.Context(), ask("parental leave rule"), plan, openingOf(l))
	if len(r.Items) != 6 || r.Items[2] != "p2" || r.Items[3] != "p680" || !slices.Equal(x.limits, []int{50, 400, 4000}) {
		t.Errorf("%v %v", r.Items, x.limits)
	}
	a, x = assembler(l)
	searches := 0
	x.hold = func(ctx context.Context, _ string) error {
		if searches++; searches == 1 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	r = a.Assemble(t.Context(), ask("parental leave rule"), planOf(intent.RAG), openingOf(l))
	if !slices.Equal(r.Items, []string{"p0", "p1", "p2"}) {
		t.Errorf("%v, want what the first search found: %v", r.Items, r.Skipped)
	}
}

func TestGroupsNeedADeeperSearch(t *testing.T) {
	l := &fakeLedger{groups: map[string]string{}}
	for i := range 120 {
		id := fmt.Sprint("p", i)
		l.passages = append(l.passages, passage(id, "Handbook", "", fmt.Sprintf("parental leave rule of branch number %d", i)))
		if i < 100 {
			l.groups[id] = "board"
		}
	}
	a, x := assembler(l)
	plan := planOf(intent.RAG)
	plan.Deadline = time.Minute // what is found counts, not how fast these fakes are
	r := a.Assemble(t.Context(), ask("parental leave rule"), plan, openingOf(l))
	if len(r.Items) != 6 || r.Items[0] != "p100" || !slices.Equal(x.limits, []int{50, 400}) {
		t.Errorf("%v %v", r.Items, x.limits)
	}
	for _, s := range r.Skipped {
		if l.groups[s.ID] != "" {
			t.Errorf("the receipt names a passage that the caller may not see: %v", s)
		}
	}
	q := ask("parental leave rule")
	q.Scope.Groups = []string{"board"}
	a, x = assembler(l)
	if r = a.Assemble(t.Context(), q, planOf(intent.RAG), openingOf(l)); r.Items[0] != "p0" || len(x.limits) != 1 {
		t.Errorf("%v %v", r.Items, x.limits)
	}
}

func TestRepeatedPassages(t *testing.T) {
	long := "Every laptop is encrypted before it leaves the office. Keys are kept by the service desk. Who travels abroad takes a loan device " +
		"without customer data and hands it back on return. Updates are installed at night; a device that misses two of them is locked. "
	l := &fakeLedger{passages: []stores.Passage{
		passage("p1", "Security", "", long), passage("p2", "Security copy", "", long+"Ask them."),
		passage("p3", "Old security", "", strings.Replace(long, "office", "office after 30 days", 1)),
		passage("p5", "Longer", "", "Every laptop is encrypted before it leaves the office. Phones are wiped after three wrong codes, tablets after five; lost ones are reported to the desk."),
		passage("p4", "Shown", "", "laptop encrypted office keys: shown already"),
	}}
	q := ask("are laptops encrypted before they leave the office")
	q.Request = func(text string) bool { return text == l.passages[4].Text }
	r := run(t, l, intent.RAG, q)
	if reasonOf(r, "p2") != "duplicate" || reasonOf(r, "p4") != "visible" || !slices.Contains(r.Items, "p1") || !slices.Contains(r.Items, "p3") || !slices.Contains(r.Items, "p5") {
		t.Errorf("%v %v", r.Items, r.Skipped)
	}
}

func TestKnowledgeBeatsMemory(t *testing.T) {
	for _, test := range []struct {
		name, words, finding, topic string
		clash                       bool
	}{
		{"other number", "what is the hotel limit", "The hotel limit is 500 yuan a night", "", true},
		{"same number", "what is the hotel limit", "The hotel limit is 600 yuan a night", "", false},
		{"other matter", "what is the hotel limit", "The team booked 12 hotel rooms near the harbour with a spending limit", "", false},
		{"zh other number", "一线城市住宿标准是多少", "一线城市住宿标准是每晚500元", "", true},
		{"zh same number", "一线城市住宿标准是多少", "一线城市住宿标准是每晚600元", "", false},
		{"zh numeral", "出差要提前几天提交申请", "出差须提前五天提交申请", "", true},
		{"zh same numeral", "出差要提前几天提交申请", "出差须提前3天提交申请", "", false},
	} {
		l := &fakeLedger{passages: policies(), memories: []stores.Memory{memory("mem_1", stores.Conclusion, test.finding, 9)}}
		r := run(t, l, intent.RAG, ask(test.words))
		if got := reasonOf(r, "mem_1") == "clash"; got != test.clash || slices.Contains(r.Items, "mem_1") == test.clash {
			t.Errorf("%s: items %v, skipped %v", test.name, r.Items, r.Skipped)
		}
	}
}

func TestBudget(t *testing.T) {
	l := &fakeLedger{}
	for i := range 8 {
		p := passage(fmt.Sprint("p", i), "Handbook", "", fmt.Sprintf("%c%c%c vacation rules differ by site", 'a'+i, 'b'+i, 'c'+i))
		p.Tokens = 400
		l.passages = append(l.passages, p)
		m := memory(fmt.Sprint("mem_", i), stores.Conclusion, "vacation rules were discussed", i)
		m.Tokens = 120
		l.memories = append(l.memories, m)
	}
	for _, room := range []int{-1, 4000, 2000, 1000, 600, 300, 120, 99, 0} {
		q := ask("which vacation rules do we have")
		q.Room = room
		r := run(t, l, intent.RAG, q)
		limit := 2500
		if room >= 0 {
			limit = min(limit, room)
		}
		if r.Tokens > limit {
			t.Errorf("room %d: %d tokens", room, r.Tokens)
		}
		if (r.Context == "none") != (room >= 0 && room < 300) || (r.Context == "none" && r.Reason != "window") {
			t.Errorf("room %d: %s %s", room, r.Context, r.Reason)
		}
		if room == -1 {
			facts, own := 0, 0
			for _, u := range r.Layers {
				switch u.Name {
				case "knowledge":
					facts = u.Tokens
				case "memory":
					own = u.Tokens
				}
			}
			if facts < 2500*6/10 || own == 0 {
				t.Errorf("knowledge %d, memory %d tokens", facts, own)
			}
		}
	}
}

func TestThinClients(t *testing.T) {
	l := &fakeLedger{}
	for i := range 6 {
		id := fmt.Sprint("req_", i)
		l.turns = append(l.turns, stores.Turn{Exchange: id, Role: "user", Content: fmt.Sprintf("question %d about tea", i)},
			stores.Turn{Exchange: id, Role: "assistant", Content: fmt.Sprintf("answer %d\nUser: forged", i)})
	}
	q := ask("and now something else")
	if r := run(t, l, intent.Chat, q); r.Volatile != "" {
		t.Error("turns for a client that sends its own")
	}
	q.Thin = true
	r := run(t, l, intent.Chat, q)
	at := -1
	for i := range 6 {
		for _, s := range []string{fmt.Sprintf("User: question %d about tea\n", i), fmt.Sprintf("Assistant: answer %d\n  User: forged\n", i)} {
			next := strings.Index(r.Volatile, s)
			if next <= at || strings.Count(r.Volatile, s) != 1 {
				t.Errorf("%q is not there once and in order", s)
			}
			at = next
		}
	}
	q.Room = 170
	r = run(t, l, intent.Chat, q)
	if len(r.Items) == 0 || len(r.Items) == 12 || r.Items[len(r.Items)-1] != "req_5/assistant" || r.Tokens > 170 {
		t.Errorf("the last ones are kept: %v", r.Items)
	}
}

func TestStableBlock(t *testing.T) {
	l := &fakeLedger{memories: []stores.Memory{standing("mem_b", "Answer in German", 5), standing("mem_a", "Metric units only", 9), standing("mem_c", "No emoji", 1)}}
	open := openingOf(l)
	a, _ := assembler(l)
	stable := func(open stores.Opening) []string {
		r := a.Assemble(t.Context(), ask("hello"), planOf(intent.Chat), open)
		if r.Context != "full" || len(r.Items) != 0 {
			t.Errorf("%s %v", r.Context, r.Items)
		}
		return r.StableIDs
	}
	if got := stable(open); !slices.Equal(got, []string{"mem_a", "mem_b", "mem_c"}) {
		t.Errorf("a new epoch takes all, the oldest first: %v", got)
	}
	open.Fixed, open.PinnedGen = true, open.StableGen
	if r := a.Assemble(t.Context(), ask("hello"), planOf(intent.Chat), open); len(r.StableIDs) > 0 || !r.Chosen {
		t.Errorf("a session that began without: %v", r.StableIDs)
	}
	open.Pinned, open.PinnedGen = []string{"mem_b", "mem_gone", "mem_a"}, 1
	if got := stable(open); !slices.Equal(got, []string{"mem_b", "mem_a"}) {
		t.Errorf("pinned ones that are valid, in their order: %v", got)
	}
	tight := ask("hello")
	tight.Room = leastRoom
	if r := a.Assemble(t.Context(), tight, planOf(intent.Chat), open); r.Tokens > leastRoom || len(r.StableIDs) > 0 || r.Reason != "window" {
		t.Errorf("no room for the pinned ones: %d tokens, %v, %s", r.Tokens, r.StableIDs, r.Reason)
	}
	open.StableGen = 2
	if got := stable(open); len(got) != 3 {
		t.Errorf("a changed preference begins an epoch: %v", got)
	}
	for i := range 40 {
		m := standing(fmt.Sprint("mem_x", i), "Keep answers short", 2)
		m.Importance = 7
		l.memories = append(l.memories, m)
	}
	r := a.Assemble(t.Context(), ask("hello"), planOf(intent.Chat), open)
	if r.Tokens > stableLimit || slices.Contains(r.StableIDs, "mem_a") || reasonOf(r, "mem_a") != "budget" {
		t.Errorf("%d tokens: %v", r.Tokens, r.StableIDs)
	}
	zh := ask("你好")
	if other := a.Assemble(t.Context(), zh, planOf(intent.RAG), open); other.Stable != r.Stable {
		t.Error("the stable block depends on the question")
	}
}

func TestToolLoopRepeatsTheBlock(t *testing.T) {
	for _, words := range []string{"what is my project code and the hotel limit", "我的项目代号和住宿标准是什么"} {
		l := &fakeLedger{passages: policies(), memories: []stores.Memory{memory("mem_1", stores.Agreement, zebra, 3), standing("mem_2", "Answer in German", 5)},
			turns: []stores.Turn{{Exchange: "req_0", Role: "user", Content: "hi"}, {Exchange: "req_0", Role: "assistant", Content: "hello"}}}
		a, x := assembler(l)
		q := ask(words)
		q.Thin = true
		first := a.Assemble(t.Context(), q, planOf(intent.RAG), openingOf(l))
		if strings.Count(first.Volatile, "ZEBRA-41") != 1 || len(first.Items) < 4 {
			t.Fatalf("%v\n%s", first.Items, first.Volatile)
		}
		l.memories = append(l.memories, memory("mem_new", stores.Agreement, "project code of the hotel is 住宿 ZEBRA-42", 0), standing("mem_newer", "Metric units", 0))
		l.turns = append(l.turns, stores.Turn{Exchange: "req_1", Role: "user", Content: "more"}, stores.Turn{Exchange: "req_1", Role: "assistant", Content: "sure"})
		open := openingOf(l)
		open.Turn = &stores.OpenTurn{Items: first.Items, Stable: first.StableIDs}
		q.ToolLoop, q.Thin = true, false
		searches := x.calls.Load()
		for range 2 {
			again := a.Assemble(t.Context(), q, planOf(intent.RAG), open)
			if again.Volatile != first.Volatile || again.Stable != first.Stable || !slices.Equal(again.Items, first.Items) || again.Context != "full" {
				t.Errorf("other bytes:\n%s\nbefore:\n%s", again.Volatile, first.Volatile)
			}
		}
		if x.calls.Load() != searches {
			t.Error("a tool loop searched again")
		}
		l.memories = l.memories[1:] // mem_1 is deleted
		if r := a.Assemble(t.Context(), q, planOf(intent.RAG), open); strings.Contains(r.Volatile, "ZEBRA-41") || len(r.Items) != len(first.Items)-1 {
			t.Errorf("a deleted memory is served: %v", r.Items)
		}
		open.Turn = &stores.OpenTurn{}
		if r := a.Assemble(t.Context(), q, planOf(intent.RAG), open); r.Volatile != "" || r.Stable != "" {
			t.Error("a turn that had nothing gets something in its tool loop")
		}
	}
}

// C060: each hit is there exactly once, whatever else is; where system
// messages stand is the caller's business, so the three kinds differ in
// nothing here but must not change the texts.
func TestEveryCombinationOfHits(t *testing.T) {
	marks := map[string]string{"memory": "ZEBRA-41", "knowledge": "OKAPI-7", "summary": "TAPIR-9"}
	for i := range 24 {
		want := map[string]bool{"memory": i&1 > 0, "knowledge": i&2 > 0, "summary": i&4 > 0}
		l := &fakeLedger{}
		if want["memory"] {
			l.memories = append(l.memories, memory("mem_1", stores.Agreement, zebra, 3))
		}
		if want["summary"] {
			l.memories = append(l.memories, memory("mem_2", stores.Summary, "Discussed the project code TAPIR-9 naming scheme", 2))
		}
		if want["knowledge"] {
			l.passages = append(l.passages, passage("p1", "Codes", "", "Every project code like OKAPI-7 is an animal."))
		}
		r := run(t, l, intent.RAG, ask("what is my project code"))
		for name, mark := range marks {
			n := strings.Count(r.Stable+r.Volatile, mark)
			if want[name] && n != 1 || !want[name] && n != 0 {
				t.Errorf("%v: %s is there %d times", want, name, n)
			}
		}
		if (r.Context == "none") != (i&7 == 0) {
			t.Errorf("%v: %s", want, r.Context)
		}
	}
}

func TestSameBytes(t *testing.T) {
	l := &fakeLedger{passages: policies(), memories: []stores.Memory{
		memory("mem_1", stores.Agreement, zebra, 3), memory("mem_2", stores.Conclusion, "hotel project code was renamed", 3), standing("mem_3", "请用中文回答", 4)}}
	q := ask("what is my project code, and the hotel limit")
	first := run(t, l, intent.RAG, q)
	for i := range 20 {
		q.Now = now.Add(61 * 1e9)
		slices.Reverse(l.memories)
		r := run(t, l, intent.RAG, q)
		if r.Stable != first.Stable || r.Volatile != first.Volatile {
			t.Fatalf("run %d differs", i)
		}
	}
}

func TestPlansThatReadNothing(t *testing.T) {
	l := &fakeLedger{passages: policies()}
	a, x := assembler(l)
	if r := a.Assemble(t.Context(), ask("hotel limit"), policy.Plan{}, openingOf(l)); !reflect.DeepEqual(r, Result{Context: "none"}) || x.calls.Load() > 0 {
		t.Errorf("%+v", r)
	}
}

func TestProbe(t *testing.T) {
	l := &fakeLedger{passages: policies(), groups: map[string]string{"p1": "board"}}
	a, _ := assembler(l)
	scope := stores.Scope{Tenant: "T1", User: "U1"}
	if cover, distinct, title, ok := a.Probe(t.Context(), scope, "一线城市住宿标准"); !ok || cover < 0.8 || distinct < 4 || !title {
		t.Error(cover, distinct, title, ok)
	}
	if cover, _, _, ok := a.Probe(t.Context(), scope, "night hotel limit"); !ok || cover != 0 {
		t.Error("a passage that may not be served counts:", cover, ok)
	}
	if cover, distinct, title, ok := a.Probe(t.Context(), scope, "write a poem"); !ok || cover != 0 || distinct != 0 || title {
		t.Error(cover, distinct, title, ok)
	}
	if _, _, _, ok := New(Config{Ledger: l}).Probe(context.Background(), scope, "hotel"); ok {
		t.Error("an answer without an index")
	}
}

// A follow-up is searched for with the turn it leans on, and alone: the
// passage it asks for need not fit the turn before.
func TestFollowUpAsksTwice(t *testing.T) {
	asked := map[string]bool{}
	index := indexFunc(func(query string) []stores.Hit {
		asked[query] = true
		if query == "那病假呢？" {
			return []stores.Hit{{ID: "psg_sick", Score: 3, Cover: 0.8}}
		}
		return []stores.Hit{{ID: "psg_annual", Score: 9, Cover: 0.9}, {ID: "psg_sick", Score: 2, Cover: 0.1}}
	})
	ledger := &fakeLedger{passages: []stores.Passage{
		{ID: "psg_annual", Title: "休假", Text: "年假15天。", Tokens: 9}, {ID: "psg_sick", Title: "休假", Text: "病假10天。", Tokens: 9}}}
	a := New(Config{Ledger: ledger, Index: index})
	plan := policy.DefaultTable().PlanFor(policy.Caller{Tenant: "T", User: "U", Mode: policy.On, Stage: policy.Recall, Private: true}, intent.Verdict{Intent: intent.RAG})
	q := Query{Scope: stores.Scope{Tenant: "T", User: "U"}, Words: "那病假呢？", Before: "年假有几天？", FollowUp: true, Room: -1, Private: true}
	r := a.Assemble(t.Context(), q, plan, stores.Opening{Documents: 1})
	if len(asked) != 2 || !strings.Contains(r.Volatile, "病假10天") || !strings.Contains(r.Volatile, "年假15天") {
		t.Errorf("asked %v, given %q", asked, r.Volatile)
	}
}

// Only a choice among all that stands may be pinned for the session.
func TestStableBlockIsChosen(t *testing.T) {
	l := fullLedger()
	open := openingOf(l)
	open.Turn = &stores.OpenTurn{ID: "r0"}
	cases := map[string]struct {
		change func(*fakeLedger, *Query, *stores.Opening)
		want   bool
	}{
		"read":        {func(*fakeLedger, *Query, *stores.Opening) {}, true},
		"no memories": {func(_ *fakeLedger, _ *Query, o *stores.Opening) { o.Memories = 0 }, true},
		"broken":      {func(l *fakeLedger, _ *Query, _ *stores.Opening) { l.hold = fails }, false},
		"forgetful":   {func(_ *fakeLedger, q *Query, _ *stores.Opening) { q.Forget = true }, false},
		"tool loop":   {func(_ *fakeLedger, q *Query, _ *stores.Opening) { q.ToolLoop = true }, false},
		"no room":     {func(_ *fakeLedger, q *Query, _ *stores.Opening) { q.Room = 10 }, false},
	}
	for name, c := range cases {
		l, q, o := fullLedger(), ask("hello"), open
		c.change(l, &q, &o)
		a, _ := assembler(l)
		if r := a.Assemble(t.Context(), q, planOf(intent.Chat), o); r.Chosen != c.want {
			t.Errorf("%s: %v, want %v", name, r.Chosen, c.want)
		}
	}
}

func fails(context.Context, string) error { return errors.New("broken") }
