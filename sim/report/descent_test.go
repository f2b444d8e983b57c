package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedpvi/pvi/study"
	"fedpvi/sim"
)

const descentStudy = `
study = { version = 1, name = "descent" }
model = { family = "linear", outcome = "y", noise_sd = 0.25, terms = ["x"], standardise = "none" }
inference = { rounds = 5, steps = 4, solver = "dp-svi" }
privacy = { unit = "record", noise_multiplier = 2.0, delta = 1e-5 }
federation = { max_records = 5000, nominal_records = 400 }
simulation = { clients = 2, synthetic.records_per_client = 400 }
column = [
  { name = "x", type = "numeric", bounds = [-1, 1] },
  { name = "y", type = "numeric", bounds = [0, 1] },
]
`

func TestPrivateStepsInWords(t *testing.T) {
	for _, c := range []struct {
		inference, more string
		said
		unsound bool
	}{
		{
			"", "", said{
				[]string{"aligned: the gradient in the mean is released", "every record in every step", "μ of all, of one"},
				[]string{"counts all 20 of them"},
				[]string{"gradients 20 times"},
			}, false,
		},
		{
			`, draws = 3, gradients = "preconditioned", optimiser = "natural", step_size = 0.1`, "",
			said{plan: []string{"on one scale; of 3 draws, clipped as one vector", "a record's gradients for 3 draws", "natural, 0.1 falling to"}},
			false,
		},
		{`, gradients = "published"`, "", said{plan: []string{"AS PUBLISHED: joint, with 1/400 of the gradient of the divergence inside the clip"}}, false},
		{
			`, start = "analytical"`, "", said{
				[]string{"from one noisy sum of statistics, for about 0.25 of μ²", "releases of a client 21"},
				[]string{"Once, before anything else: 5 numbers"},
				[]string{"statistics, under noise of its own, and a sum of its records' gradients 20 times"},
			}, false,
		},
		{`, sampling_rate = 0.1`, "", said{plan: []string{"with probability 0.1 (Poisson)"}, statement: []string{"–"}}, false},
		// The plan leaves out μ, because not all releases are Gaussian.
		{`, sampling_rate = 0.1, start = "analytical"`, "", said{statement: []string{"–"}}, false},
		{
			`, sampling_rate = 0.1, sampling = "without-replacement"`, `adjacency = "replace-one"`,
			said{plan: []string{"40 records of 400 in every step, without replacement, and accounted as such"}},
			false,
		},
		{
			`, sampling_rate = 0.1, sampling = "published"`, "", said{
				[]string{"AS PUBLISHED: 40 records of 400", "NOT PRIVATE AS CLAIMED. Batches of a fixed size"},
				[]string{"NOT PRIVATE AS CLAIMED"},
				[]string{"NOT PRIVATE AS CLAIMED", `the claim of sampling = "poisson" is true`},
			}, true,
		},
	} {
		source := strings.Replace(descentStudy, `"dp-svi"`, `"dp-svi"`+c.inference, 1)
		if c.more != "" {
			source = strings.Replace(source, "delta = 1e-5", "delta = 1e-5, "+c.more, 1)
		}
		p, promise := protocolOf(t, source)
		c.check(t, c.inference, p, promise)
		if promise.Sound == c.unsound || (promise.Claimed.Epsilon < promise.True.Epsilon) != c.unsound || promise.True.Epsilon > promise.Proven.Epsilon {
			t.Errorf("with %s: sound %v, ε claimed %g, true %g, proven %g", c.inference, promise.Sound, promise.Claimed.Epsilon, promise.True.Epsilon, promise.Proven.Epsilon)
		}
	}
}

// If the releases are not equivalent to one Gaussian mechanism, the statement bounds the attacker's
// success by ε and δ alone. The test hides a known μ, and checks that these bounds are not below
// the exact values.
func TestOddsWithoutAGaussianRelease(t *testing.T) {
	_, promise := protocolOf(t, descentStudy)
	if !(promise.Mu > 0) {
		t.Fatal("full batches are Gaussian releases")
	}
	exact := oddsInWords(sim.Privacy{Unit: study.Record, Promise: promise})
	rough := *promise
	rough.Views = slices.Clone(rough.Views)
	for i := range rough.Views {
		rough.Views[i].Mu = 0
	}
	bound := oddsInWords(sim.Privacy{Unit: study.Record, Promise: &rough})
	for _, c := range []struct{ format, text string }{{"exact", exact}, {"bound", bound}} {
		if strings.Contains(c.text, "factor of at most 1,") || strings.Contains(c.text, "at most 0.500") {
			t.Errorf("%s: the statement does not bound the attacker's success: %s", c.format, c.text)
		}
	}
	// The privacy loss of this mechanism has the distribution N(μ²/2, μ²). According to the
	// statement, it exceeds ε + log 2 with a probability of at most 2δ.
	loss := (promise.Epsilon + math.Ln2 - promise.Mu*promise.Mu/2) / promise.Mu
	if tail := math.Erfc(loss/math.Sqrt2) / 2; tail > 2*promise.Delta {
		t.Errorf("a loss above ε + log 2 has probability %g, but the statement says at most %g", tail, 2*promise.Delta)
	}
}

// If a person has k rows, clipping row by row needs k times the noise. In this test C is 1 and σ is
// 2.
func TestClipsOfPersonsAreCompared(t *testing.T) {
	const persons = `privacy = { unit = "person", rows_per_person = 4, noise_multiplier = 2.0, delta = 1e-5, clip = 1.0 }
table = { person = "p" }`
	source := strings.Replace(descentStudy, `privacy = { unit = "record", noise_multiplier = 2.0, delta = 1e-5 }`, persons, 1)
	p, _ := protocolOf(t, source)
	var text strings.Builder
	if err := Plan(&text, p, patient); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"noise of sd 8; 4 equal rows of length C move a sum by 0.5 of it, orthogonal rows by 0.25",
		"noise of sd 2; both move a sum by 0.5 of it",
		"this solver clips each person",
	} {
		if !strings.Contains(flowing(text.String()), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}
