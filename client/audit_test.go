package client_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"fedpvi/internal/testing/auditlog"
)

func (p *holder) audited() (lines *auditlog.Lines) {
	p.audit, lines = auditlog.New(p.t)
	return lines
}

// playAudited plays a study with two clients. The first one has an audit log, and the text added is
// appended to its records.
func playAudited(t *testing.T, added string) (*holder, *auditlog.Lines) {
	h := newHub(t, planeStudy(recordPrivacy, "", ""))
	all := []*holder{newHolder(t, h, "north", 0), newHolder(t, h, "south", 1)}
	lines := all[0].audited()
	check(t, os.WriteFile(all[0].data, []byte(records(0)+added), 0o600))
	for _, p := range all {
		check(t, p.approve())
		p.mustStep()
	}
	h.begin()
	play(t, all)
	return all[0], lines
}

// The test compares all attributes, because any other could depend on records.
//
//abuse:case A17 the audit log of a client has its answers, charges and verdicts, and nothing else
func TestAuditLogOfAClient(t *testing.T) {
	p, lines := playAudited(t, "")
	a := p.account()
	want := []string{"consent", "study began"}
	for plan := range 3 {
		want = append(want, fmt.Sprintf("answer %d accepted records %d %s", plan+1, plan+2, a.Unit), fmt.Sprintf("verdict %d accepted", plan+1))
	}
	want = append(want, "study ended")
	if got := lines.Events("plan", "outcome", "dataset", "entry", "counted_in", "verdict", "state"); !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	permitted := []string{"study", "digest", "plan", "outcome", "dataset", "entry", "view", "cost", "counted_in", "verdict", "state", "clients"}
	charged := 0.0
	for _, l := range lines.All() {
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

//abuse:case A17 one record more changes no line of a client's audit log
func TestAuditLogsOfNeighbours(t *testing.T) {
	var logs [2][]string
	for world, added := range []string{"", "1,10\n"} {
		_, lines := playAudited(t, added)
		for _, l := range lines.All() {
			logs[world] = append(logs[world], fmt.Sprint(l.Event, l.Level, l.Attrs))
		}
	}
	if !slices.Equal(logs[0], logs[1]) {
		t.Errorf("without the record\n%s\nand with it\n%s", strings.Join(logs[0], "\n"), strings.Join(logs[1], "\n"))
	}
}

func TestAuditLogAfterARestart(t *testing.T) {
	_, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	p.mustStep()
	lines := p.audited()
	p.mustStep()
	cost := p.account().Studies[0].Spent
	if got := lines.Events("plan", "entry", "cost"); !slices.Equal(got, []string{fmt.Sprintf("answer 1 2 %g", cost)}) {
		t.Errorf("the log has %q", got)
	}
}
