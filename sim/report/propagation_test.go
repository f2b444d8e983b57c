package report

import (
	"strings"
	"testing"
)

func TestPropagationInWords(t *testing.T) {
	mixture := strings.NewReplacer(
		`family = "linear", outcome = "y", noise_sd = 0.25, terms = ["x"]`, `family = "mixture", columns = ["x"], components = 2, cluster_sd = 0.1`,
		"delta = 1e-5", "delta = 1e-5, clip = 8.0").Replace(descentStudy)
	for _, c := range []struct {
		source, inference, privacy string
		said
		unsound bool
	}{
		{
			source: descentStudy,
			said: said{
				[]string{
					"5 rounds of 4 steps, each a noisy sum of sites", "every record in every step", "the weight of each of 20 passes is its number to the power 1",
					"around the mean of q, precisions times 0.5", "the nearest factor", "a record's site, 0.7 of", "precision times mean",
				},
				[]string{"each a sum of its records' sites", "counts all 20 of them"},
				[]string{"a sum of its records' sites 20 times"},
			},
		},
		{
			source: descentStudy, inference: `, improper = "reject", sampling = "random-allocation", sampling_rate = 0.5, contribution = "deviation", power = 0.5, start_at = { x = 1.0 }`,
			said: said{plan: []string{"in one of the 2 steps of an epoch", "the last proper factor stays", "less an equal share", "to the power 0.5", "at the means of start_at"}},
		},
		{
			source: strings.NewReplacer("rounds = 5", "rounds = 1", "steps = 4", "steps = 20").Replace(descentStudy),
			said:   said{plan: []string{"up to 2 coefficients at once, and each moves by at most 1/2 of a pass", "a momentum of up to 0.5; the proposal"}},
		},
		{
			source: mixture, inference: `, start = "draw"`,
			said: said{plan: []string{"one precision for each; in the first half of the steps", "a draw from the prior that everybody can make"}},
		},
		{
			source: strings.NewReplacer("nominal_records = 400", "nominal_records = 20", "steps = 4", "steps = 20").Replace(descentStudy), inference: `, sampling = "published"`,
			privacy: `, adjacency = "replace-one", clip = 1.0`,
			said:    said{plan: []string{"AS PUBLISHED: one record a step", "AS PUBLISHED: γ = 1, by which a pass moves the factor 0.05 of the way", "NOT PRIVATE AS CLAIMED. Every record is matched once a pass"}},
			unsound: true,
		},
	} {
		source := strings.Replace(c.source, `"dp-svi"`, `"dp-sep"`+c.inference, 1)
		source = strings.Replace(source, "delta = 1e-5", "delta = 1e-5"+c.privacy, 1)
		p, promise := protocolOf(t, source)
		c.check(t, c.inference, p, promise)
		if promise.Sound == c.unsound || (promise.Claimed.Epsilon < promise.Proven.Epsilon) != c.unsound {
			t.Errorf("with %s: sound %v, ε claimed %g, proven %g", c.inference, promise.Sound, promise.Claimed.Epsilon, promise.Proven.Epsilon)
		}
	}
}
