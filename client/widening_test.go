package client_test

import (
	"math"
	"strings"
	"testing"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/onestep"
	"fedpvi/pvi/session"
)

func TestReviewStatesTheWidening(t *testing.T) {
	const (
		nominal = 50
		steps   = "solver = \"dp-svi\"\nq = \"diagonal\"\nsteps = 4"
		records = "nominal_records = 50"
	)
	for name, c := range map[string]struct{ privacy, inference, federation string }{
		"statistics":            {recordPrivacy, "", records},
		"changes of a data set": {clientPrivacy, "", records},
		"gradients":             {recordPrivacy, steps, records},
		"no number of records":  {recordPrivacy, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, all := federation(t, planeStudy(c.privacy, c.inference, c.federation), "north", "south")
			r := all[0].review()
			var text strings.Builder
			check(t, r.Text(&text))
			said := strings.Join(strings.Fields(text.String()), " ")
			if c.federation == "" {
				if r.Noise.Widening != 0 || !strings.Contains(said, "depends on the number of records") {
					t.Errorf("without a number of records: %g, %s", r.Noise.Widening, said)
				}
				return
			}
			p, err := session.Public(h.study, []pvi.ClientID{"north", "south"})
			check(t, err)
			tau := r.Noise.Forecast.Noise
			if c.inference != "" {
				tau = p.Method().(method.Stepped).ClosedFormNoise()
			}
			precision := float64(r.Assumed) * nominal / (0.5 * 0.5) // the standard deviation of the outcome's noise is 0.5
			want := math.Sqrt(onestep.Closed(precision, tau) * precision)
			if math.Abs(r.Noise.Widening/want-1) > 1e-12 || !(want > 1) || !strings.Contains(said, "times as wide as without noise") {
				t.Errorf("%g times as wide, want %g: %s", r.Noise.Widening, want, said)
			}
		})
	}
}
