package e2e_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

// added is the time in milliseconds that Strata took before it sent a request.
func (a reply) added(t testing.TB) float64 {
	t.Helper()
	_, text, ok := strings.Cut(a.header.Get("Server-Timing"), "strata;dur=")
	text, _, _ = strings.Cut(text, ",")
	ms, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil {
		t.Errorf("Server-Timing is %q", a.header.Get("Server-Timing"))
	}
	return ms
}

func TestWriteLoadC093(t *testing.T) {
	sessions, turns := 200, 10
	if testing.Short() {
		sessions = 50
	}
	writeLoad(t, sessions, turns)
}

// writeLoad has many sessions ask beside uploads and reads, checks that all is
// recorded, and logs the milliseconds added.
func writeLoad(t *testing.T, sessions, turns int) {
	// A model that takes a while, as all do: the sessions ask one after the
	// other and not as fast as two processors can.
	answer := upstreamtest.Respond(200).Header("Content-Type", "application/json").SendHead().Pause(600 * time.Millisecond).WriteString(plainAnswer("OK."))
	r := newRig(t, upstreamtest.Always(answer.Frame(upstreamtest.Chunked)))
	r.client.Transport.(*http.Transport).MaxIdleConnsPerHost = sessions
	r.memories(t, u1(""), "") // reads the token, once

	stop := make(chan struct{})
	var beside, asking sync.WaitGroup
	var reads, longest atomic.Int64
	beside.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
			began := time.Now()
			if status, text := r.control(t, who{}, http.MethodGet, "/v1/memories?limit=500", "", ""); status != http.StatusOK {
				t.Errorf("a read of all memories: %d %s", status, text)
			}
			reads.Add(1)
			longest.Store(max(longest.Load(), int64(time.Since(began))))
		}
	})
	beside.Go(func() {
		for n, passages := 0, 0; passages < 2000; n++ {
			d := r.putDocument(t, "", fmt.Sprint("handbook-", n), handbook(n, 100))
			passages += d.Passages
		}
	})
	times := make([][]float64, sessions)
	for s := range sessions {
		asking.Go(func() {
			time.Sleep(time.Duration(s) * time.Second / time.Duration(sessions)) // people do not begin at one instant
			w := who{user: fmt.Sprint("U", s/4), session: fmt.Sprint("S", s)}
			for i := range turns {
				words := []string{"Remember: the door of hall %d-%d is blue", "how many steps has the stairway %d-%d?", "谢谢 %d-%d", "我喜欢%d号%d茶"}[i%4]
				a := r.ask(t, w, user(fmt.Sprintf(words, s, i)))
				if a.status != http.StatusOK {
					t.Errorf("status %d: %s", a.status, a.body)
				}
				times[s] = append(times[s], a.added(t))
			}
		})
	}
	asking.Wait()
	close(stop)
	beside.Wait()
	r.flush(t)

	recorded := 0
	for s := range sessions {
		recorded += len(r.turns(t, who{user: fmt.Sprint("U", s/4), session: fmt.Sprint("S", s)}))
	}
	if recorded != 2*sessions*turns {
		t.Errorf("%d messages recorded, want %d", recorded, 2*sessions*turns)
	}
	for _, word := range []string{"locked", "BUSY", `"level":"ERROR"`} {
		if strings.Contains(r.stderr.String(), word) {
			t.Errorf("the log says %q:\n%.2000s", word, r.stderr)
		}
	}
	all := slices.Concat(times...)
	slices.Sort(all)
	p99 := all[len(all)*99/100]
	t.Logf("%d turns, time added before the request: median %.2f ms, p99 %.2f ms, longest %.2f ms; %d reads of all memories beside, longest %v; late records %v",
		len(all), all[len(all)/2], p99, all[len(all)-1], reads.Load(), time.Duration(longest.Load()), r.metric(t, "strata_exchanges_late_total"))
	r.stop(t)
}

// plainAnswer is the body of a finished answer.
func plainAnswer(text string) string {
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, text)
}

// handbook is a Markdown document of about n passages that differ.
func handbook(number, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Handbook %d\n", number)
	for i := range n {
		fmt.Fprintf(&b, "\n## Rule %d of book %d\n\n", i, number)
		for s := range cmp.Or(i%5, 5) + 4 {
			fmt.Fprintf(&b, "Clause %d-%d-%d says that the %s of yard %d is looked at every %d weeks by its keeper. ", number, i, s,
				[]string{"gate", "crane", "boiler", "lift", "ramp"}[(i+s)%5], i*s+number, s+2)
		}
		b.WriteString("\n")
	}
	return b.String()
}
