package intent

// place says where in the request a cue must stand.
type place uint8

const (
	anywhere place = iota
	opening        // where a clause begins, pleasantries skipped
	start          // where the message begins, pleasantries skipped
)

// rule adds weight to an intent when one of in stands at the place, one of
// with stands anywhere (if named), and none of without does.
type rule struct {
	name    string
	to      Intent
	weight  float32 // 1 is a hint, 2 is evidence, 4 decides alone
	at      place
	in      []cue
	with    []cue
	without []cue
	open    bool // of CHAT: it may yet be a question that a document answers
}

// rules is the whole of the word rules, for both languages. What counts is the
// work that is asked for: a verb that opens a clause outweighs the subject
// that it is about. rules_test.go has a message for each, in both languages.
var rules = []rule{
	// CHAT: everything it needs is in the message or is common knowledge.
	{name: "polish", to: Chat, weight: 4, at: opening, in: []cue{polishVerb}},
	{name: "polish words", to: Chat, weight: 3, in: []cue{polishMark}},
	{name: "write", to: Chat, weight: 2.5, at: opening, in: []cue{writeVerb}, without: []cue{chart, statistic}},
	{name: "write a text", to: Chat, weight: 2, in: []cue{writeVerb}, with: []cue{textNoun}},
	{name: "give a text", to: Chat, weight: 2, at: opening, in: []cue{giveVerb}, with: []cue{textNoun}},
	{name: "give", to: Chat, weight: 1.2, at: opening, in: []cue{giveVerb}, without: []cue{duty}, open: true},
	{name: "ideas", to: Chat, weight: 2.5, in: []cue{ideaNoun}},
	{name: "suggest", to: Chat, weight: 2.5, in: []cue{ideaVerb}},
	{name: "memory", to: Chat, weight: 4, at: start, in: []cue{keeping}},
	{name: "role", to: Chat, weight: 3, at: start, in: []cue{role}},
	{name: "suppose", to: Chat, weight: 2.5, at: start, in: []cue{suppose}, without: []cue{service, staff, legal, consequent}},
	{name: "given text", to: Chat, weight: 2, in: []cue{given}, without: []cue{sheet}},
	{name: "greeting", to: Chat, weight: 2.5, at: start, in: []cue{greeting}, with: []cue{isShort}},
	{name: "small talk", to: Chat, weight: 3, at: start, in: []cue{smallTalk}},
	{name: "talk words", to: Chat, weight: 1.5, in: []cue{smallTalk}, without: []cue{isQuestion}},
	{name: "about the assistant", to: Chat, weight: 3, in: []cue{persona}},
	{name: "to the assistant", to: Chat, weight: 1.2, in: []cue{you}, with: []cue{isAsked}, without: []cue{service, product, ruleWord, offer, staff, legal, metric, comparison}, open: true},
	{name: "do you know it", to: Chat, weight: 3, in: []cue{knowing}, with: []cue{yesNo}, without: []cue{wh, metric, comparison, service}},
	{name: "opinion asked", to: Chat, weight: 3, in: []cue{opinion}},
	{name: "liking told", to: Chat, weight: 2, in: []cue{liking}},
	{name: "emotion", to: Chat, weight: 3.5, in: []cue{emotion}},
	{name: "explain", to: Chat, weight: 2.5, at: opening, in: []cue{explainVerb}, without: []cue{ours, legal, duty, policyNoun, staff}, open: true},
	{name: "plain words", to: Chat, weight: 4, in: []cue{plainly}},
	{name: "self help", to: Chat, weight: 3, in: []cue{selfHelp}, open: true},
	{name: "advice about people", to: Chat, weight: 1.5, in: []cue{people}, without: []cue{legal, staff}, open: true},
	{name: "how to treat people", to: Chat, weight: 1.5, in: []cue{people}, with: []cue{procedure}, without: []cue{legal, staff, service}, open: true},
	{name: "why in general", to: Chat, weight: .8, in: []cue{why}, without: []cue{service, legal, product, ours, metric, change, staff, you}, open: true},
	{name: "tone of talk", to: Chat, weight: 1, in: []cue{particle}},
	{name: "daily life", to: Chat, weight: 2, in: []cue{isDaily}, with: []cue{isAsked}, open: true},
	{name: "open question", to: Chat, weight: 1, in: []cue{isOpen}, open: true},
	{name: "leisure", to: Chat, weight: 1, in: []cue{leisure}, open: true},
	{name: "code help", to: Chat, weight: 2.5, in: []cue{coding}, with: []cue{explainVerb, define, polishVerb, writeVerb, fixVerb, given, isCode}, without: []cue{ours, policyNoun}},
	{name: "statement", to: Chat, weight: .5, in: []cue{isPlain}, open: true},
	{name: "statement of talk", to: Chat, weight: 1, in: []cue{isPlain}, with: []cue{chatty}, open: true},
	{name: "exclamation", to: Chat, weight: 1, in: []cue{isExclaim}, open: true},

	// DATA: work on files and tables.
	{name: "compute", to: Data, weight: 2.5, at: opening, in: []cue{computeVerb}},
	{name: "compute words", to: Data, weight: 1.5, in: []cue{computeMark}},
	{name: "fetch", to: Data, weight: 1.2, at: opening, in: []cue{fetchVerb}},
	{name: "fetch attributes", to: Data, weight: 1.5, in: []cue{fetchVerb, which, define}, with: []cue{attribute}},
	{name: "chart", to: Data, weight: 2.5, in: []cue{chart}},
	{name: "statistic", to: Data, weight: 2.5, in: []cue{statistic}},
	{name: "sheet", to: Data, weight: 2, in: []cue{sheet}},
	{name: "column named", to: Data, weight: 1, in: []cue{isIdentifier}},
	{name: "aggregate", to: Data, weight: 2.5, in: []cue{aggregate}},
	{name: "figure asked", to: Data, weight: 1, in: []cue{aggregate}, with: []cue{define, howMuch, which}, without: []cue{procedure, permit, legal, policyNoun, duty}},
	{name: "superlative", to: Data, weight: 1.2, in: []cue{superlative}},
	{name: "which is most", to: Data, weight: 1.5, in: []cue{superlative}, with: []cue{which, period, metric}},
	{name: "top n", to: Data, weight: 2.5, in: []cue{ranked}},
	{name: "comparison", to: Data, weight: 1, in: []cue{comparison}},
	{name: "comparison with a number", to: Data, weight: 1, in: []cue{comparison}, with: []cue{isNumber}},
	{name: "comparison of attributes", to: Data, weight: 1, in: []cue{comparison}, with: []cue{attribute}},
	{name: "which compares", to: Data, weight: 1, in: []cue{comparison}, with: []cue{which, wh}},
	{name: "rows edited", to: Data, weight: 1.5, at: opening, in: []cue{polishVerb}, with: []cue{sheet}, without: []cue{given, textNoun, isQuoted}},
	{name: "which of late", to: Data, weight: 1.5, in: []cue{recent, change}, with: []cue{which, wh}},
	{name: "ordering", to: Data, weight: 2.5, in: []cue{ordering}},
	{name: "each", to: Data, weight: 1, in: []cue{each}},
	{name: "attribute", to: Data, weight: 1, in: []cue{attribute}},
	{name: "how many", to: Data, weight: 2, in: []cue{howMany}},
	{name: "how much", to: Data, weight: .8, in: []cue{howMuch}, without: []cue{isDaily}},
	{name: "metric", to: Data, weight: 1, in: []cue{metric}},
	{name: "metric of a period", to: Data, weight: 1.5, in: []cue{metric}, with: []cue{period, change}},
	{name: "period", to: Data, weight: .7, in: []cue{period}},
	{name: "change", to: Data, weight: 1.2, in: []cue{change}},

	// RAG: facts of rules, processes and documentation.
	{name: "policy", to: RAG, weight: 2, in: []cue{policyNoun}},
	{name: "requirement", to: RAG, weight: 1.5, in: []cue{ruleWord}},
	{name: "obligation", to: RAG, weight: 1, in: []cue{duty}},
	{name: "law", to: RAG, weight: 1.5, in: []cue{legal}},
	{name: "service", to: RAG, weight: 1, in: []cue{service}},
	{name: "employment", to: RAG, weight: 1.2, in: []cue{staff}},
	{name: "permission", to: RAG, weight: 2, in: []cue{permit}, without: []cue{isOpen}},
	{name: "permission asked", to: RAG, weight: 1, in: []cue{may}, with: []cue{yesNo}, without: []cue{isOpen}},
	{name: "procedure", to: RAG, weight: 2, in: []cue{procedure}, without: []cue{isOpen}},
	{name: "how long", to: RAG, weight: 1.5, in: []cue{duration}, without: []cue{isOpen}},
	{name: "what happens if", to: RAG, weight: 1.5, in: []cue{consequent}, without: []cue{isOpen}},
	{name: "who decides", to: RAG, weight: 3, in: []cue{whoDecides}},
	{name: "how many one may", to: RAG, weight: 1.5, in: []cue{howMany, howMuch}, with: []cue{permit, may, staff}, without: []cue{metric, aggregate, comparison, period, each}},
	{name: "service wanted", to: RAG, weight: 1.2, in: []cue{request}, with: []cue{service, staff, ruleWord}},
	{name: "definition", to: RAG, weight: .8, in: []cue{define}, without: []cue{isOpen, isDaily}},
	{name: "our own", to: RAG, weight: .7, in: []cue{ours}, with: []cue{isAsked}},
	{name: "what is offered", to: RAG, weight: 1.5, in: []cue{offer}},
	{name: "product", to: RAG, weight: .8, in: []cue{product}},
	{name: "health", to: RAG, weight: 1, in: []cue{health}},
	{name: "question", to: RAG, weight: 1, in: []cue{isQuestion}, without: []cue{isOpen, isDaily}},
	{name: "question word", to: RAG, weight: .7, at: opening, in: []cue{wh, auxiliary}, without: []cue{isOpen, isDaily}},
	{name: "question of yes or no", to: RAG, weight: .7, in: []cue{yesNo}, without: []cue{isOpen}},
	{name: "search phrase", to: RAG, weight: 1, in: []cue{isPlain}, with: []cue{service, product, ruleWord, legal, staff, policyNoun}, without: []cue{chatty, fetchVerb, computeVerb, writeVerb, polishMark}},
}
