package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"fedpvi/client"
)

// figures has the metrics of a run. None of them depends on records. So there is no metric for a
// loss, a norm, the number of records, or the computing time.
type figures struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	bytes    *prometheus.CounterVec
	lines    prometheus.Gauge
	asked    prometheus.Gauge
	of       prometheus.Gauge
	waiting  prometheus.GaugeFunc
	since    atomic.Int64 // Unix time in seconds since when the client has been waiting for the coordinator; 0 while it is not waiting
}

func newFigures() *figures {
	f := &figures{registry: prometheus.NewRegistry()}
	f.calls = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fedpvi_client_calls_total", Help: "Calls to the coordinator, by method and outcome."}, []string{"method", "outcome"})
	f.bytes = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fedpvi_client_bytes_total", Help: "Bytes to and from the coordinator, including the bytes of TLS."}, []string{"direction"})
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	f.lines = gauge("fedpvi_client_connections", "Connections to the coordinator.")
	f.asked = gauge("fedpvi_client_questions_asked", "Plans of the study so far.")
	f.of = gauge("fedpvi_client_questions", "Plans of the study in total.")
	f.waiting = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fedpvi_client_waiting_since_seconds", Help: "When the client began to wait, in Unix time; 0 while it does not wait."},
		func() float64 { return float64(f.since.Load()) })
	f.registry.MustRegister(f.calls, f.bytes, f.lines, f.asked, f.of, f.waiting)
	return f
}

// Called counts a call to the coordinator, by method and outcome (see transport.Observer).
func (f *figures) Called(method, outcome string) { f.calls.WithLabelValues(method, outcome).Inc() }

// Moved counts received and sent bytes.
func (f *figures) Moved(received, sent int) {
	f.bytes.WithLabelValues("received").Add(float64(received))
	f.bytes.WithLabelValues("sent").Add(float64(sent))
}

// Connected adds change to the number of connections.
func (f *figures) Connected(change int) { f.lines.Add(float64(change)) }

func (f *figures) status(s client.Status) {
	f.asked.Set(float64(s.Asked))
	f.of.Set(float64(s.Of))
	f.since.Store(0)
	if s.Waiting != "" {
		f.since.Store(s.Since.Unix())
	}
}

func (f *figures) serve(address string) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(f.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 8 << 10}
	go func() { _ = server.Serve(listener) }() // after Shutdown, Serve returns an error
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx) // an error does not matter, because the program ends
	}, nil
}
