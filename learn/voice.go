package learn

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/policy"
)

// third puts a clause into the third person where that is safe: the speaker is
// its only person and stands at its head. Otherwise it stays as it was said.
// Names, numbers and everything behind the head keep their spelling.
func third(clause string) string {
	clause = strings.TrimRight(strings.TrimSpace(clause), "。.!！；; ，,~～")
	if chinese(clause) {
		return thirdHan(clause)
	}
	return thirdEnglish(clause)
}

var (
	headHan  = regexp.MustCompile(`^(?:嗯+[，,]?|其实|那个|对了[，,]?|还有[，,]?|另外[，,]?|但是?[，,]?|可是[，,]?|而且[，,]?|所以[，,]?|不过[，,]?|因为|说实话[，,]?|顺便说一下[，,]?|哦[，,]?|你好[，,！]?)*`)
	otherHan = regexp.MustCompile(`我|你|您|咱|他|她`)
)

func thirdHan(s string) string {
	s = s[len(headHan.FindString(s)):]
	rest, ok := strings.CutPrefix(s, "我")
	if !ok || strings.HasPrefix(rest, "们") || strings.HasPrefix(rest, "司") || strings.HasPrefix(rest, "方") || strings.HasPrefix(rest, "国") || strings.HasPrefix(rest, "组") || otherHan.MatchString(rest) {
		return s
	}
	return "用户" + rest
}

var (
	headEnglish = regexp.MustCompile(`(?i)^(?:well|so|hey|hi|oh|um+|yeah|yes|ok(?:ay)?|also|btw|by the way|actually|lately|fyi|and|but|just so you know|unfortunately|honestly|anyway)[,:]?\s+`)
	otherEN     = regexp.MustCompile(`(?i)\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|you|your|we|our|us|let's)\b`)
	verbsEN     = map[string]string{"prefer": "prefers", "like": "likes", "love": "loves", "enjoy": "enjoys", "hate": "hates", "dislike": "dislikes", "need": "needs", "want": "wants", "use": "uses", "work": "works", "live": "lives",
		"run": "runs", "lead": "leads", "manage": "manages", "own": "owns", "teach": "teaches", "study": "studies", "speak": "speaks", "play": "plays", "plan": "plans", "hope": "hopes", "aim": "aims", "have": "has", "eat": "eats", "drink": "drinks", "avoid": "avoids", "report": "reports", "come": "comes", "maintain": "maintains", "coach": "coaches", "do": "does", "don't": "doesn't", "sit": "sits", "go": "goes", "take": "takes", "write": "writes"}
	adverbsEN = map[string]bool{"really": true, "usually": true, "always": true, "never": true, "only": true, "also": true, "still": true, "normally": true, "typically": true, "generally": true, "mostly": true, "often": true, "currently": true, "now": true, "absolutely": true}
	sameEN    = map[string]bool{"can't": true, "cannot": true, "can": true, "won't": true, "moved": true, "joined": true, "will": true, "should": true, "must": true, "graduated": true, "was": true, "decided": true, "found": true, "switched": true, "started": true}
)

func thirdEnglish(s string) string {
	bare := s
	for range 3 {
		bare = bare[len(headEnglish.FindString(bare)):]
	}
	if out, ok := speaker(bare); ok {
		return out
	}
	if bare != s && bare != "" {
		r, n := utf8.DecodeRuneInString(bare)
		return string(unicode.ToUpper(r)) + bare[n:]
	}
	return s
}

// speaker rewrites the head of a clause in English.
func speaker(s string) (string, bool) {
	for _, h := range []struct{ first, third string }{{"my ", "The user's "}, {"i'm ", "The user is "}, {"i’m ", "The user is "}, {"i am ", "The user is "}, {"i've ", "The user has "}, {"i have ", "The user has "}} {
		if len(s) > len(h.first) && strings.EqualFold(s[:len(h.first)], h.first) {
			rest := s[len(h.first):]
			return h.third + rest, !otherEN.MatchString(rest)
		}
	}
	if len(s) < 3 || !strings.EqualFold(s[:2], "i ") || otherEN.MatchString(s[2:]) {
		return "", false
	}
	words := strings.SplitN(s[2:], " ", 4)
	for i, w := range words[:min(len(words), 3)] {
		low := strings.ToLower(w)
		if v := verbsEN[low]; v != "" {
			words[i] = v
			return "The user " + strings.Join(words, " "), true
		}
		if sameEN[low] {
			return "The user " + strings.Join(words, " "), true
		}
		if !adverbsEN[low] {
			break
		}
	}
	return "", false
}

// sentenceOf states one of several single-valued facts of a clause by itself,
// so that it can be replaced without touching the others.
func sentenceOf(f policy.Fact, zh bool) string {
	noun := policy.TopicNoun(f.Topic, zh)
	if !zh {
		return "The user's " + noun + " is " + f.Value
	}
	if f.Topic == "name" {
		return "用户叫" + f.Value
	}
	return "用户的" + noun + "是" + f.Value
}
