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
	r := l.reader(ctx)
	turns, err := turnsOf(r, scope, servedTurns, n)
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	given, err := fates(r, scope.Tenant, turns)
	if err != nil {
		return nil, err
	}
	replaced := map[string]bool{}
	err = each(r, replacedEvidence, []any{scope.Tenant, scope.User, scope.Session}, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		replaced[id] = true
		return err
	})
	if err != nil {
		return nil, err
	}
	turns = slices.DeleteFunc(turns, func(t spoken) bool { return given.deletedIn(t) })
	return messages(turns, func(t spoken) bool {
		return replaced[t.id] || slices.ContainsFunc(t.items, func(id string) bool { return given[id].status == string(stores.Superseded) })
	}), nil
}

// replacedEvidence are the exchanges of a session that memories rest on which
// others have replaced.
const replacedEvidence = `SELECT e.exchange FROM evidence e JOIN memories m ON m.tenant = e.tenant AND m.id = e.memory
WHERE e.tenant = $1 AND e.user_id = $2 AND e.session = $3 AND m.status = 'superseded'`

// memoryFate is what has become of a memory, and when.
type memoryFate struct {
	status string
	at     int64
}

type memoryFates map[string]memoryFate

// fates looks up the memories that turns were given.
func fates(s source, tenant string, turns []spoken) (memoryFates, error) {
	var ids []string
	for _, t := range turns {
		ids = append(append(ids, t.items...), t.stable...)
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return !strings.HasPrefix(id, "mem_") })
	out := memoryFates{}
	for part := range slices.Chunk(ids, 256) {
		marks, many := holders(2, len(part))
		args := fill([]any{tenant}, part, many)
		err := each(s, `SELECT id, status, updated_at FROM memories WHERE tenant = $1 AND id IN (`+marks+`)`, args, func(scan func(...any) error) error {
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

// inFlight is how long before its end an answer may have been written that is
// recorded only after a delete.
const inFlight = time.Second

// deletedIn tells whether a turn's answer was made with a memory that is
// deleted now. Standing ones are with every turn of a session and hardly
// quoted, so of those only what was under way during the delete counts: turns
// from before it are compared by their words, in unserve.
func (f memoryFates) deletedIn(t spoken) bool {
	gone := func(id string) bool { return f[id].status == string(stores.Deleted) }
	if slices.ContainsFunc(t.items, gone) {
		return true
	}
	return slices.ContainsFunc(t.stable, func(id string) bool {
		return gone(id) && t.at <= f[id].at && t.ended+inFlight.Microseconds() >= f[id].at
	})
}

// unserve keeps turns from being served again that a memory which is about to
// be deleted rests on, or that repeat what tells it from others.
func (l *Ledger) unserve(t *tx, tenant, id string) error {
	m, err := memoryOf(t, tenant, id, func(m stores.Memory) bool { return m.Status != stores.Deleted && m.User != "" })
	if err == stores.ErrNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE exchanges SET unserved = 1 WHERE tenant = $1 AND user_id = $2
AND id IN (SELECT exchange FROM evidence WHERE tenant = $1 AND memory = $3)`, tenant, m.User, id)
	words := telling(m.Summary)
	if err != nil || len(words) == 0 {
		return err
	}
	var repeating []int64
	err = each(t, `SELECT seq, asked, answer FROM exchanges WHERE tenant = $1 AND user_id = $2 AND part = 'turn' AND unserved = 0`,
		[]any{tenant, m.User}, func(scan func(...any) error) error {
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
			_, err = t.exec(`UPDATE exchanges SET unserved = 1 WHERE seq = $1`, seq)
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
	for i, at := range latinWord.FindAllStringIndex(statement, -1) {
		w := statement[at[0]:at[1]]
		first, _ := utf8.DecodeRuneInString(w)
		digit := strings.ContainsFunc(w, unicode.IsDigit)
		if utf8.RuneCountInString(w) >= 3 && (digit || i > 0 && unicode.IsUpper(first)) {
			words = append(words, strings.ToLower(w))
		}
	}
	for _, m := range hanValue.FindAllStringSubmatch(statement, -1) {
		words = append(words, strings.ToLower(m[1]))
	}
	return words
}

// holdsAny tells whether a text holds one of words, which are in lower case;
// a word of letters and digits must stand alone.
func holdsAny(text string, words []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool {
		for from := 0; ; {
			at := strings.Index(text[from:], w)
			if at < 0 {
				return false
			}
			at += from
			before, _ := utf8.DecodeLastRuneInString(text[:at])
			after, _ := utf8.DecodeRuneInString(text[at+len(w):])
			first, _ := utf8.DecodeRuneInString(w)
			last, _ := utf8.DecodeLastRuneInString(w)
			if !(wordRune(before) && wordRune(first)) && !(wordRune(last) && wordRune(after)) {
				return true
			}
			from = at + len(w)
		}
	})
}

func wordRune(r rune) bool { return unicode.IsDigit(r) || unicode.Is(unicode.Latin, r) }
