package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// regressions are families with a truth under which every outcome within the bounds
// of its column is about as likely as the model says.
var regressions = map[string]struct {
	model, outcome string
	threshold      float64 // of the label in a skewed partition; none if it is 0
	truth          string
}{
	"linear":            {`family = "linear"` + "\n" + `noise_sd = "learned"`, numericOutcome, 0.1, `noise_sd = 0.3`},
	"logistic":          {`family = "logistic"` + "\n" + `positive = "yes"`, levelOutcome, 0, ``},
	"probit":            {`family = "probit"` + "\n" + `positive = "yes"`, levelOutcome, 0, ``},
	"poisson":           {`family = "poisson"`, countOutcome, 2, ``},
	"negative-binomial": {`family = "negative-binomial"`, countOutcome, 2, `dispersion = 2.0`},
	"softmax":           {`family = "softmax"`, classOutcome, 1, ``},
	"robust":            {`family = "robust"` + "\n" + `degrees_of_freedom = 4`, wideOutcome, 0.1, `noise_scale = 0.2`},
}

const (
	numericOutcome = "type = \"numeric\"\nbounds = [-9, 9]"
	wideOutcome    = "type = \"numeric\"\nbounds = [-1000, 1000]"
	levelOutcome   = "type = \"categorical\"\nlevels = [\"no\", \"yes\"]"
	countOutcome   = "type = \"numeric\"\nbounds = [0, 1000]"
	classOutcome   = "type = \"categorical\"\nlevels = [\"a\", \"b\", \"c\"]"
)

// regression returns a study of made-up records: an intercept and two numbers.
func regression(t testing.TB, family string, records, clients int, settings ...string) *study.Study {
	t.Helper()
	c := regressions[family]
	source := fmt.Sprintf(`
[study]
version = 1
name = "regression"
[[column]]
name = "u"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "v"
type = "numeric"
bounds = [-2, 2]
[[column]]
name = "y"
%s
[model]
%s
outcome = "y"
terms = ["u", "v"]
standardise = "none"
[prior]
sd = 1.0
[inference]
rounds = 40
[privacy]
unit = "none"
[federation]
max_records = 10000
[simulation]
clients = %d
[simulation.synthetic]
records_per_client = %d
[simulation.synthetic.truth]
%s
`, c.outcome, c.model, clients, records, c.truth)
	for _, s := range settings {
		if s == "label-skew" {
			source = strings.Replace(source, "[simulation]\n", fmt.Sprintf("[simulation]\npartition = \"label-skew\"\nsize_skew = 0.5\nlabel_skew = 0.8\n%s\n", threshold(c.threshold)), 1)
		}
	}
	st, err := study.Parse(family+".toml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func threshold(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("label_threshold = %g", x)
}

// Natural-gradient steps settle where pooled variational inference does, whoever holds
// which record, for both bookkeepings.
func TestRegressionsArePooled(t *testing.T) {
	for family := range regressions {
		for _, clients := range []int{4, 12} {
			for _, factors := range []study.Factors{study.Exact, study.Tied} {
				for _, q := range []string{"full", "diagonal"} {
					t.Run(fmt.Sprintf("%s, %d clients, %s, %s", family, clients, factors, q), func(t *testing.T) {
						st := regression(t, family, 60, clients, "label-skew")
						st.Inference.Factors, st.Inference.Q = factors, q
						st.Inference.Rounds = 80
						if q == "diagonal" || factors == study.Tied {
							st.Inference.Damping.Alpha, st.Inference.Rounds = 0.4, 150
						}
						play, err := NewPlay(st, Options{Seed: 3})
						if err != nil {
							t.Fatal(err)
						}
						result, err := play.Run(context.Background(), func(Status) error { return nil })
						if err != nil {
							t.Fatal(err)
						}
						if gap := largestGap(result); gap > 1e-6 {
							t.Errorf("federated and pooled posterior differ by %.2g; %d rejected", gap, result.Rejected)
						}
					})
				}
			}
		}
	}
}

// Of intervals that should hold the truth with probability 0.9, in 200 data sets drawn
// with their truths from the prior, so many do as the binomial distribution allows: a
// share outside 0.9 ± 4·√(0.9·0.1/n) has a probability below 1e-4 if parameters
// were independent. A Gaussian q is not the posterior, which widens that by 0.01.
func TestRegressionsCover(t *testing.T) {
	sets := 200
	for family := range regressions {
		t.Run(family, func(t *testing.T) {
			var inside, total float64
			for seed := range sets {
				st := regression(t, family, 150, 1)
				st.Inference.Rounds = 1
				clear(st.Simulation.Synthetic.Truth)
				play, err := NewPlay(st, Options{Seed: uint64(seed)})
				if err != nil {
					t.Fatal(err)
				}
				truth, err := drawTruth(play.Federation.Protocol.Model(), variates(uint64(seed), purposeTruth))
				if err != nil {
					t.Fatal(err)
				}
				mean, cov, err := play.Reference.Moments()
				if err != nil {
					t.Fatal(err)
				}
				const normal90 = 1.6448536269514722
				for i := range mean {
					if math.Abs(mean[i]-truth[i]) < normal90*math.Sqrt(cov.At(i, i)) {
						inside++
					}
					total++
				}
			}
			share := inside / total
			if allowed := 4*math.Sqrt(0.09/float64(sets)) + 0.01; math.Abs(share-0.9) > allowed {
				t.Errorf("90 %% intervals hold %.3f of %g truths", share, total)
			}
			t.Logf("%s: %.3f of %g", family, share, total)
		})
	}
}

var _ = slices.Contains[[]string]
