package intent

// lean is how much a message rests on the turn before.
type lean uint8

const (
	free     lean = iota
	pointing      // it, they, 这个: something of the turn before is meant
	elliptic      // and Lisbon?, 那成都呢, 继续: nothing without the turn before
)

var leanNames = [...]string{free: "same talk", pointing: "points back", elliptic: "elliptic"}

// leanWeight is the weight of the label of the turns before.
var leanWeight = [...]float32{free: .7, pointing: 1.5, elliptic: 3}

// leanOf tells from the words alone, and from whether something came before.
func leanOf(r *reading, s *scores, history bool) lean {
	size := r.latin + r.han/2
	own := max(s.sum[chatAt], s.sum[ragAt], s.sum[dataAt])
	switch {
	case r.first.has(smallTalk) && !r.any.has(andWhat) && !r.any.has(whatOf):
		return free
	case r.first.has(carryOn) && size <= 3,
		r.first.has(andWhat) && size <= 10,
		r.any.has(whatOf) && size <= 6 && !r.any.has(wh) && !r.any.has(you),
		r.any.has(andWhat) && r.first.has(backward) && size <= 8,
		r.any.has(otherTurn):
		return elliptic
	case history && size <= 2 && own < 2:
		return elliptic
	case history && size <= 4 && own < 2, r.any.has(backward) && size <= 16, r.first.has(backward) && size <= 24:
		return pointing
	}
	return free
}

// depth is how many earlier messages of the user are read for what the
// conversation is about.
const depth = 4

// before judges the turns before the last message: from the words, and where
// these are silent from the session's last request.
func (c *Classifier) before(messages []Message, last Intent) (to int, ok bool) {
	var turns [depth]int
	n := 0
	for i := len(messages) - 2; i >= 0 && n < depth; i-- {
		if messages[i].Role == "user" || messages[i].Role == "" {
			turns[n] = i
			n++
		}
	}
	for n--; n >= 0; n-- {
		r, s := c.judge(messages[turns[n]].Text)
		if ok {
			s.sum[to] += leanWeight[leanOf(&r, &s, true)]
		}
		if best, lead, _ := s.best(); lead > 0 {
			to, ok = best, true
		}
	}
	if ok {
		return to, true
	}
	return indexOf(last)
}

func indexOf(i Intent) (int, bool) {
	for at, name := range intents {
		if name == i {
			return at, true
		}
	}
	return 0, false
}
