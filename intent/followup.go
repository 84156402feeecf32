package intent

import "math"

// lean is how much a message rests on the turn before.
type lean uint8

const (
	free     lean = iota
	pointing      // it, they, 这个: something of the turn before is meant
	elliptic      // and Lisbon?, 那成都呢, 继续: nothing without the turn before
)

var leanNames = [...]string{free: "same talk", pointing: "points back", elliptic: "elliptic"}

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

// rests tells whether a message is to be looked up together with the turn
// before. Beyond those that lean, which tells what kind of question they are,
// that is any of a few words ("who approves it?", 怎么申请): it may say all of its
// kind and yet nothing of its subject. Who greets or wants something written
// does not go on asking.
func rests(leaning lean, r *reading, s *scores, history bool) bool {
	return leaning != free || history && r.latin+r.han/2 <= fewWords && !r.first.has(smallTalk) && s.sum[chatAt] < 2
}

const fewWords = 4

// depth is how many earlier messages of the user are read for what the
// conversation is about, and TurnsRead counts the message itself as well.
const (
	depth     = 4
	TurnsRead = depth + 1
)

// floorOfBefore is the least that the turns before say of an intent, as a
// logarithm.
const floorOfBefore = -4

// before is what the turns before the last message say. The verdict on the
// session's last request, where there is one, knew more than its words: what
// files it brought, what was in the documents, who put it right. Else the
// turns are weighed anew, each with what the one before it says.
func (c *Classifier) before(messages []Message, last Intent) (logs [3]float32, ok bool) {
	if logs, ok = lastSaid(last); ok {
		return logs, true
	}
	var turns [depth]int
	n := 0
	for i := len(messages) - 2; i >= 0 && n < depth; i-- {
		if messages[i].Role == "user" || messages[i].Role == "" {
			turns[n] = i
			n++
		}
	}
	if n == 0 {
		return logs, false
	}
	g := takeGrams()
	defer g.giveBack()
	for n--; n >= 0; n-- {
		text := messages[turns[n]].Text
		t := c.turns.of(text, func() turn {
			r, s := c.judge(text, g)
			return c.turn(&r, &s, g)
		})
		sum := t.sum
		if ok {
			sum = c.leanOn(logs, sum, t.kind)
		}
		logs, ok = Logs(sum), true
	}
	return logs, true
}

// turn is a message that was judged, as one that others came before.
func (c *Classifier) turn(r *reading, s *scores, g *grams) turn {
	return turn{c.own(r, s, g), leanKind(leanOf(r, s, true), r)}
}

// leanOn is LeanOn by how a message leans.
func (c *Classifier) leanOn(before, sum [3]float32, kind int) [3]float32 {
	return LeanOn(before, sum, c.model.lean[kind], c.model.alone[kind])
}

// Logs are what a turn's sums say to the turn after it.
func Logs(sum [3]float32) (out [3]float32) {
	for i, p := range Softmax(sum) {
		out[i] = float32(max(math.Log(p), floorOfBefore))
	}
	return out
}

// lastSaid is what an earlier verdict tells without the words.
func lastSaid(last Intent) (logs [3]float32, ok bool) {
	at, ok := indexOf(last)
	if !ok {
		return logs, false
	}
	for i := range logs {
		logs[i] = float32(math.Log(.1))
	}
	logs[at] = float32(math.Log(.8))
	return logs, true
}

func indexOf(i Intent) (int, bool) {
	for at, name := range intents {
		if name == i {
			return at, true
		}
	}
	return 0, false
}
