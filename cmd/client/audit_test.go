package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/client"
)

func TestOrdersAreInTheAuditLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	c := &commands{Audit: []string{path}}
	must(t, c.openAudit(t.Context()))
	failed := errors.New("the study was not approved")
	if err := c.order("approve", slog.String("study", "plane"))(failed); err != failed {
		t.Errorf("%v", err)
	}
	must(t, c.order("rotate", slog.String("study", "plane"))(nil))
	must(t, c.audited.Close())
	text, err := os.ReadFile(path)
	must(t, err)
	var got []string
	for line := range strings.Lines(string(text)) {
		var l struct {
			Event, Order, Study, User, Error string
			UID                              int
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.UID != os.Getuid() || l.User == "" || l.Study != "plane" {
			t.Errorf("%s: %v", line, err)
		}
		got = append(got, l.Event+" "+l.Order+" "+l.Error)
	}
	want := "order approve |order-failed approve the study was not approved|order rotate "
	if text := strings.Join(got, "|"); text != want {
		t.Errorf("the log has %q, want %q", text, want)
	}
}

func TestAuditNeedsADestination(t *testing.T) {
	for _, to := range []string{filepath.Join(t.TempDir(), "no", "file"), "otlp+ftp://host", "syslog+udp://host"} {
		c := &commands{Audit: []string{to}}
		if err := c.openAudit(t.Context()); client.CodeOf(err) != client.Usage {
			t.Errorf("%s: %v", to, err)
		}
	}
}
