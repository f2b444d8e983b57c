package words_test

import (
	"strings"
	"testing"

	"fedpvi/pvi/method"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// The headline gives the ε against the strongest observer that is not trusted. By default, a study
// of version 2 that opens only sums meets its target against another participant. With colluders =
// 0, the target of 4 holds only for the noise of all three clients together. A participant can
// subtract its own third, and against it ε is 5.06.
func TestHeadlineNamesTheStrongestObserver(t *testing.T) {
	none := study.Override{Key: "federation.colluders", Value: "0"}
	for _, c := range []struct {
		name    string
		clients int
		set     []study.Override
		want    []string
		not     string
	}{
		{"three", 3, nil, []string{"ε = 4 at δ = 1e-05 under zero-out, against one other participant, with or without the coordinator", "Against a coordinator who can open every client's message it would be ε = 5.992; the study trusts that nobody opens single messages."}, ""},
		{"two", 2, nil, []string{"ε = 4 at", "against one other participant"}, ""},
		{"one", 1, nil, []string{"ε = 4 at", "against an outsider"}, "participant"},
		{"no colluders", 3, []study.Override{none}, []string{"ε = 5.06", "against one other participant, who knows"}, ""},
		{"version 1", 3, []study.Override{{Key: "study.version", Value: "1"}, {Key: "inference.intervals"}}, []string{"ε = 5.06", "against one other participant, who knows"}, ""},
		{"coalition", 3, []study.Override{{Key: "federation.colluders", Value: "2"}}, []string{"ε = 4 at", "against 2 colluding clients"}, ""},
		{"records", 3, []study.Override{{Key: "privacy.unit", Value: `"record"`}, {Key: "inference.solver", Value: `"clipped-analytical"`}}, []string{"ε = 4 at", "against anyone who reads what the client sends"}, "coordinator"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := protocol(t, summed, c.clients, c.set...)
			costs, err := p.Costs(p.Releases())
			if err != nil {
				t.Fatal(err)
			}
			says(t, words.Headline(costs), c.want, c.not)
		})
	}
}

// The headline warns of an ε above 10 and gives the factor e^ε.
func TestHeadlineOfALargeEpsilon(t *testing.T) {
	for epsilon, want := range map[float64]string{2: "", 10: "", 20: "which is 4.9e+08", 1e6: "which is more than 1e+300"} {
		got := words.Headline([]method.Cost{{Epsilon: epsilon, Delta: 1e-5}})
		if warned := strings.Contains(got, "PROMISES NEXT TO NOTHING"); warned != (want != "") || !strings.Contains(got, want) {
			t.Errorf("ε = %g: %q", epsilon, got)
		}
	}
}
