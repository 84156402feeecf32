package llm_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/internal/upstreamtest"
	"strata/llm"
)

// embedAsked is what an embedder was sent.
type embedAsked struct {
	Model          string
	Input          []string
	Dimensions     *int
	EncodingFormat *string `json:"encoding_format"`
}

func readEmbed(t testing.TB, r *upstreamtest.Request) embedAsked {
	t.Helper()
	var a embedAsked
	if err := json.Unmarshal(r.Body, &a); err != nil {
		t.Errorf("sent %s: %v", r.Body, err)
	}
	return a
}

// entries are vectors as an API answers them.
func entries(vectors ...string) *upstreamtest.Script {
	var b strings.Builder
	for i, v := range vectors {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"object":"embedding","index":%d,"embedding":%s}`, i, v)
	}
	return upstreamtest.JSON(200, `{"object":"list","data":[`+b.String()+`]}`)
}

// telling answers texts that begin with a number by a vector from which it can
// be read, last text first.
func telling(t testing.TB, r *upstreamtest.Request) *upstreamtest.Script {
	in := readEmbed(t, r).Input
	data := make([]string, 0, len(in))
	for i := len(in) - 1; i >= 0; i-- {
		n := 0
		_, _ = fmt.Sscanf(in[i], "%d", &n)
		data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,10]}`, i, n))
	}
	return upstreamtest.JSON(200, `{"data":[`+strings.Join(data, ",")+`]}`)
}

// checkTelling reads the numbers back.
func checkTelling(t *testing.T, vectors [][]float32, n int) {
	t.Helper()
	if len(vectors) != n {
		t.Fatalf("%d vectors for %d texts", len(vectors), n)
	}
	for i, v := range vectors {
		if len(v) != 2 || math.Abs(float64(v[0]/v[1])*10-float64(i)) > 1e-3 {
			t.Fatalf("text %d has the vector %v", i, v)
		}
		if length := math.Hypot(float64(v[0]), float64(v[1])); math.Abs(length-1) > 1e-6 {
			t.Fatalf("length %v", length)
		}
	}
}

func numbered(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("%d of them", i)
	}
	return texts
}

func TestEmbed(t *testing.T) {
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script { return telling(t, r) })
	e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL() + "/v1/", APIKey: key, Model: "small", Dimensions: 2})
	vectors, err := e.Embed(t.Context(), numbered(5))
	if err != nil {
		t.Fatal(err)
	}
	checkTelling(t, vectors, 5)
	if vectors, err := e.Embed(t.Context(), nil); err != nil || vectors != nil {
		t.Errorf("of no texts: %v, %v", vectors, err)
	}
	if _, err := e.Embed(t.Context(), []string{" \n", strings.Repeat("长", 3000)}); err != nil {
		t.Fatal(err)
	}
	if up.Calls() != 2 {
		t.Fatalf("%d calls", up.Calls())
	}
	first, second := up.Requests()[0], readEmbed(t, up.Requests()[1])
	a := readEmbed(t, first)
	if first.Target != "/v1/embeddings" || first.Get("Authorization") != "Bearer "+key || first.Get("Idempotency-Key") != "" {
		t.Errorf("sent to %s with %v", first.Target, first.Headers)
	}
	if a.Model != "small" || *a.Dimensions != 2 || a.EncodingFormat != nil || strings.Join(a.Input, "|") != "0 of them|1 of them|2 of them|3 of them|4 of them" {
		t.Errorf("sent %s", first.Body)
	}
	if second.Input[0] != "." || second.Input[1] != strings.Repeat("长", 2000) {
		t.Errorf("a blank text is sent as %q, a long one with %d bytes", second.Input[0], len(second.Input[1]))
	}
}

// What the stand-in for OpenAI answers is read as it was meant, also by a
// server that sends base64 unasked, which is found out once.
func TestEmbedBase64(t *testing.T) {
	packed := func(v []float32) string {
		var b []byte
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return `"` + base64.StdEncoding.EncodeToString(b) + `"`
	}
	for name, handler := range map[string]upstreamtest.Handler{
		"numbers": upstreamtest.OpenAI(),
		"base64": func(r *upstreamtest.Request) *upstreamtest.Script {
			var vectors []string
			for _, text := range readEmbed(t, r).Input {
				vectors = append(vectors, packed(upstreamtest.Embedding(text, 1536)))
			}
			return entries(vectors...)
		},
	} {
		up := upstreamtest.New(t, handler)
		e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL() + "/v1", Model: "m"})
		for range 2 {
			vectors, err := e.Embed(t.Context(), []string{"annual leave", "年假几天"})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, text := range []string{"annual leave", "年假几天"} {
				for j, want := range upstreamtest.Embedding(text, 1536) {
					if math.Abs(float64(vectors[i][j]-want)) > 1e-6 {
						t.Fatalf("%s: %q at %d: %v, want %v", name, text, j, vectors[i][j], want)
					}
				}
			}
		}
		if want := map[string]int{"numbers": 2, "base64": 3}[name]; up.Calls() != want {
			t.Errorf("%s: %d calls, want %d", name, up.Calls(), want)
		}
		if up.Requests()[0].Get("Authorization") != "" {
			t.Errorf("%s: a key was sent, and there is none", name)
		}
	}
}

// hostile are answers that must be neither believed nor repeated. Elsewhere is
// where a redirect leads.
func hostile(elsewhere, good string) map[string]hostileCase {
	return map[string]hostileCase{
		"refused key": {upstreamtest.JSON(401, `{"error":{"message":"bad key `+key+`"}}`), "status 401"},
		"no model":    {upstreamtest.JSON(404, key), "status 404"},
		"refused":     {upstreamtest.JSON(400, key), "status 400"},
		"busy":        {upstreamtest.JSON(429, key), "status 429"},
		"broken":      {upstreamtest.JSON(503, key), "status 503"},
		"redirect":    {upstreamtest.Respond(307).Header("Location", elsewhere+"?key="+key), "redirect"},
		"see other":   {upstreamtest.Respond(303).Header("Location", elsewhere), "redirect"},
		"unasked 304": {upstreamtest.Respond(304), "redirect"},
		"empty":       {upstreamtest.JSON(200, ""), "EOF"},
		"no JSON":     {upstreamtest.JSON(200, "<html>"+key), "invalid character"},
		"null":        {upstreamtest.JSON(200, "null"), "for 2 texts"},
		"cut":         {upstreamtest.Respond(200).Header("Content-Length", "1000").WriteString(good[:len(good)/2]).Reset(), ""},
		"endless":     {upstreamtest.Respond(200).Frame(upstreamtest.CloseDelimited).WriteString(`{"id":"` + strings.Repeat("a", 17<<20) + `",` + good[1:]), "longer"},
		"silence":     {upstreamtest.Respond(200).Silence(), "in time"},
		"half":        {upstreamtest.Respond(200).Header("Content-Length", "1000").WriteString(good[:len(good)/2]).Silence(), "in time"},
	}
}

type hostileCase struct {
	script *upstreamtest.Script
	want   string
}

func checkHostile(t *testing.T, cases map[string]hostileCase, elsewhere *upstreamtest.Server, call func(base string, timeout time.Duration) error) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			up := upstreamtest.New(t, upstreamtest.Always(c.script))
			timeout := 30 * time.Second
			if c.want == "in time" {
				timeout = 200 * time.Millisecond
			}
			err := call(up.URL()+"/v1", timeout)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "llm: ") {
				t.Fatalf("%v; want an error with %q", err, c.want)
			}
			for _, secret := range []string{key, up.URL(), elsewhere.URL()} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error tells too much: %v", err)
				}
			}
			if errors.Is(err, llm.ErrTimeout) != (c.want == "in time") {
				t.Errorf("%v", err)
			}
			if up.Calls() > 2 || elsewhere.Calls() != 0 {
				t.Errorf("%d calls, %d elsewhere", up.Calls(), elsewhere.Calls())
			}
		})
	}
}

func TestEmbedHostile(t *testing.T) {
	elsewhere := upstreamtest.New(t, upstreamtest.Always(entries("[1,2]", "[2,1]")))
	cases := hostile(elsewhere.URL()+"/v1/embeddings", `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[2,1]}]}`)
	of := func(data string) *upstreamtest.Script { return upstreamtest.JSON(200, `{"data":[`+data+`]}`) }
	for name, c := range map[string]hostileCase{
		"too few":     {entries("[1,2]"), "1 vectors for 2 texts"},
		"too many":    {entries("[1,2]", "[2,1]", "[1,1]"), "3 vectors for 2 texts"},
		"same twice":  {of(`{"index":1,"embedding":[1,2]},{"index":1,"embedding":[2,1]}`), "no text each"},
		"no index":    {of(`{"embedding":[1,2]},{"embedding":[2,1]}`), "no text each"},
		"outside":     {of(`{"index":0,"embedding":[1,2]},{"index":2,"embedding":[2,1]}`), "no text each"},
		"negative":    {of(`{"index":0,"embedding":[1,2]},{"index":-1,"embedding":[2,1]}`), "no text each"},
		"zeros":       {entries("[1,2]", "[0,0]"), "without direction"},
		"empty ones":  {entries("[]", "[]"), "without direction"},
		"null ones":   {entries("null", "null"), "without direction"},
		"NaN":         {entries("[1,NaN]", "[2,1]"), "invalid character"},
		"too large":   {entries("[1,1e999]", "[2,1]"), "number 1e999"},
		"words":       {entries(`["a","b"]`, "[2,1]"), "string"},
		"other sizes": {entries("[1,2]", "[1,2,3]"), "other dimensions: 3, not 2"},
	} {
		cases[name] = c
	}
	checkHostile(t, cases, elsewhere, func(base string, timeout time.Duration) error {
		e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: base, APIKey: key, Model: "m", Timeout: timeout})
		vectors, err := e.Embed(t.Context(), []string{"a", "b"})
		if vectors != nil {
			t.Errorf("vectors beside %v: %v", err, vectors)
		}
		return err
	})
}

// A vector of base64 may hold what JSON cannot.
func TestEmbedNoNumbers(t *testing.T) {
	for name, bits := range map[string]uint32{"NaN": 0x7fc00000, "infinite": 0x7f800000} {
		packed := base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint32(nil, bits))
		up := upstreamtest.New(t, upstreamtest.Always(entries(`"`+packed+`"`)))
		_, err := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL()}).Embed(t.Context(), []string{"a"})
		if err == nil || !strings.Contains(err.Error(), "without direction") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Dimensions do not change while the program runs, and are those asked for.
func TestEmbedDimensions(t *testing.T) {
	up := upstreamtest.New(t, upstreamtest.InTurn(entries("[1,2]"), entries("[1,2,3]"), entries("[1,2,3]"), entries("[2,1]")))
	e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL()})
	asked := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL(), Dimensions: 4})
	for i, c := range []struct {
		e     *llm.Embedder
		all   bool
		wrong string
	}{{e, false, ""}, {e, false, "3, not 2"}, {asked, true, "3, not 4"}, {e, true, ""}} {
		embed := c.e.Embed
		if c.all {
			embed = c.e.EmbedAll
		}
		_, err := embed(t.Context(), []string{"a"})
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("answer %d: %v, want %q", i, err, c.wrong)
		}
	}
}

// Five failures in a row end the calls for a minute; then one finds out.
func TestEmbedBreaker(t *testing.T) {
	var good atomic.Bool
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		if good.Load() {
			return telling(t, r)
		}
		return upstreamtest.JSON(500, "{}")
	})
	now := time.Now()
	e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL(), Clock: func() time.Time { return now }})
	step := func(what string, calls int, paused, fails bool) {
		t.Helper()
		_, err := e.Embed(t.Context(), []string{"a"})
		if up.Calls() != calls || errors.Is(err, llm.ErrPaused) != paused || (err != nil) != fails {
			t.Errorf("%s: %v, %d calls, want %d", what, err, up.Calls(), calls)
		}
	}
	for i := range 5 {
		step("failing", i+1, false, true)
	}
	step("paused", 5, true, true)
	if _, err := e.EmbedAll(timed(t, e), []string{"a"}); err == nil || up.Calls() == 5 {
		t.Errorf("ingest is not held up by the pause: %v", err)
	}
	before := up.Calls()
	now = now.Add(61 * time.Second)
	step("a trial", before+1, false, true)
	step("paused again", before+1, true, true)
	now = now.Add(61 * time.Second)
	good.Store(true)
	step("healed", before+2, false, false)
	step("and stays so", before+3, false, false)
}

// timed is a context that ends at the first pause of e.
func timed(t *testing.T, e *llm.Embedder) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	e.Impatient(time.Minute, func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	})
	return ctx
}

// A caller that leaves says nothing of the API; one whose own deadline came
// first says something when it had waited.
func TestEmbedCallerLeaves(t *testing.T) {
	var now atomic.Int64
	var waited atomic.Int64
	var leave atomic.Pointer[context.CancelFunc]
	up := upstreamtest.New(t, func(*upstreamtest.Request) *upstreamtest.Script {
		now.Add(waited.Load())
		if cancel := leave.Load(); cancel != nil {
			(*cancel)()
		}
		return upstreamtest.Respond(200).Silence()
	})
	e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL(), Clock: func() time.Time { return time.Unix(0, now.Load()) }})
	for range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		leave.Store(&cancel)
		waited.Store(int64(time.Second))
		if _, err := e.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	leave.Store(nil)
	late := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err := e.Embed(ctx, []string{"a"})
		return err
	}
	waited.Store(int64(49 * time.Millisecond))
	for range 6 {
		if err := late(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hardly any time: %v", err)
		}
	}
	waited.Store(int64(50 * time.Millisecond))
	for range 5 {
		if err := late(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("late: %v", err)
		}
	}
	if err := late(); !errors.Is(err, llm.ErrPaused) {
		t.Errorf("after five times late: %v", err)
	}
}

// Connections are kept. One that turns out to be closed costs no question its
// answer; a server that hangs up on a fresh one is not asked twice.
func TestEmbedKeepsConnections(t *testing.T) {
	var rude atomic.Bool
	up := upstreamtest.New(t, func(r *upstreamtest.Request) *upstreamtest.Script {
		if r.Number == 3 || rude.Load() {
			return upstreamtest.RawAnswer().CloseNow()
		}
		return telling(t, r)
	})
	e := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL()})
	for i := range 6 {
		if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
			t.Fatalf("question %d: %v", i, err)
		}
	}
	conns := map[int]bool{}
	for _, r := range up.Requests() {
		conns[r.Conn] = true
	}
	if up.Calls() != 8 || len(conns) != 3 {
		t.Errorf("%d calls on %d connections, want 8 on 3", up.Calls(), len(conns))
	}
	rude.Store(true)
	before := up.Calls()
	fresh := llm.NewEmbedder(llm.EmbedderConfig{BaseURL: up.URL()})
	if _, err := fresh.Embed(t.Context(), []string{"a"}); err == nil || up.Calls() != before+1 {
		t.Errorf("%v after %d calls", err, up.Calls()-before)
	}
}
