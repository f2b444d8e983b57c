package audit

import (
	"fmt"
	"testing"

	"fedpvi/pvi/study"
)

// The pairs that real processes play must together cover every option of a study.
func TestPairsCoverTheGrid(t *testing.T) {
	want := []string{"full q", "diagonal q", "tied factors", "exact factors", string(study.Synchronous), string(study.Sequential), string(study.Asynchronous)}
	for _, f := range outcomeFamilies {
		want = append(want, string(f))
	}
	for _, m := range outcomeModes {
		want = append(want, m.name, string(m.unit))
		for _, a := range m.adjacencies() {
			want = append(want, fmt.Sprint(m.unit, a))
		}
	}
	covered := map[string]bool{}
	for _, p := range Pairs(false) {
		for _, option := range p.of.options() {
			covered[option] = true
		}
	}
	for _, option := range want {
		if !covered[option] {
			t.Errorf("no pair has %s", option)
		}
	}
}
