package pvi

import (
	"math"
	"slices"
	"testing"

	"fedpvi/pvi/study"
)

// The shift must be the distance to the posterior mean of another server, whose last outcome lacks
// the client's release. If the study reports point estimates, the unit is the standard deviation of
// the prior.
func TestInfluenceIsAPosteriorWithoutTheAnswer(t *testing.T) {
	for name, overrides := range map[string][]study.Override{
		"scores":     {{Key: "inference", Value: "{ rounds = 5 }"}, {Key: "federation.nominal_records", Value: "12"}},
		"statistics": nil,
	} {
		h := newHouse(t, publishedStudy(t, append(overrides, set("federation.min_clients", "2"))...), 3, 1)
		h.server.Watch()
		var past []*Outcome
		for !h.server.Done() {
			plan, _ := h.server.Next()
			o := h.answered(&plan)
			h.settle(o)
			mean, sds, err := h.protocol.family.Marginals(h.server.Posterior())
			check(t, err)
			for i := range sds {
				sds[i] = math.Sqrt(sds[i])
				if name == "statistics" {
					sds[i] = h.protocol.model.Parameters.Prior(i).SD
				}
			}
			for m, influence := range h.server.Influences() {
				other := h.without(past, o, m)
				var largest float64
				for i, x := range other {
					largest = max(largest, math.Abs(x-mean[i])/sds[i])
				}
				if o.Verdict == Accepted && largest > 0 && math.Abs(influence.Shift/largest-1) > 1e-9 || influence.Client != clientID(m) {
					t.Errorf("%s, plan %d: the influence %+v, want a shift of %g", name, plan.Number, influence, largest)
				}
			}
			past = append(past, o)
		}
		if len(h.server.Influences()) != 3 {
			t.Errorf("%s: %d influences", name, len(h.server.Influences()))
		}
	}
}

// without returns the mean of q after the outcomes in past, followed by o with client m left out.
func (h *house) without(past []*Outcome, o *Outcome, m int) []float64 {
	h.t.Helper()
	again := NewServer(h.protocol)
	for _, before := range past {
		again.Next()
		if _, err := again.Replay(before); err != nil {
			h.t.Fatal(err)
		}
	}
	again.Next()
	size := h.protocol.messages.Size
	less := &Outcome{Number: o.Number, Participants: slices.Delete(slices.Clone(o.Participants), m, m+1), Sum: slices.Clone(o.Sum)}
	for i, x := range o.Releases[m*size:][:size] {
		less.Sum[i] -= x
	}
	less.Releases = slices.Delete(slices.Clone(o.Releases), m*size, (m+1)*size)
	if _, err := again.Replay(less); err != nil {
		h.t.Fatal(err)
	}
	mean := make([]float64, h.protocol.family.Dim())
	check(h.t, h.protocol.family.Mean(mean, again.Posterior()))
	return mean
}
