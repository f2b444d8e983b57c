package client_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fedpvi/client/ledger"
	"fedpvi/coordinator"
	"fedpvi/coordinator/bundle"
	"fedpvi/crypto/identity"
	"fedpvi/pvi/study"
	"fedpvi/transport"
)

// These numbers were printed by "client ledger show" in an older version of the program.
const (
	olderEntries = 5
	olderAnswers = 4
	olderSpent   = 0.27756576847357306
	olderTotal   = 11.887210693210363
	olderRounds  = 40
)

// unpack extracts an archive from testdata/older into a temporary directory.
func unpack(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(filepath.Join("testdata", "older", name))
	check(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	check(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		check(t, err)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			check(t, os.MkdirAll(path, h.FileInfo().Mode().Perm()))
			check(t, os.Chmod(path, h.FileInfo().Mode().Perm()))
			continue
		}
		b, err := io.ReadAll(r)
		check(t, err)
		check(t, os.WriteFile(path, b, h.FileInfo().Mode().Perm()))
	}
}

// An older version of the program began this study and stopped in the middle of a round (see
// testdata/older/README.md).
//
// It charged the cost against an outsider, who knows none of the noise. But the other participant
// knows half of the noise, so against it each answer costs twice as much. The client must charge
// the difference in one entry.
func TestOlderStudyContinues(t *testing.T) {
	if testing.Short() {
		t.Skip("played in full without -short")
	}
	dir := unpack(t, "state-424c10c.tar.gz")
	begin := time.Now()
	now := func() time.Time { // the time of the older run, because its certificates have expired since
		return time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC).Add(time.Since(begin))
	}
	spent := func(m string, entries int, want float64) {
		t.Helper()
		s, err := ledger.Open(filepath.Join(dir, m+".state"), ledger.Options{Existing: true, Now: now()})
		check(t, err)
		defer s.Close()
		a, ok := s.Account("records")
		sequence, _ := s.Head()
		if !ok || math.Abs(a.Total-olderTotal) > 1e-12 || math.Abs(a.Spent-want) > 1e-9*want || sequence != uint64(entries) {
			t.Errorf("%s has spent %v of %v in %d entries, want %v of %v", m, a.Spent, a.Total, sequence, want, olderTotal)
		}
	}
	for _, m := range []string{"north", "south"} {
		spent(m, olderEntries, olderSpent)
	}

	hub, err := coordinator.Open(filepath.Join(dir, "hub"), coordinator.Options{Now: now})
	check(t, err)
	defer func() { check(t, hub.Close()) }()
	n := &realNetwork{t: t, hub: hub, records: dir, clients: []identity.Name{"north", "south"}, now: now}
	n.study, err = hub.Study("older")
	check(t, err)
	source, err := os.ReadFile(filepath.Join(dir, "study.toml"))
	check(t, err)
	n.document, err = study.Parse("study.toml", source)
	check(t, err)
	status, err := n.study.Status(t.Context())
	check(t, err)
	if status.Phase != coordinator.Running || status.Asked != 5 || len(status.Open) != 1 {
		t.Fatalf("the older study is %s, after %d plans", status.Phase, status.Asked)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	n.address = l.Addr().String()
	n.serve(l, n.study)
	for m, e := range n.play() {
		if e == nil || e.Aborted || len(e.Result) == 0 {
			t.Errorf("%s: %+v", n.clients[m], e)
		}
	}
	for _, m := range []string{"north", "south"} {
		spent(m, olderEntries+1+olderRounds-olderAnswers, 2*olderSpent/olderAnswers*olderRounds)
	}
	var all bytes.Buffer
	check(t, n.study.WriteBundle(&all))
	report, err := bundle.Verify(&all)
	check(t, err)
	if report.Answers != 2*olderRounds {
		t.Errorf("%d answers in the bundle", report.Answers)
	}
}

// The tests of package transport cover how each side handles other versions.
//
//abuse:case A11 the client stops and keeps its state; it continues when one of the programs is updated
func TestAnotherProtocolIsRefused(t *testing.T) {
	st, records, _, _ := simulated(t, federatedStudy(linear, "rounds = 2", "unit = \"client\"\nepsilon = 8.0\ndelta = 1e-5\nclip = 20.0", ""))
	n := newRealNetwork(t, st, records)
	state := func() (sequence uint64, head ledger.Hash) {
		s, err := ledger.Open(filepath.Join(records, string(n.clients[0])+".state"), ledger.Options{Existing: true, Now: time.Now()})
		check(t, err)
		defer s.Close()
		return s.Head()
	}
	sequence, head := state()
	refusal := &transport.Refusal{Reason: transport.Version, Text: "the client speaks protocol version 1, the coordinator protocol version 3: update the client"}
	n.refuse = refusal
	_, err := n.run(t.Context(), 0)
	if !errors.Is(err, refusal) {
		t.Errorf("%v", err)
	}
	if after, same := state(); after != sequence || same != head {
		t.Errorf("the ledger went from %d to %d entries", sequence, after)
	}
	n.refuse = nil
	for m, e := range n.play() {
		if e == nil || e.Aborted {
			t.Errorf("%s: %+v", n.clients[m], e)
		}
	}
}
