package ingest

import (
	"slices"
	"strconv"
)

// mark tells where in its file a text stands, from a place in it on.
type mark struct {
	at   int    // in the text
	what string // "page", "slide" or "row"
	n    int
}

// placed adds to a path where the text from start to end stands: "page 12",
// "pages 12-13", "rows 20-39". Rows count only where they begin in the text,
// so that the head of a table that is repeated does not.
func placed(path string, marks []mark, start, end int) string {
	first, _ := slices.BinarySearchFunc(marks, start, func(m mark, at int) int { return m.at - at })
	after, _ := slices.BinarySearchFunc(marks, end, func(m mark, at int) int { return m.at - at })
	within := marks[first:after]
	if len(within) == 0 || within[0].what != "row" { // pages go on until the next one
		if first > 0 && (len(within) == 0 || within[0].at > start) {
			within = marks[first-1 : after]
		}
	}
	if len(within) == 0 {
		return path
	}
	from, to := within[0], within[len(within)-1]
	if len(within) == 1 && from.at < start && from.what == "row" { // the rest of a long row
		return joinPath(path, "row "+strconv.Itoa(from.n))
	}
	if from.what != to.what || to.n < from.n { // of several tables
		return path
	}
	place := from.what + " " + strconv.Itoa(from.n)
	if to.n > from.n {
		place = from.what + "s " + strconv.Itoa(from.n) + "-" + strconv.Itoa(to.n)
	}
	return joinPath(path, place)
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + " > " + name
}
