package policy

import (
	"regexp"
	"sort"
	"strings"
	"sync"

	"strata/internal/prefilter"
)

// nounDetector finds "my X is Y" for the nouns of the table. Its pattern with
// all nouns is large; in a clause with few of them one with just these finds the
// same.
type nounDetector struct {
	nouns         *nounList
	before, after string
	match         *prefilter.Pattern
	not           *regexp.Regexp // the match is about something else

	mu  sync.Mutex
	few map[[maxFew]int16]*regexp.Regexp // by the nouns' places in the list, from 1
}

// maxFew is how many nouns of a clause get a pattern of their own, fewKept how
// many such patterns are kept.
const (
	maxFew  = 3
	fewKept = 400
)

// nounList is the nouns of one language, the longest first.
type nounList struct {
	words  []string
	finder prefilter.Set
	found  []*prefilter.Pattern
}

func nounsOf(chinese bool) *nounList {
	l := &nounList{}
	for i := range singles {
		list := singles[i].en
		if chinese {
			list = singles[i].zh
		}
		for _, n := range list {
			l.words = append(l.words, regexp.QuoteMeta(n))
		}
	}
	sort.SliceStable(l.words, func(i, j int) bool { return len(l.words[i]) > len(l.words[j]) })
	for _, w := range l.words {
		l.found = append(l.found, l.finder.Screen(`(?i)`+w))
	}
	return l
}

// in lists the first few nouns that a clause holds, by their places.
func (l *nounList) in(clause string) (few [maxFew]int16, more bool) {
	hits, n := l.finder.Scan(clause), 0
	for i, p := range l.found {
		if !p.May(&hits) {
			continue
		}
		if n == maxFew {
			return few, true
		}
		few[n] = int16(i + 1)
		n++
	}
	return few, false
}

var nounDetectors = func() []*nounDetector {
	zh, en := nounsOf(true), nounsOf(false)
	list := []*nounDetector{
		{nouns: zh, before: `(?:` + userZH + `|我们|咱们|咱)(?:的)?(?:新的?|目前的?|当前的?)?`, after: `(?:\s*[(（][^)）]*[)）])?\s*(?:现在|已经|目前|其实|应该)?(?:不是[^,，]{1,16}[,，]\s*)?(?:是|为|叫做?|在|改成了?|改为了?|换成了?|变成了?|改到了?|换到了?|=|：|:)\s*` + tail, not: zhAsk},
		{nouns: zh, before: `(?:^|[,，。;；])\s*`, after: `(?:\s*[(（][^)）]*[)）])?\s*(?:现在|已经|目前)?(?:改成了?|改为了?|换成了?|变成了?|改到了?|更新为|是|为|：|:|用)\s*` + tail, not: zhAsk},
		{nouns: en, before: `\b(?:my|our|the user'?s|user'?s)\s+(?:new |current )?`, after: `(?:\s*\([^)]*\))?\s*(?:is now|is|are|was changed to|has changed to|has moved to|changed to|will be|'s|=|:)\s*(?:(?:now|actually|called|named|in|at|on) )*` + tail, not: enAsk},
		{nouns: en, before: `^(?:the |change (?:my |the )|update (?:my |the )|set (?:my |the ))`, after: `\s*(?:is now|has changed to|has moved to|changed to|to)\s*(?:(?:in|at|on) )?` + tail, not: enAsk},
	}
	for _, d := range list {
		d.match = gated(d.before + `(` + strings.Join(d.nouns.words, "|") + `)` + d.after)
		d.few = map[[maxFew]int16]*regexp.Regexp{}
	}
	return list
}()

var (
	zhAsk = rx(`什么|多少|哪|谁|几[点号楼]|吗[?？]?$`)
	enAsk = rx(`(?:is|are) (?:what|who|where|which|not |too |so |very |a mess|great|good|bad|being|going)`)
)

// find returns the noun and the value that a clause states, if any.
func (d *nounDetector) find(clause string, hits *prefilter.Hits) (noun, value string) {
	if !d.match.May(hits) {
		return "", ""
	}
	re := d.match.Regexp
	if few, more := d.nouns.in(clause); !more {
		re = d.fewer(few)
	}
	m := re.FindStringSubmatch(clause)
	if m == nil || d.not.MatchString(m[0]) {
		return "", ""
	}
	return m[1], m[2]
}

// fewer is the pattern with these nouns only, which stay in their order.
func (d *nounDetector) fewer(places [maxFew]int16) *regexp.Regexp {
	d.mu.Lock()
	defer d.mu.Unlock()
	re := d.few[places]
	if re != nil {
		return re
	}
	if len(d.few) >= fewKept {
		return d.match.Regexp
	}
	var words []string
	for _, p := range places {
		if p > 0 {
			words = append(words, d.nouns.words[p-1])
		}
	}
	re = rx(d.before + `(` + strings.Join(words, "|") + `)` + d.after)
	d.few[places] = re
	return re
}
