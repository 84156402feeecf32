package judge

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"strata/intent"
	"strata/stores"
)

// ledger keeps what is put right.
type ledger struct {
	mu    sync.Mutex
	set   []string // session/id=intent
	turns []stores.Turn
	err   error
}

func (l *ledger) SetIntent(_ context.Context, s stores.Scope, id, kind string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.set = append(l.set, s.Session+"/"+id+"="+kind)
	}
	return l.err
}

func (l *ledger) Recent(context.Context, stores.Scope, int) ([]stores.Turn, error) {
	return l.turns, l.err
}

// bench is a judge at work on what a test says.
type bench struct {
	*Judge
	ledger  ledger
	log     strings.Builder
	mu      sync.Mutex
	asked   []string
	results []string
}

func newBench(answer func(ctx context.Context) (string, error)) *bench {
	b := new(bench)
	b.Judge = New(Config{Ledger: &b.ledger, Logger: slog.New(slog.NewTextHandler(&b.log, nil)),
		Ask: func(ctx context.Context, system, user string) (string, error) {
			b.mu.Lock()
			b.asked = append(b.asked, system+"|"+user)
			b.mu.Unlock()
			return answer(ctx)
		},
		Judged: func(result string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.results = append(b.results, result)
		}})
	return b
}

// became is what has become of the cases so far.
func (b *bench) became() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.results)
}

func says(text string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return text, nil }
}

func unsure(id string) Case {
	return Case{Scope: stores.Scope{Tenant: "acme", User: "anna", Session: "s"}, ID: id, Intent: intent.Chat, Words: "那报销呢？", Before: "年假几天？"}
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		err    error
		stored error
		want   string
		set    []string
	}{
		"the same":             {answer: "chat", want: Agreed},
		"another":              {answer: "rag", want: Changed, set: []string{"s/req_1=rag"}},
		"nonsense":             {answer: "I would be glad to help you with that!", want: Failed},
		"nothing":              {want: Failed},
		"the API fails":        {answer: "rag", err: errors.New("status 500"), want: Failed},
		"the exchange is gone": {answer: "rag", stored: stores.ErrNotFound, want: Dropped},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(func(context.Context) (string, error) { return c.answer, c.err })
			b.ledger.err = c.stored
			if got := b.judge(t.Context(), unsure("req_1")); got != c.want || !slices.Equal(b.ledger.set, c.set) {
				t.Errorf("%s, set %v; want %s, %v", got, b.ledger.set, c.want, c.set)
			}
		})
	}
}

func TestRead(t *testing.T) {
	for answer, want := range map[string]intent.Intent{
		"chat": intent.Chat, "RAG": intent.RAG, " Data.\n": intent.Data, "**rag**": intent.RAG, `"data"`: intent.Data, "答案：rag。": intent.RAG,
		"Answer: chat": intent.Chat, "rag (rag)": intent.RAG, "<think>data? no, chat or rag…</think>\n\nrag": intent.RAG,
		"": "", "chat or rag": "", "database": "", "ragtime": "", "RAG数据": intent.RAG, "sql": "",
		"The user asks about a chart, so this message belongs to the data category.": "", "<think>this is data": "",
	} {
		if got, ok := read(answer); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", answer, got, want)
		}
	}
}

// The model sees the instruction, the user's words and the turn before,
// without secrets and not too much of them.
func TestQuestion(t *testing.T) {
	b := newBench(says("chat"))
	c := unsure("req_1")
	c.Words = "my mail is anna@example.com " + strings.Repeat("长", 4000) + " what now?"
	c.Before = "key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
	b.judge(t.Context(), c)
	system, user, _ := strings.Cut(b.asked[0], "|")
	if system != instruction || !strings.Contains(system, "exactly one word") || !strings.Contains(system, "只回答一个英文单词") {
		t.Errorf("instruction %q", system)
	}
	if strings.Contains(user, "anna@") || strings.Contains(user, "sk-proj") || strings.Count(user, "[redacted:") != 2 {
		t.Errorf("not redacted: %.200s", user)
	}
	message := user[strings.Index(user, "<message>"):]
	if !strings.Contains(message, "my mail is") || !strings.Contains(message, "what now?") || len(message) > textSize+40 || strings.Contains(message, "�") {
		t.Errorf("%d bytes: %.100s … %s", len(message), message, message[len(message)-60:])
	}
	if !strings.HasPrefix(user, "<turn_before>\nkey ") {
		t.Errorf("%.100s", user)
	}
}

// Clients that send one message leave the turn before to the ledger.
func TestBeforeFromLedger(t *testing.T) {
	b := newBench(says("chat"))
	b.ledger.turns = []stores.Turn{{Exchange: "req_0", Role: "user", Content: "差旅标准？"}, {Exchange: "req_0", Role: "assistant", Content: "A"},
		{Exchange: "req_1", Role: "user", Content: "那报销呢？"}, {Exchange: "req_1", Role: "assistant", Content: "B"}}
	c := unsure("req_1")
	c.Before = ""
	b.judge(t.Context(), c)
	if !strings.Contains(b.asked[0], "<turn_before>\n差旅标准？\n</turn_before>") {
		t.Errorf("%s", b.asked[0])
	}
	b.ledger.err = errors.New("busy")
	b.judge(t.Context(), c)
	if strings.Contains(b.asked[1], "<turn_before>") {
		t.Errorf("%s", b.asked[1])
	}
}

// While the model takes its time a hundred wait, and further ones are dropped
// at once; the end drops what waits and cuts what is under way.
func TestQueueAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(ctx context.Context) (string, error) {
			select {
			case <-time.After(time.Minute):
				return "rag", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { b.Run(ctx); close(ended) }()
		b.Offer(unsure("req_0"))
		synctest.Wait()
		began := time.Now()
		for range waiting + 5 {
			b.Offer(unsure("req_n"))
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("offering took %v", took)
		}
		if got, want := b.became(), slices.Repeat([]string{Dropped}, 5); !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
		time.Sleep(90 * time.Second)
		end()
		<-ended
		want := slices.Concat(slices.Repeat([]string{Dropped}, 5), []string{Changed}, slices.Repeat([]string{Dropped}, waiting))
		if got := b.became(); !slices.Equal(got, want) || len(b.asked) != 2 {
			t.Errorf("%d results, want %d: %v; %d asked", len(got), len(want), got, len(b.asked))
		}
		if time.Since(began) != 90*time.Second || b.log.Len() > 0 {
			t.Errorf("%v, log %s", time.Since(began), b.log.String())
		}
		b.Offer(unsure("req_late")) // nobody takes it, and nothing happens
	})
}

// A row of failures is one line of the log.
func TestLog(t *testing.T) {
	var answer string
	var fails error
	b := newBench(func(context.Context) (string, error) { return answer, fails })
	for _, step := range []struct {
		answer string
		err    error
		lines  int
	}{{"", errors.New("status 500"), 1}, {"", errors.New("status 500"), 1}, {"what?", nil, 1}, {"chat", nil, 1}, {"what?", nil, 2}} {
		answer, fails = step.answer, step.err
		b.judge(t.Context(), unsure("req_1"))
		if got := strings.Count(b.log.String(), "\n"); got != step.lines {
			t.Errorf("%q, %v: %d lines, want %d", step.answer, step.err, got, step.lines)
		}
	}
	if strings.Contains(b.log.String(), "报销") {
		t.Error("the log holds the user's words")
	}
}
