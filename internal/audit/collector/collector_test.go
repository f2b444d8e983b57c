package collector

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collectpb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"fedpvi/internal/audit"
)

// The test server decodes the requests with OpenTelemetry's own protocol definition.
func TestCollectorReadsTheAuditLog(t *testing.T) {
	var mu sync.Mutex
	var got []*logspb.LogRecord
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collectpb.ExportLogsServiceRequest
		if err = errors.Join(err, proto.Unmarshal(body, &request)); err != nil || r.URL.Path != "/v1/logs" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s: %v", r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range request.GetResourceLogs() {
			if a := resource.GetResource().GetAttributes(); len(a) != 1 || a[0].GetValue().GetStringValue() != "fedpvi-coordinator" {
				t.Errorf("the resource is %v", a)
			}
			for _, scope := range resource.GetScopeLogs() {
				got = append(got, scope.GetLogRecords()...)
			}
		}
	}))
	defer collector.Close()
	files, sinks, err := Open(t.Context(), "fedpvi-coordinator", []string{"otlp+" + collector.URL, "/a/file"})
	if err != nil || len(files) != 1 || len(sinks) != 1 {
		t.Fatalf("%v, %v, %v", files, sinks, err)
	}
	l, err := audit.Open(nil, audit.Options{Others: sinks})
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	l.Write(audit.Verdict, slog.LevelWarn, slog.String("verdict", "rejected"), slog.Uint64("plan", 3), slog.Any("studies", []string{"a"}))
	l.Write(audit.Stop, slog.LevelInfo)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 2 {
		t.Fatalf("%d records arrived", len(got))
	}
	r := got[0]
	if r.GetEventName() != "verdict" || r.GetBody().GetStringValue() != "verdict" || r.GetSeverityNumber() != logspb.SeverityNumber_SEVERITY_NUMBER_WARN || r.GetTimeUnixNano() < uint64(before.UnixNano()) {
		t.Errorf("%v", r)
	}
	a := r.GetAttributes()
	if len(a) != 3 || a[0].GetValue().GetStringValue() != "rejected" || a[1].GetValue().GetIntValue() != 3 || a[2].GetValue().GetArrayValue().GetValues()[0].GetStringValue() != "a" {
		t.Errorf("%v", a)
	}
	if got[1].GetSeverityNumber() != logspb.SeverityNumber_SEVERITY_NUMBER_INFO {
		t.Errorf("%v", got[1])
	}
}
