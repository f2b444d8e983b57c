package client_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"fedpvi/crypto/identity"
	"fedpvi/internal/audit"
)

// lines is a sink that keeps the lines of an audit log.
type lines struct {
	mu  sync.Mutex
	all []audit.Line
}

func (s *lines) Write(l audit.Line) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, l)
	return nil
}

func (*lines) Close() error { return nil }

// of returns the events that were written, each with the values of the given attributes.
func (s *lines) of(attributes ...string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.all {
		text := l.Event
		for _, a := range l.Attrs {
			if slices.Contains(attributes, a.Key) {
				text += " " + a.Value.String()
			}
		}
		all = append(all, text)
	}
	return all
}

// audited gives a data holder an audit log.
func (p *holder) audited() *lines {
	s := &lines{}
	log, err := audit.Open(nil, audit.Options{Others: []audit.Sink{s}})
	check(p.t, err)
	p.audit = log
	return s
}

// The test plays a study of two clients and checks that the audit log of one of them has its
// consent, its answers with their charges, the verdicts, and how the study began and ended. No
// other attribute may be in it, so that nothing in it depends on records.
//
//abuse:case A17 the audit log of a client has its answers, charges and verdicts, and nothing else
func TestAuditLogOfAClient(t *testing.T) {
	h := newHub(t, planeStudy(recordPrivacy, "", ""))
	var all []*holder
	var s *lines
	for m, name := range []identity.Name{"north", "south"} {
		p := newHolder(t, h, name, m)
		if m == 0 {
			s = p.audited()
		}
		check(t, p.approve())
		_, err := p.step()
		check(t, err)
		all = append(all, p)
	}
	h.begin()
	play(t, all)
	a := all[0].account()
	want := []string{"consent", "study began"}
	for plan := range 3 {
		want = append(want, fmt.Sprintf("answer %d accepted records %d %s", plan+1, plan+2, a.Unit), fmt.Sprintf("verdict %d accepted", plan+1))
	}
	want = append(want, "study ended")
	if got := s.of("plan", "outcome", "dataset", "entry", "counted_in", "verdict", "state"); !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	permitted := []string{"study", "digest", "plan", "outcome", "dataset", "entry", "view", "cost", "counted_in", "verdict", "state", "clients"}
	charged := 0.0
	for _, l := range s.all {
		for _, attr := range l.Attrs {
			if !slices.Contains(permitted, attr.Key) {
				t.Errorf("%s has %v", l.Event, attr)
			}
			if attr.Key == "cost" {
				charged += attr.Value.Float64()
			}
		}
	}
	if d := charged/a.Spent - 1; d > 1e-9 || d < -1e-9 {
		t.Errorf("the log has charges of %g, and the ledger %g", charged, a.Spent)
	}
}

// The test plays a study twice, with a file that has one record more the second time. The audit logs
// must be the same, except for the times of their lines.
//
//abuse:case A17 one record more changes no line of a client's audit log
func TestAuditLogsOfNeighbours(t *testing.T) {
	var logs [2][]string
	for world := range logs {
		h := newHub(t, planeStudy(recordPrivacy, "", ""))
		var all []*holder
		var s *lines
		for m, name := range []identity.Name{"north", "south"} {
			p := newHolder(t, h, name, m)
			if m == 0 {
				s = p.audited()
				if world == 1 {
					check(t, os.WriteFile(p.data, []byte(records(0)+"1,10\n"), 0o600))
				}
			}
			check(t, p.approve())
			_, err := p.step()
			check(t, err)
			all = append(all, p)
		}
		h.begin()
		play(t, all)
		for _, l := range s.all {
			logs[world] = append(logs[world], fmt.Sprint(l.Event, l.Level, l.Attrs))
		}
	}
	if !slices.Equal(logs[0], logs[1]) {
		t.Errorf("without the record\n%s\nand with it\n%s", strings.Join(logs[0], "\n"), strings.Join(logs[1], "\n"))
	}
}

// The test checks that a client that sends an answer of an earlier process writes its charge.
func TestAuditLogAfterARestart(t *testing.T) {
	h, all := federation(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	h.begin()
	p := all[0]
	_, err := p.step()
	check(t, err)
	s := p.audited()
	_, err = p.step()
	check(t, err)
	cost := p.account().Studies[0].Spent
	if got := s.of("plan", "entry", "cost"); !slices.Equal(got, []string{fmt.Sprintf("answer 1 2 %g", cost)}) {
		t.Errorf("the log has %q", got)
	}
}
