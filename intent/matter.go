package intent

// settle says whose matter the message is, an organisation's or anybody's, as
// the same question asks for a document in the one case and for common
// knowledge in the other. Words of rules do not tell by themselves: games have
// rules too.
func (r *reading) settle() {
	r.any.drop(settled)
	daily := r.any.has(everyday) && !r.any.meets(figures) || r.any.meets(pastimes) && !r.any.meets(tables)
	if r.any.meets(affairs) || r.any.meets(ruling) && !daily {
		return
	}
	r.any.add(isGeneral)
	if daily {
		r.any.add(isDaily)
	}
	if daily && r.any.has(isAsked) || r.any.meets(ways) || r.clause.has(define) && !r.any.meets(tables) {
		r.any.add(isOpen)
	}
}

var (
	settled = maskOf([]cue{isGeneral, isDaily, isOpen})
	affairs = maskOf([]cue{policyNoun, legal, service, staff, workplace, whoDecides, ours, offer, product, health})
	ruling  = maskOf([]cue{ruleWord, duty, isAcronym})
	ways    = maskOf([]cue{manner, consequent, why})
	// Films, players and dogs are in tables as often as in talk, cups and
	// carpets seldom.
	pastimes = maskOf([]cue{leisure, selfHelp, animal})
	figures  = maskOf([]cue{aggregate, sheet, metric, attribute, statistic, chart, each, ordering, ranked})
	tables   = maskOf([]cue{aggregate, sheet, metric, attribute, statistic, chart, each, ordering, ranked, howMany, superlative, comparison})
)
