package pvi

import (
	"math"
	"testing"
)

// If nothing is clipped, raw and centred coordinates lead to the same q, except for the noise. The
// prior's mean is not zero, so mixing up the coordinates would move λ by hundreds of standard
// deviations. Each of 18 elements may be off by 6 standard deviations, which a correct program
// exceeds for 4 seeds in 10^8.
func TestCoordinates(t *testing.T) {
	const clients, start = 5, 1.5
	run := func(q, privacy string) *house {
		st := planeStudy(t, privacy, "damping = 1\nq = \""+q+"\"", "")
		st.Prior.Mean, st.Inference.Rounds = start, 1
		h := newHouse(t, st, clients, 1)
		h.run()
		return h
	}
	for _, q := range []string{"full", "diagonal"} {
		exact := run(q, noPrivacy).server.Posterior()
		for _, coordinates := range []string{"raw", "centred"} {
			h := run(q, "unit = \"client\"\nnoise_multiplier = 0.003\ndelta = 1e-5\nclip = 400\ncoordinates = \""+coordinates+"\"")
			p, noise := h.protocol, make([]float64, len(exact))
			for i, x := range h.server.Posterior() {
				noise[i] = x - exact[i]
			}
			// In centred coordinates, the noise in the precision Λ, multiplied by the centre, also enters h
			// = Λm.
			if d := p.family.Dim(); coordinates == "centred" {
				for k, at := range p.family.Precision() {
					noise[at[0]] -= start * noise[d+k]
					if at[0] != at[1] {
						noise[at[1]] -= start * noise[d+k]
					}
				}
			}
			sd, squares := p.method.Noise().SD*math.Sqrt(clients), 0.0
			if want := 0.003 * 400.0; math.Abs(sd/want-1) > 1e-6 {
				t.Fatalf("noise of all clients has sd %g, want %g", sd, want)
			}
			for i, x := range noise {
				squares += x * x
				if math.Abs(x) > 6*sd {
					t.Errorf("%s, %s: element %d is %g sds away from where the records lead", q, coordinates, i, x/sd)
				}
			}
			if squares < sd*sd/1e6 {
				t.Errorf("%s, %s: there is no noise", q, coordinates)
			}
		}
		if q == "diagonal" {
			continue // a diagonal q needs more than one round
		}
		for i, want := range run(q, noPrivacy).pooled() {
			if math.Abs(exact[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("element %d is %g, pooled %g", i, exact[i], want)
			}
		}
	}
}
