package daemon

import (
	"net/http"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"fedpvi/coordinator"
	"fedpvi/transport"
)

// metrics has all numbers that a coordinator exports to a monitoring system. They do not depend on
// the contents of messages and do not identify clients, with two exceptions: verdicts, which are in
// the transcript, and the norms of answers that everybody may read. There are no durations, because
// the length of a round depends on how long the clients compute, and thus on their records.
type metrics struct {
	registry *prometheus.Registry

	studies *prometheus.CounterVec
	rounds  prometheus.Counter
	closed  *prometheus.CounterVec
	verdict *prometheus.CounterVec
	norms   *prometheus.GaugeVec
	answers prometheus.Counter
	refused *prometheus.CounterVec
	stored  *prometheus.CounterVec
	batch   prometheus.Histogram
	waiting *prometheus.GaugeVec
	audited *prometheus.CounterVec

	calls       *prometheus.CounterVec
	moved       *prometheus.CounterVec
	connections prometheus.Gauge
}

var (
	_ coordinator.Events = (*metrics)(nil)
	_ transport.Observer = (*metrics)(nil)
)

// inUse is the size of the live heap after the last garbage collection. It shows a memory leak
// better than the resident size, which depends on when the garbage was last collected.
var inUse = collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)})

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "fedpvi", Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "fedpvi", Name: name, Help: help}, labels)
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		studies:  counters("studies_total", "Studies that reached a state.", "state"),
		rounds:   counter("rounds_opened_total", "Plans that were sent."),
		closed:   counters("rounds_closed_total", "Plans that have an outcome, by whether all clients or only some answered.", "answers"),
		verdict:  counters("verdicts_total", "Rounds of the posterior that ended, by verdict.", "verdict"),
		norms: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "fedpvi", Name: "answer_norm", Help: "Norm of a client's last answer over the median norm of the others. Only where everybody may read answers.",
		}, []string{"client"}),
		answers: counter("answers_total", "Answers that were accepted."),
		refused: counters("refused_total", "Calls that were refused.", "method", "reason"),
		stored:  counters("transactions_total", "Transactions with the store.", "result"),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "fedpvi", Name: "batch_commands", Help: "Commands in one transaction.", Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "fedpvi", Name: "waiting_clients", Help: "Clients that a study is waiting for.",
		}, []string{"study"}),
		audited: counters("audit_lines_total", "Lines of the audit log, by result.", "result"),
		calls:   counters("calls_total", "Calls by clients.", "method", "outcome"),
		moved:   counters("bytes_total", "Bytes received and sent over connections.", "direction"),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "fedpvi", Name: "connections", Help: "Open connections from clients.",
		}),
	}
	m.registry.MustRegister(
		m.studies, m.rounds, m.closed, m.verdict, m.norms, m.answers, m.refused, m.stored, m.batch, m.waiting, m.audited,
		m.calls, m.moved, m.connections,
		collectors.NewGoCollector(inUse), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func (m *metrics) Began()                       { m.studies.WithLabelValues("began").Inc() }
func (m *metrics) Ended()                       { m.studies.WithLabelValues("ended").Inc() }
func (m *metrics) Aborted()                     { m.studies.WithLabelValues("aborted").Inc() }
func (m *metrics) Opened()                      { m.rounds.Inc() }
func (m *metrics) Took()                        { m.answers.Inc() }
func (m *metrics) Refused(method, why string)   { m.refused.WithLabelValues(method, why).Inc() }
func (m *metrics) Waiting(study string, n int)  { m.waiting.WithLabelValues(study).Set(float64(n)) }
func (m *metrics) Called(method, result string) { m.calls.WithLabelValues(method, result).Inc() }
func (m *metrics) Verdict(verdict string)       { m.verdict.WithLabelValues(verdict).Inc() }
func (m *metrics) Connected(change int)         { m.connections.Add(float64(change)) }

func (m *metrics) Influence(client string, norm float64) { m.norms.WithLabelValues(client).Set(norm) }

func (m *metrics) Closed(whole bool) { m.closed.WithLabelValues(label(whole, "all", "some")).Inc() }

func (m *metrics) Stored(batch int, ok bool) {
	m.stored.WithLabelValues(label(ok, "ok", "failed")).Inc()
	m.batch.Observe(float64(batch))
}

// Audited counts a line of the audit log as written or lost.
func (m *metrics) Audited(written bool) {
	m.audited.WithLabelValues(label(written, "ok", "lost")).Inc()
}

func label(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

func (m *metrics) Moved(received, sent int) {
	m.moved.WithLabelValues("received").Add(float64(received))
	m.moved.WithLabelValues("sent").Add(float64(sent))
}

// handler returns a handler that serves the metrics and a health check, which fails if works
// returns an error.
func (m *metrics) handler(works func() error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := works(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("ok\n")) //nolint:errcheck // the other end went away
	})
	return mux
}
