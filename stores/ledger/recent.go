package ledger

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"strata/stores"
)

// What a turn repeats, as its repeats column says.
const (
	repeatsReplaced = 1 // a memory or a document's version that was replaced since
	repeatsDeleted  = 2 // what was deleted since, or may not be read any more
)

// Recent returns the messages of the last n finished turns of the scope's
// session, oldest first. A turn that repeats what was deleted since is left
// out; one that states or was given what was replaced since says so.
func (l *Ledger) Recent(ctx context.Context, scope stores.Scope, n int) ([]stores.Turn, error) {
	if err := scope.CheckUser(); err != nil {
		return nil, err
	}
	if scope.Session == "" || n <= 0 {
		return nil, nil
	}
	turns, err := turnsOf(l.reader(ctx), scope, servedTurns, n+quotedTurns)
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	memories, err := l.memoryFates(ctx, scope, turns)
	if err != nil {
		return nil, err
	}
	passages, err := l.passageFates(ctx, scope, turns)
	if err != nil {
		return nil, err
	}
	for i := range slices.Backward(turns) { // the oldest first
		t := &turns[i]
		t.repeats = max(t.repeats, memories.of(t), passages.of(t), quotedOf(t, turns[i+1:]))
	}
	turns = slices.DeleteFunc(turns, func(t spoken) bool { return t.repeats == repeatsDeleted })
	return messages(turns[:min(n, len(turns))]), nil
}

// quotedTurns is how many turns before the first one that is returned are
// looked at for what it may have repeated.
const quotedTurns = 16

// memoryFate is what has become of a memory, and when.
type memoryFate struct {
	status string
	at     int64
}

type memoryFates map[string]memoryFate

// given are the ids with a prefix that turns were given.
func given(turns []spoken, prefix string) (ids []string) {
	for _, t := range turns {
		for _, id := range slices.Concat(t.items, t.stable) {
			if strings.HasPrefix(id, prefix) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// memoryFates looks up the memories that turns were given.
func (l *Ledger) memoryFates(ctx context.Context, scope stores.Scope, turns []spoken) (memoryFates, error) {
	out := memoryFates{}
	for ids := range slices.Chunk(given(turns, "mem_"), 256) {
		marks, many := holders(2, len(ids))
		err := each(l.reader(ctx), `SELECT id, status, updated_at FROM memories WHERE tenant = $1 AND id IN (`+marks+`)`,
			fill([]any{scope.Tenant}, ids, many), func(scan func(...any) error) error {
				var id string
				var f memoryFate
				err := scan(&id, &f.status, &f.at)
				out[id] = f
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inFlight is how long before the change of a memory an answer may have ended
// that is recorded only after it.
const inFlight = time.Second

// of tells what a turn's answer was made with. Standing memories are with
// every turn of a session and hardly quoted, so of those only what was under
// way during the change counts, and so is not older than it: turns from before
// are compared by their words, in outdate.
func (f memoryFates) of(t *spoken) (repeats int) {
	for _, id := range t.items {
		repeats = max(repeats, f[id].repeats())
	}
	for _, id := range t.stable {
		if t.ended+inFlight.Microseconds() >= f[id].at {
			repeats = max(repeats, f[id].repeats())
		}
	}
	return repeats
}

func (f memoryFate) repeats() int {
	switch stores.MemoryStatus(f.status) {
	case stores.Superseded:
		return repeatsReplaced
	case stores.Deleted:
		return repeatsDeleted
	}
	return 0
}

// passageFates are the passages that turns were given: true = as it is in
// force, false = it was and may still be read; others may not.
type passageFates map[string]bool

func (l *Ledger) passageFates(ctx context.Context, scope stores.Scope, turns []spoken) (passageFates, error) {
	out := passageFates{}
	for ids := range slices.Chunk(given(turns, "psg_"), 256) {
		for _, inForce := range [...]bool{false, true} {
			query, args := l.allowedPassages(scope, ids, inForce)
			err := each(l.reader(ctx), `SELECT p.id `+query, args, func(scan func(...any) error) error {
				var id string
				err := scan(&id)
				out[id] = inForce
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (f passageFates) of(t *spoken) (repeats int) {
	for _, id := range t.items {
		if !strings.HasPrefix(id, "psg_") {
			continue
		}
		if inForce, readable := f[id]; !readable {
			return repeatsDeleted
		} else if !inForce {
			repeats = repeatsReplaced
		}
	}
	return repeats
}

// quotedOf tells whether a turn's answer repeats a code or number of an
// earlier turn that it was given and that does not hold.
func quotedOf(t *spoken, earlier []spoken) (repeats int) {
	for i := range earlier {
		e := &earlier[i]
		if e.repeats > repeats && (slices.Contains(t.items, e.id+"/user") || slices.Contains(t.items, e.id+"/assistant")) &&
			holdsAny(t.answer, slices.Concat(codes(e.asked), codes(e.answer))) {
			repeats = e.repeats
		}
	}
	return repeats
}

// comparedTurns is how many of a user's turns are compared with a memory that
// ends: far more than are served again.
const comparedTurns = 2000

// turnsToCompare finds a user's latest turns by the index of sessions: by seq
// the planner would read everybody's.
const turnsToCompare = `SELECT seq, asked, answer FROM exchanges WHERE tenant = $1 AND user_id = $2 AND part = 'turn' AND repeats < $3
AND at >= $5 ORDER BY +seq DESC LIMIT $4`

// firstStated is when a memory was said first, as far as that is on record.
const firstStated = `SELECT COALESCE(MIN(at), $3) FROM evidence WHERE tenant = $1 AND memory = $2`

// outdate notes on turns that a memory rests on them, or that they repeat what
// tells it from others, and that it is about to be replaced or deleted.
func (l *Ledger) outdate(t *tx, tenant, id string, repeats int) error {
	m, err := memoryOf(t, tenant, id, func(m stores.Memory) bool { return m.Status != stores.Deleted && m.User != "" })
	if err == stores.ErrNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE exchanges SET repeats = $4 WHERE tenant = $1 AND user_id = $2 AND repeats < $4
AND id IN (SELECT exchange FROM evidence WHERE tenant = $1 AND memory = $3)`, tenant, m.User, id, repeats)
	words := telling(m.Summary)
	if err != nil || len(words) == 0 {
		return err
	}
	var since int64
	if repeats == repeatsReplaced { // what was said before is no repetition of it
		if _, err := one(t, firstStated, []any{tenant, id, micros(m.CreatedAt)}, &since); err != nil {
			return err
		}
	}
	var repeating []int64
	err = each(t, turnsToCompare, []any{tenant, m.User, repeats, comparedTurns, since}, func(scan func(...any) error) error {
		var seq int64
		var asked, answer string
		err := scan(&seq, &asked, &answer)
		if holdsAny(asked, words) || holdsAny(answer, words) {
			repeating = append(repeating, seq)
		}
		return err
	})
	for _, seq := range repeating {
		if err == nil {
			_, err = t.exec(`UPDATE exchanges SET repeats = $2 WHERE seq = $1`, seq, repeats)
		}
	}
	return err
}

var (
	latinWord = regexp.MustCompile(`[\p{Latin}\d]+(?:[-_./@+:][\p{Latin}\d]+)*`)
	hanValue  = regexp.MustCompile(`(?:是|叫做?|在|为|到|喜欢|讨厌|改成)\s*(\d*\p{Han}{2,8}|\d+\p{Han}{1,7})`)
)

// telling are the words by which a statement is known again, in lower case:
// codes, numbers and names, and in Chinese what follows 是, 在 and their like.
func telling(statement string) (words []string) {
	words = codes(statement)
	for i, w := range latinWord.FindAllString(statement, -1) {
		if first, _ := utf8.DecodeRuneInString(w); i > 0 && unicode.IsUpper(first) && utf8.RuneCountInString(w) >= 3 {
			words = append(words, strings.ToLower(w))
		}
	}
	for _, m := range hanValue.FindAllStringSubmatch(statement, -1) {
		words = append(words, strings.ToLower(m[1]))
	}
	return words
}

// codes are the words of a text that hold a digit, in lower case.
func codes(text string) (words []string) {
	for _, w := range latinWord.FindAllString(text, -1) {
		if utf8.RuneCountInString(w) >= 3 && strings.ContainsFunc(w, unicode.IsDigit) {
			words = append(words, strings.ToLower(w))
		}
	}
	return words
}

// holdsAny tells whether a text holds one of words, which are in lower case;
// a word of letters and digits must stand alone.
func holdsAny(text string, words []string) bool {
	if len(words) == 0 {
		return false
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return holds(text, w) })
}

func holds(text, word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		from = at + len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[from:])
		if !(wordRune(before) && wordRune(first)) && !(wordRune(last) && wordRune(after)) {
			return true
		}
	}
}

func wordRune(r rune) bool { return unicode.IsDigit(r) || unicode.Is(unicode.Latin, r) }
