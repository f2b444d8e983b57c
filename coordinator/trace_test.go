package coordinator

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"fedpvi/coordinator/bundle"
)

// The trace must have every round, and its last mean of q must be the mean of the result. It must
// show each client's influence only if the study publishes the clients' messages. If the result is
// a point estimate, distances must be in standard deviations of the prior.
func TestTrace(t *testing.T) {
	version2 := func(document []byte) []byte {
		return bytes.Replace(document, []byte("version = 1"), []byte("version = 2"), 1)
	}
	for name, c := range map[string]struct {
		document []byte
		rounds   int
		sds      string
		clients  int
	}{
		"scores":    {version2(planeText("unit = \"record\"\nnoise_multiplier = 1.0\ndelta = 1e-5", "rounds = 5", "nominal_records = 20")), 5, "the posterior", 2},
		"estimates": {version2(planeText("unit = \"record\"\nnoise_multiplier = 1.0\ndelta = 1e-5", "rounds = 2\nsolver = \"clipped-analytical\"\nintervals = \"none\"", "")), 2, "the prior", 2},
		"sums":      {planeText(clientPrivacy, "rounds = 2", ""), 2, "the posterior", 0},
	} {
		h, _ := played(t, c.document)
		p, trace, err := bundle.Trace(bytes.NewReader(bundleOf(t, h)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(trace.Rounds) != c.rounds || trace.SDs != c.sds || len(trace.Influential()) != c.clients {
			t.Errorf("%s: %+v, %+v", name, trace, trace.Influential())
		}
		for k, r := range trace.Rounds {
			for i, d := range r.Distance {
				sd := 1.0
				if p.Estimates == nil {
					sd = p.Marginals[i].Interval.SD
				}
				if want := (r.Mean[i] - p.Result.Mean[i]) / sd; p.Estimates == nil && math.Abs(d-want) > 1e-9 || k == c.rounds-1 && math.Abs(d) > 1e-9 {
					t.Errorf("%s, round %d: distance %g, want %g", name, k+1, d, want)
				}
			}
		}
		for _, client := range trace.Influential() {
			if client.Answers != c.rounds || client.Norm <= 0 {
				t.Errorf("%s: %+v", name, client)
			}
		}
	}
	s := newStand(t)
	if _, _, err := bundle.Trace(bytes.NewReader(bundleOf(t, s.house))); err == nil || !strings.Contains(err.Error(), "has no posterior") {
		t.Errorf("of a running study: %v", err)
	}
}
