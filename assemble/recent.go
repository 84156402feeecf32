package assemble

import (
	"strings"

	"strata/internal/tokens"
	"strata/policy"
	"strata/stores"
)

const (
	recentTurns = 10   // turns that are read for a thin client
	sourceTurns = 20   // turns among which the sources of memories are looked for
	maxMessage  = 4000 // bytes of one earlier message
)

// turnID names a message of an earlier turn among the items of a block.
func turnID(t *stores.Turn) string { return t.Exchange + "/" + t.Role }

func isTurnID(id string) bool {
	return strings.HasSuffix(id, "/user") || strings.HasSuffix(id, "/assistant")
}

// offerRecent offers the session's last messages in their order. Which of them
// are taken is a matter of room alone, never of likeness.
func (w *walk) offerRecent(p policy.LayerPlan) {
	turns, o := w.turns, offer{layer: policy.LayerRecent, share: p.Share, newestFirst: true}
	for i := range turns {
		if turns[i].Content != "" {
			o.items = append(o.items, turnItem(&turns[i]))
		}
	}
	w.offers = append(w.offers, o)
}

func turnItem(t *stores.Turn) item {
	short := *t // the slice is the ledger's
	short.Content = shorten(t.Content, maxMessage)
	return item{id: turnID(t), turn: &short, tokens: tokens.Estimate(short.Content) + turnTokens}
}

// shorten cuts the middle out of a text above limit bytes, at whole runes.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := limit*2/3, len(s)-limit/3
	return strings.ToValidUTF8(s[:head], "") + " … " + strings.ToValidUTF8(s[tail:], "")
}
