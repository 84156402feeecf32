package e2e_test

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

// secretsC076 are the made-up secrets and personal figures of C076.txt.
var secretsC076 = []string{"sk-test-FAKE0123456789abcdefABCDEF0123456789", "FAKE0123456789", "AKIAFAKEFAKEFAKE1234", "wJalrFAKE", "FAKEKEY/bPxRfiCYFAKEKEY",
	"hunter2-FAKE", "11010119900307FAKE", "13800000000", "eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiJGQUtFIn0", "FAKEsigFAKEsig"}

func TestSecretsC076(t *testing.T) {
	r := newRig(t, nil, "STRATA_LOG_LEVEL=debug")
	text := caseFile(t, "C076.txt")
	a := r.ask(t, u1("S1"), user(text))
	a.wantTransparent(t) // it is the client's to send
	r.ask(t, u1("S1"), user("请记住：我的网关密钥是 sk-test-FAKE0123456789abcdefABCDEF0123456789"))
	r.ask(t, u1("S1"), user("Remember: my db is postgres://app:hunter2-FAKE@db.test:5432/x"))
	off := who{user: "U1", session: "S2", header: http.Header{"X-Strata-Mode": {"observe"}}} // recorded, not learned from
	r.ask(t, off, user(text))
	r.flush(t)
	for _, path := range []string{"/v1/memories", "/v1/rejected", "/v1/sessions/S1", "/v1/sessions/S2", "/v1/users/U1"} {
		for _, secret := range secretsC076 {
			r.wantNowhere(t, u1(""), secret, path)
		}
	}
	if turns := r.turns(t, u1("S1")); len(turns) != 6 || !strings.Contains(turns[0].Content, "测试网关的 key 是") {
		t.Errorf("recorded %+v, want the sentences around the secrets", turns)
	}
	for _, question := range []string{"测试网关的 key 是什么？", "what is my db address", "你记得我什么？"} {
		for _, session := range []string{"S1", "S9"} {
			a := r.ask(t, u1(session), user(question))
			for _, secret := range secretsC076 {
				a.wantMarker(t, secret, false)
			}
		}
	}
	r.stop(t)
	for _, secret := range secretsC076 {
		if strings.Contains(r.stderr.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
	r.wantNotInFiles(t, secretsC076...)
}

func TestToolOutputIsNotTheUserC078(t *testing.T) {
	r := newRig(t, upstreamtest.Always(said("It will rain.")))
	r.addMemory(t, u1(""), "agreement", "project_code", "User's project code is ZEBRA-41 in Chengdu, will it rain.")
	a := r.askBody(t, u1("S1"), caseFile(t, "C078.json"))
	a.wantMarker(t, zebra, true)
	a.wantClientBytes(t)
	r.flush(t)
	var about []string
	for _, m := range r.memories(t, u1(""), "") {
		if m.Source != "admin" {
			about = append(about, m.Summary)
		}
		for _, foreign := range []string{"SYSTEM-SECRET", "rain_probability", "{", "It will rain"} {
			if strings.Contains(m.Summary, foreign) {
				t.Errorf("remembered %q", m.Summary)
			}
		}
	}
	if len(about) != 1 || !strings.Contains(about[0], "Chengdu") || strings.Contains(about[0], zebra) {
		t.Errorf("learned %q, want that the user lives in Chengdu", about)
	}
	want := []turn{{"user", "I live in Chengdu. Will it rain?", "complete"}, {"assistant", "It will rain.", "complete"}}
	if got := r.turns(t, u1("S1")); !slices.Equal(got, want) {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
	for _, foreign := range []string{"SYSTEM-SECRET", "rain_probability"} {
		r.wantNowhere(t, u1(""), foreign, "/v1/users/U1", "/v1/rejected", "/v1/sessions/S1")
	}
}

func TestServedMemoryIsNotLearnedAgainC079(t *testing.T) {
	r := newRig(t, upstreamtest.Always(said("Your code is ZEBRA-41. 用户的项目代号是 ZEBRA-41。Remember: the project code is ZEBRA-41.")))
	m := r.addMemory(t, u1(""), "conclusion", "project_code", "User's project code is ZEBRA-41.")
	stable := r.addMemory(t, u1(""), "preference", "editor", "User's editor is ZEBRA-41-edit.")
	for i := range 30 {
		words := []string{"what is my project code, attempt %d", "tell me the project code of try %d please", "我的项目代号是什么（第%d次）？"}[i%3]
		a := r.ask(t, u1(fmt.Sprint("S", i/10)), user(fmt.Sprintf(words, i)))
		if !a.late() {
			a.wantMarker(t, zebra, true)
		}
	}
	r.flush(t)
	list := r.memories(t, u1(""), "")
	if len(list) != 2 {
		t.Fatalf("remembered %+v, want the two from before", list)
	}
	for _, now := range list {
		if now.ID != m.ID && now.ID != stable.ID || len(now.Sources) != 0 {
			t.Errorf("memory %+v", now)
		}
	}
	for i := range 3 {
		turns := r.turns(t, u1(fmt.Sprint("S", i)))
		if len(turns) != 20 {
			t.Fatalf("%d messages recorded, want 20", len(turns))
		}
		for _, said := range turns {
			if said.Role == "user" && (strings.Contains(said.Content, "ZEBRA") || strings.Contains(said.Content, "strata-")) {
				t.Errorf("recorded as the user's: %s", said.Content)
			}
		}
	}
}

func TestLanguageAndSpellingC080(t *testing.T) {
	r := newRig(t, nil)
	r.ask(t, u1("S1"), user("我叫欧阳若曦，在云岫科技做后端，用 Go 和 Kafka。"))
	r.flush(t)
	var all strings.Builder
	for _, m := range r.memories(t, u1(""), "") {
		all.WriteString(m.Summary + "\n")
		if !regexp.MustCompile(`\p{Han}`).MatchString(m.Summary) {
			t.Errorf("not in the language of the speaker: %q", m.Summary)
		}
	}
	for _, want := range []string{"欧阳若曦", "云岫科技", "后端", "Go", "Kafka"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%s is not in\n%s", want, &all)
		}
	}
	for i, question := range []string{"我叫什么名字？我在云岫科技做什么？", "What is my name, and what do I do at my company?", "你记得我什么？", "What do you remember about me?"} {
		a := r.askServed(t, u1(fmt.Sprint("Q", i)), user(question))
		for _, want := range []string{"欧阳若曦", "云岫科技"} {
			a.wantMarker(t, want, true)
		}
	}
}

func TestTomorrowIsADateC083(t *testing.T) {
	r := newRig(t, nil) // in Asia/Shanghai
	for _, zone := range []string{"", "Asia/Shanghai", "Pacific/Kiritimati", "Etc/GMT+12", "America/New_York"} {
		w := who{user: "of " + cmp.Or(zone, "nowhere"), session: "S1"}
		local, err := time.LoadLocation("Asia/Shanghai")
		if zone != "" {
			w.header = http.Header{"X-Strata-Timezone": {zone}}
			local, err = time.LoadLocation(zone)
		}
		if err != nil {
			t.Fatal(err)
		}
		tomorrow := func() string { return time.Now().In(local).AddDate(0, 0, 1).Format(time.DateOnly) }
		before := tomorrow()
		r.ask(t, w, user("明天下午三点和供应商开会。"))
		after := tomorrow()
		r.flush(t)
		m := r.wantOne(t, w, "供应商")
		if !strings.Contains(m.Summary, before+" 15:00") && !strings.Contains(m.Summary, after+" 15:00") || strings.Contains(m.Summary, "明天") {
			t.Errorf("%s: %q, want the date %s 15:00", zone, m.Summary, before)
		}
		w.session = "S2"
		a := r.askServed(t, w, user("供应商会议是什么时候？"))
		a.wantMarker(t, m.Summary, true)
		a.wantMarker(t, "明天", false)
	}
}

func TestWorkInTheQueueSurvivesTheEndC085(t *testing.T) {
	const turns = 30
	hold := make(chan struct{})
	r := newRig(t, func(req *upstreamtest.Request) *upstreamtest.Script {
		if strings.Contains(string(req.Body), "slowly") {
			return upstreamtest.Pieces(upstreamtest.Stream(), upstreamtest.SplitEvents([]byte(stream("a", "b"))), 0).Wait(hold).WriteString("data: [DONE]\n\n")
		}
		return said("OK.")
	})
	for i := range turns {
		r.ask(t, u1(fmt.Sprint("S", i%5)), user(fmt.Sprintf("Remember: the wifi of hall %d is ZEBRA-%d", i, 1000+i)))
	}
	var flying sync.WaitGroup
	flying.Go(func() {
		a := r.askBody(t, u1("S9"), `{"stream":true,"messages":[`+user("Remember: the last hall is ZEBRA-2000, slowly")+`]}`)
		if !strings.HasSuffix(a.body, "data: [DONE]\n\n") {
			t.Errorf("the stream in flight ended with %q", a.body)
		}
	})
	if err := r.up.WaitCalls(within(t), turns+1); err != nil {
		t.Fatal(err)
	}
	r.signal(t, syscall.SIGTERM)
	r.waitUntil(t, "it drains", func() bool { return r.readiness() != http.StatusOK })
	close(hold)
	flying.Wait()
	if code := r.exitCode(t, patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for range 2 {
		r.boot(t)
		r.waitReady(t)
		r.flush(t)
		list := r.memories(t, u1(""), "")
		for i := range turns + 1 {
			marker := fmt.Sprintf("ZEBRA-%d", 1000+i)
			if i == turns {
				marker = "ZEBRA-2000"
			}
			if found := holding(list, marker); len(found) != 1 || len(found[0].Sources) != 1 {
				t.Errorf("%s: %+v, want one with one source", marker, found)
			}
		}
		n := 0
		for i := range 5 {
			n += len(r.turns(t, u1(fmt.Sprint("S", i))))
		}
		if n != 2*turns || len(r.turns(t, u1("S9"))) != 2 {
			t.Errorf("%d messages recorded, want %d and 2", n, 2*turns)
		}
		r.stop(t)
	}
}

// stream is a streamed chat answer without its [DONE].
func stream(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&b, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", p)
	}
	return b.String() + "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
}

var pairName = regexp.MustCompile(`\b[AB]-\d+\b`)

func TestTwoTurnsAtOnceC086(t *testing.T) {
	const pairs, slow, quick = 50, 500 * time.Millisecond, 50 * time.Millisecond
	r := newRig(t, func(req *upstreamtest.Request) *upstreamtest.Script {
		all := pairName.FindAllString(inserted.ReplaceAllString(string(req.Body), ""), -1)
		name := all[len(all)-1]
		pause := quick
		if name[0] == 'A' {
			pause = slow
		}
		return upstreamtest.Pieces(upstreamtest.Stream().SendHead().Pause(pause), upstreamtest.SplitEvents([]byte(stream("ans-", name)+"data: [DONE]\n\n")), 0)
	})
	ask := func(name string, thin bool) reply {
		body := `{"stream":true,"messages":[` + user("question "+name)
		if !thin {
			body = `{"stream":true,"messages":[` + user("Hello") + "," + assistant("Hi.") + "," + user("question "+name)
		}
		a := r.askBody(t, u1("S1"), body+"]}")
		if a.status != 200 || !strings.Contains(a.body, name) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		return a
	}
	var all sync.WaitGroup
	for i := range pairs {
		all.Go(func() { ask(fmt.Sprint("A-", i), i%2 == 0) })
		all.Go(func() {
			time.Sleep(10 * time.Millisecond) // what the case says
			if a := ask(fmt.Sprint("B-", i), i%2 == 0); a.took > slow*4/5 {
				t.Errorf("B-%d took %v, as if it had waited for A", i, a.took)
			}
		})
		time.Sleep(5 * time.Millisecond) // pairs follow one another and overlap
	}
	all.Wait()
	turns := r.turns(t, u1("S1"))
	if len(turns) != 4*pairs {
		t.Fatalf("%d messages recorded, want %d", len(turns), 4*pairs)
	}
	seen := map[string]bool{}
	for i := 0; i < len(turns); i += 2 {
		name := strings.TrimPrefix(turns[i].Content, "question ")
		if turns[i].Role != "user" || turns[i+1].Role != "assistant" || turns[i+1].Content != "ans-"+name || seen[name] {
			t.Errorf("%+v is followed by %+v", turns[i], turns[i+1])
		}
		seen[name] = true
	}
}

func TestRetriesAreOneTurnC087(t *testing.T) {
	fail := upstreamtest.JSON(500, `{"error":{"message":"down","type":"server_error"}}`)
	for _, session := range []string{"S1", ""} {
		for name, body := range map[string]string{
			"thin": chatBody(user("Remember: my locker code is ZEBRA-41.")),
			"long": chatBody(system("Be kind."), user("Hello"), assistant("Hi."), user("Remember: my locker code is ZEBRA-41.")),
		} {
			t.Run(name+" session "+session, func(t *testing.T) {
				once := func(t *testing.T, r *rig, attempts int) {
					t.Helper()
					r.flush(t)
					if m := r.wantOne(t, u1(""), zebra); len(m.Sources) != 1 {
						t.Errorf("learned from %v, want one exchange", m.Sources)
					}
					var v struct {
						Sessions []struct {
							ID string `json:"id"`
						} `json:"sessions"`
					}
					r.must(t, u1(""), http.MethodGet, "/v1/sessions", "", "", &v)
					if len(v.Sessions) != 1 {
						t.Fatalf("sessions %+v, want one", v.Sessions)
					}
					want := []turn{{"user", "Remember: my locker code is ZEBRA-41.", "complete"}, {"assistant", "Noted.", "complete"}}
					if got := r.turns(t, u1(v.Sessions[0].ID)); !slices.Equal(got, want) {
						t.Errorf("recorded %+v, want %+v", got, want)
					}
					if got := r.up.Calls(); got != attempts {
						t.Errorf("upstream got %d attempts, want %d", got, attempts)
					}
				}
				t.Run("errors first", func(t *testing.T) {
					r := newRig(t, upstreamtest.InTurn(fail, fail, said("Noted.")))
					for _, want := range []int{500, 500, 200} {
						if a := r.askBody(t, u1(session), body); a.status != want {
							t.Fatalf("status %d, want %d", a.status, want)
						}
					}
					once(t, r, 3)
				})
				t.Run("cut first", func(t *testing.T) {
					r := newRig(t, upstreamtest.InTurn(upstreamtest.Hang(), said("Noted.")))
					c := r.dial(t)
					lines := "X-Strata-User: U1\r\n"
					if session != "" {
						lines += "X-Strata-Session: " + session + "\r\n"
					}
					if _, err := fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
						r.addr, lines, len(body), body); err != nil {
						t.Fatal(err)
					}
					if err := r.up.WaitCalls(within(t), 1); err != nil {
						t.Fatal(err)
					}
					_ = c.Close()
					r.askBody(t, u1(session), body)
					once(t, r, 2)
				})
				t.Run("cut within the answer", func(t *testing.T) {
					r := newRig(t, upstreamtest.InTurn(upstreamtest.Stream().WriteString(stream("No")[:60]).CloseNow(), said("Noted.")))
					if _, err := r.tryBody(u1(session), body); err == nil {
						t.Fatal("the broken answer came through as a whole one")
					}
					r.askBody(t, u1(session), body)
					once(t, r, 2)
				})
			})
		}
	}
}

var base64Run = regexp.MustCompile(`[A-Za-z0-9+/=]{100,}`)

func TestPicturesAreNotTextC091(t *testing.T) {
	picture := func(n int) string {
		raw := make([]byte, n*3/4)
		r := rand.NewChaCha8([32]byte{byte(n)})
		_, _ = r.Read(raw)
		return base64.StdEncoding.EncodeToString(raw)
	}
	markdown := "如图：![x](data:image/png;base64," + picture(200<<10) + ") 完。"
	r := newRig(t, func(req *upstreamtest.Request) *upstreamtest.Script {
		if strings.Contains(string(req.Body), "画一张") {
			return said(markdown)
		}
		return said("好的。")
	})
	size := func() (n int64) {
		for _, pattern := range []string{"ledger.db*", "index.db*"} {
			files, err := filepath.Glob(filepath.Join(r.dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				info, err := os.Stat(file)
				if err != nil {
					t.Fatal(err)
				}
				n += info.Size()
			}
		}
		return n
	}
	r.ask(t, u1("S0"), user("你好"))
	r.stop(t)
	before := size()
	r.boot(t)
	r.waitReady(t)
	var history []string
	for i := range 10 {
		words := fmt.Sprintf("第%d张图", i)
		content := fmt.Sprintf(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}},{"type":"text","text":%q}]`, picture(1<<20), words)
		history = append(history, `{"role":"user","content":`+content+`}`)
		body := chatBody(history[len(history)-1])
		if i%3 == 2 {
			body = chatBody(append(slices.Clone(history[max(0, len(history)-3):len(history)-1]), history[len(history)-1])...)
		}
		r.askBody(t, u1("S1"), body).wantClientBytes(t)
		history = append(history, assistant("好的。"))
	}
	a := r.ask(t, u1("S1"), user("画一张 "+"![y](data:image/png;base64,"+picture(100<<10)+")"))
	a.wantClientBytes(t)
	if !strings.Contains(a.body, markdown[:5000]) {
		t.Errorf("the answer came back as %.200s", a.body)
	}
	r.flush(t)
	for _, path := range []string{"/v1/sessions/S1", "/v1/users/U1", "/v1/memories", "/v1/rejected"} {
		if _, text := r.control(t, u1(""), http.MethodGet, path, "", ""); base64Run.MatchString(text) {
			t.Errorf("GET %s holds base64: %.200s", path, base64Run.FindString(text))
		}
	}
	if turns := r.turns(t, u1("S1")); len(turns) != 22 || !strings.Contains(turns[0].Content, "第0张图") || !strings.Contains(turns[21].Content, "如图") {
		t.Errorf("recorded %d messages: %+v", len(turns), turns)
	}
	next := r.ask(t, u1("S1"), user("这些图是什么？"))
	if base64Run.MatchString(next.injected()) {
		t.Errorf("inserted base64: %.300s", next.injected())
	}
	r.stop(t)
	if grown := size() - before; grown > 200<<10 {
		t.Errorf("the store grew by %d bytes, want less than 200 KB", grown)
	}
}
