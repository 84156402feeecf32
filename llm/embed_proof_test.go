package llm_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"strata/internal/upstreamtest"
	"strata/llm"
)

// proofText tells its number as texts do, by which the model is known.
const proofText = "7 is the proof"

var ofSeven = llm.Proof{Text: proofText, Holds: func(v []float32) bool {
	return len(v) == 2 && v[0]/v[1] > 0.69 && v[0]/v[1] < 0.71
}}

// Each call holds the proof, whatever the server takes at once; one that takes
// a single text is asked for it next.
func TestProofsGoAlong(t *testing.T) {
	for _, c := range []struct {
		most int
		want string // sizes of the calls for 150 texts
	}{
		{1000, "[65 65 23]"},
		{64, "[65 32 32 3 32 32 25]"},
		{2, "[65 32 16 8 4" + strings.Repeat(" 2", 150) + "]"},
	} {
		e, p := newPicky(t, func(_ int, texts []string) *upstreamtest.Script {
			if len(texts) > c.most {
				return refuses(400)
			}
			if texts[len(texts)-1] != proofText {
				t.Errorf("limit of %d: a call of %d texts without the proof", c.most, len(texts))
			}
			return nil
		})
		vectors, err := e.EmbedProven(t.Context(), numbered(150), ofSeven)
		if err != nil {
			t.Fatal(err)
		}
		checkTelling(t, vectors, 150)
		if got := fmt.Sprint(p.batches); got != c.want {
			t.Errorf("limit of %d: %s, want %s", c.most, got, c.want)
		}
	}
	e, p := newPicky(t, func(_ int, texts []string) *upstreamtest.Script {
		if len(texts) > 1 {
			return refuses(400)
		}
		return nil
	})
	for range 2 {
		before := len(p.batches)
		vectors, err := e.EmbedProven(t.Context(), numbered(9), ofSeven)
		if err != nil {
			t.Fatal(err)
		}
		checkTelling(t, vectors, 9)
		if n := len(p.batches) - before; before > 0 && n != 18 {
			t.Errorf("%d calls for 9 texts, want 18", n)
		}
	}
}

// With a proof too, a text that is too long is cut until it is taken.
func TestProofOfALongText(t *testing.T) {
	e, p := newPicky(t, func(_ int, texts []string) *upstreamtest.Script {
		for _, text := range texts {
			if utf8.RuneCountInString(text) > 700 {
				return refuses(413)
			}
		}
		return nil
	})
	texts := numbered(3)
	texts[1] = "1" + strings.Repeat("长", 2000)
	vectors, err := e.EmbedProven(t.Context(), texts, ofSeven)
	if err != nil || p.longest != 500 {
		t.Fatalf("%v; %d characters were taken", err, p.longest)
	}
	checkTelling(t, vectors, 3)
}

// Another model's vectors are not given out, and it is not asked again and
// again.
func TestProofFails(t *testing.T) {
	for _, most := range []int{1000, 1} {
		var swapped atomic.Bool
		e, p := newPicky(t, func(_ int, texts []string) *upstreamtest.Script {
			switch {
			case len(texts) > most:
				return refuses(400)
			case swapped.Load():
				return entries(strings.Split(strings.TrimSuffix(strings.Repeat("[9,1] ", len(texts)), " "), " ")...)
			}
			return nil
		})
		if _, err := e.EmbedProven(t.Context(), numbered(1), ofSeven); err != nil {
			t.Fatal(err)
		}
		swapped.Store(true)
		before := len(p.batches)
		if vectors, err := e.EmbedProven(t.Context(), numbered(1), ofSeven); !errors.Is(err, llm.ErrOther) || vectors != nil {
			t.Errorf("limit of %d: %v, %v", most, vectors, err)
		}
		if n := len(p.batches) - before; n > 2 {
			t.Errorf("limit of %d: %d calls", most, n)
		}
	}
}

// An answer of a model with a name that was never seen is not given out; names
// that EmbedAll was answered with have been seen, and of a server that has
// dozens none counts.
func TestNamesOfModels(t *testing.T) {
	name := "a"
	up := upstreamtest.New(t, func(*upstreamtest.Request) *upstreamtest.Script {
		return upstreamtest.JSON(200, `{"model":"`+name+`","data":[{"index":0,"embedding":[1,2]}]}`)
	})
	e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL() + "/v1", Model: "m", Timeout: time.Minute})
	check := func(as string, want error) {
		t.Helper()
		name = as
		if _, err := e.Embed(t.Context(), []string{"x"}); !errors.Is(err, want) {
			t.Errorf("answered as %q: %v, want %v", as, err, want)
		}
	}
	check("a", nil)
	check("b", llm.ErrOther)
	check("", nil)
	name = "b"
	if _, err := e.EmbedAll(t.Context(), []string{"x"}); err != nil {
		t.Fatal(err)
	}
	check("b", nil)
	check("a", nil)
	for i := range 8 {
		name = fmt.Sprint("many", i)
		if _, err := e.EmbedAll(t.Context(), []string{"x"}); err != nil {
			t.Fatal(err)
		}
	}
	check("any", nil)
}
