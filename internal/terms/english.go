package terms

import "strings"

// endings are cut by Stem where enough of the word is left, the first that
// fits.
var endings = []string{"ation", "ition", "ment", "ness", "ion", "ly", "er", "or", "al", "ive", "able", "ible", "ance", "ence", "ity"}

// Stem takes the common English endings off a lower-case word, so that
// "reported" finds "reports". It is the same for text and query, so cutting
// too much costs little. Words with other letters, and weak ones, stay.
func Stem(w string) string {
	if len(w) < 4 || weak[w] {
		return w
	}
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w
		}
	}
	whole := Singular(w)
	w = participle(whole)
	if w == whole {
		w = suffix(w)
	}
	n := len(w)
	switch {
	case n > 3 && w[n-1] == 'y':
		return w[:n-1] + "i"
	case n > 3 && w[n-1] == 'e':
		w = w[:n-1]
	case w == whole:
		return w
	}
	// What is left of regulate and regulated meets regulation.
	if rest, ok := strings.CutSuffix(w, "at"); ok && len(rest) >= 4 {
		return rest
	}
	return w
}

func suffix(w string) string {
	for _, e := range endings {
		if rest, ok := strings.CutSuffix(w, e); ok && len(rest) >= 4 {
			return rest
		}
	}
	return w
}

// Singular takes off the ending of a plural or of a verb in the third person
// of a lower-case word, so that "likes" and "like" are one.
func Singular(w string) string {
	n := len(w)
	switch {
	case n > 4 && strings.HasSuffix(w, "ies"):
		return w[:n-3] + "y"
	case n > 4 && (strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "shes") || strings.HasSuffix(w, "ches") || strings.HasSuffix(w, "xes")):
		return w[:n-2]
	case n > 3 && w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i':
		return w[:n-1]
	}
	return w
}

// participle takes -ing and -ed off, and the second of a doubled consonant
// (planned, but not called, missed, buzzed).
func participle(w string) string {
	for _, e := range []string{"ing", "ed"} {
		rest, ok := strings.CutSuffix(w, e)
		n := len(rest)
		if !ok || n < 3 || !strings.ContainsAny(rest, "aeiouy") {
			continue
		}
		if c := rest[n-1]; c == rest[n-2] && c != 'l' && c != 's' && c != 'z' {
			return rest[:n-1]
		}
		return rest
	}
	return w
}
