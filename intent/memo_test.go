package intent

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
)

// What was judged before is what is judged now, whoever asks at the same time.
func TestRememberedTurnsChangeNoVerdict(t *testing.T) {
	var talks [][]Message
	texts := []string{"How many days of leave do I get?", "那报销呢", "Plot the sales of last year by month", "thanks!", "and Lisbon?",
		"帮我把这段话润色一下：我们决定推迟发布", "它的单位是什么", "What does the travel policy say on flights?", "按地区再拆一下"}
	for n := range 3 * memoTurns {
		var talk []Message
		for i := range 1 + n%4 {
			text := texts[(n*7+i*5)%len(texts)]
			if n%3 == 0 { // more than are kept
				text += fmt.Sprint(" ", n)
			}
			talk = append(talk, Message{Role: "user", Text: text}, Message{Role: "assistant", Text: "…"})
		}
		talks = append(talks, talk[:len(talk)-1])
	}
	remembers, forgets := New(), New()
	forgets.turns = nil
	var works sync.WaitGroup
	for at := range 4 {
		works.Go(func() {
			for i, talk := range talks {
				if i%2 == at%2 {
					continue
				}
				if got, want := remembers.Classify(talk, Hints{}), forgets.Classify(talk, Hints{}); !reflect.DeepEqual(got, want) {
					t.Errorf("%v:\n%+v, without what was remembered\n%+v", talk, got, want)
					return
				}
			}
		})
	}
	works.Wait()
}
