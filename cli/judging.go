package cli

import (
	"context"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"

	"strata/learn/judge"
	"strata/llm"
	"strata/proxy"
	"strata/stores/ledger"
)

// judging has a model look again at requests whose intent was unsure.
type judging struct {
	*judge.Judge
	results *prometheus.CounterVec
}

// newJudging asks the configured model at upstream. It goes straight there:
// nothing of it may become a turn of somebody's.
func (s *server) newJudging(l *ledger.Ledger) *judging {
	u, err := url.Parse(s.cfg.Upstream.BaseURL)
	if err != nil {
		panic("BUG: upstream.base_url was not validated: " + err.Error())
	}
	client := llm.New(llm.Config{BaseURL: proxy.APIBase(u), APIKey: s.cfg.Upstream.APIKey})
	j := &judging{results: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "strata_intent_judged_total",
		Help: "Requests of unsure intent that a model looked at again: agreed, changed, failed (no usable answer), dropped (no room, no time, or gone)."}, []string{"result"})}
	for _, result := range judge.Results {
		j.results.WithLabelValues(result)
	}
	j.Judge = judge.New(judge.Config{
		Ask: func(ctx context.Context, system, user string) (string, error) {
			return client.Ask(ctx, s.cfg.Intent.Judge.Model, system, user, judge.AnswerTokens)
		},
		Ledger: l, Judged: func(result string) { j.results.WithLabelValues(result).Inc() }, Logger: s.log,
	})
	return j
}

// offer hands a case in.
func (j *judging) offer(u proxy.Unsure) { j.Offer(judge.Case(u)) }
