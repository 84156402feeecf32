package proxy

import "github.com/prometheus/client_golang/prometheus"

// metrics are the data plane's; none has a label per user.
type metrics struct {
	overhead   prometheus.Histogram
	upstream   prometheus.Histogram
	ttft       prometheus.Histogram
	context    *prometheus.CounterVec
	noMatch    prometheus.Counter // of context: the usual case, looked up once
	complete   prometheus.Counter // of answers
	answers    *prometheus.CounterVec
	refused    *prometheus.CounterVec
	cached     prometheus.Counter
	cut        prometheus.Counter
	resent     prometheus.Counter
	inFlight   prometheus.Gauge
	intents    *prometheus.CounterVec
	nearMisses *prometheus.CounterVec
	layers     *prometheus.HistogramVec
	injected   *prometheus.CounterVec
	late       prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	fast := []float64{.00005, .0001, .0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1}
	slow := []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	m := &metrics{
		overhead: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "strata_overhead_seconds",
			Help: "Time from a request's head to sending it upstream, waiting for the client's body and a free connection included.", Buckets: fast}),
		upstream: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "strata_upstream_seconds",
			Help: "Time from sending a request upstream to the end of its answer.", Buckets: slow}),
		ttft: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "strata_ttft_seconds",
			Help: "Time from sending a request upstream to the head of its answer.", Buckets: slow}),
		context: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "strata_context_total",
			Help: "Chat requests by what context they were given, and why."}, []string{"result", "reason"}),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "strata_answers_total",
			Help: "Chat answers by how they ended: complete, interrupted, failed (an error status or an error inside the answer)."}, []string{"outcome"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "strata_errors_total",
			Help: "Answers made by Strata itself, by error code."}, []string{"code"}),
		cached: prometheus.NewCounter(prometheus.CounterOpts{Name: "strata_cached_tokens_total",
			Help: "Prompt tokens that upstream reported as read from its cache."}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{Name: "strata_client_gone_total",
			Help: "Requests whose client left before the answer ended."}),
		resent: prometheus.NewCounter(prometheus.CounterOpts{Name: "strata_resent_total",
			Help: "Requests sent again because a kept upstream connection had closed before reading them."}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "strata_requests_in_flight",
			Help: "Requests being answered."}),
	}
	m.intents = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "strata_intent_total",
		Help: "Chat requests by the kind of question and the stage that decided it."}, []string{"intent", "stage"})
	m.nearMisses = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "strata_intent_near_misses_total",
		Help: "Chat requests where another kind of question was almost as likely, by the one taken and the next likely."}, []string{"intent", "next"})
	m.layers = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "strata_layer_seconds",
		Help: "Time to fetch each layer of context.", Buckets: fast}, []string{"layer"})
	m.injected = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "strata_injected_tokens_total",
		Help: "Tokens inserted into chat requests, by tier (stable or volatile) and kind of question."}, []string{"tier", "intent"})
	m.late = prometheus.NewCounter(prometheus.CounterOpts{Name: "strata_exchanges_late_total",
		Help: "Exchanges that were not recorded before the client got the end of the answer."})
	m.noMatch = m.context.WithLabelValues("none", "no_match")
	m.complete = m.answers.WithLabelValues("complete")
	if reg != nil {
		reg.MustRegister(m.overhead, m.upstream, m.ttft, m.context, m.answers, m.refused, m.cached, m.cut, m.resent, m.inFlight,
			m.intents, m.nearMisses, m.layers, m.injected, m.late)
	}
	return m
}
