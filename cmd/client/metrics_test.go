package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"fedpvi/client"
)

//abuse:case A18 the metrics are those of a reviewed list
func TestMetricsAreTheReviewedOnes(t *testing.T) {
	f := newFigures()
	f.Called("entry", "ok")
	f.Moved(10, 20)
	f.Connected(1)
	f.status(client.Status{Asked: 2, Of: 3, Waiting: "somebody", Since: time.Unix(1000, 0)})
	server := httptest.NewServer(promhttp.HandlerFor(f.registry, promhttp.HandlerOpts{}))
	defer server.Close()
	response, err := http.Get(server.URL)
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	want := []string{
		`fedpvi_client_bytes_total{direction="received"} 10`,
		`fedpvi_client_bytes_total{direction="sent"} 20`,
		`fedpvi_client_calls_total{method="entry",outcome="ok"} 1`,
		"fedpvi_client_connections 1",
		"fedpvi_client_questions 3",
		"fedpvi_client_questions_asked 2",
		"fedpvi_client_waiting_since_seconds 1000",
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the metrics are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMetricsAreServed(t *testing.T) {
	if _, err := newFigures().serve("nowhere"); err == nil {
		t.Error("an address without a port is accepted")
	}
	stop, err := newFigures().serve("127.0.0.1:0")
	must(t, err)
	stop()
}
