package sim

import (
	"fmt"
	"math"
	"testing"

	"fedpvi/pvi/study"
)

func playChain(t *testing.T, family study.Family, records int) *Play {
	t.Helper()
	text := fmt.Sprintf(`
column = [
  { name = "u", type = "numeric", bounds = [-1, 1] },
  { name = "v", type = "numeric", bounds = [-1, 1] },
  { name = "y", type = "numeric", bounds = [0, 1] },
]
study = { version = 1, name = "chain" }
model = { family = %q, outcome = "y", positive = ">= 0.5", terms = ["u", "v"], intercept = false }
inference = { rounds = 1 }
privacy = { unit = "none" }
simulation = { clients = 2, reference = "markov-chain", synthetic.records_per_client = %d, synthetic.truth.u = 2.0, synthetic.truth.v = -1.0 }
`, family, records/2)
	st := parse(t, "chain.toml", text)
	p := prepare(t, st, Options{Seed: 1})
	return p
}

// onGrid computes the mean and the covariance of two coefficients, from the posterior density on a
// grid.
func onGrid(p *Play, logLikelihood func(margin float64) float64) (mean [2]float64, cov [3]float64) {
	model := p.Federation.Protocol.Model()
	var total float64
	var first, second [3]float64
	top := math.Inf(-1)
	log := func(a, b float64) float64 {
		var sum float64
		for i, x := range []float64{a, b} {
			prior := model.Parameters.Prior(i)
			sum -= (x - prior.Mean) * (x - prior.Mean) / (2 * prior.SD * prior.SD)
		}
		for _, s := range p.Federation.Shards {
			for i := range s.Len() {
				x, y := s.Record(i)
				sum += logLikelihood((2*y - 1) * (a*x[0] + b*x[1]))
			}
		}
		return sum
	}
	const step, reach = 0.1, 6.0
	for _, find := range []bool{true, false} {
		for a := -reach; a < reach; a += step {
			for b := -reach; b < reach; b += step {
				l := log(a, b)
				if find {
					top = max(top, l)
					continue
				}
				w := math.Exp(l - top)
				total += w
				first[0], first[1] = first[0]+w*a, first[1]+w*b
				second[0], second[1], second[2] = second[0]+w*a*a, second[1]+w*a*b, second[2]+w*b*b
			}
		}
	}
	mean = [2]float64{first[0] / total, first[1] / total}
	return mean, [3]float64{second[0]/total - mean[0]*mean[0], second[1]/total - mean[0]*mean[1], second[2]/total - mean[1]*mean[1]}
}

// The test has two clients with few records, so that the posterior is skewed. The chain accepts at
// least half of its 16,000 proposals, so it is as precise as 5,000 independent draws. For a
// posterior close to normal, the standard error of a mean is .014 sds and that of a variance 2 %.
// The bounds are five standard errors for means and four for variances.
func TestChainFindsThePosterior(t *testing.T) {
	slow(t)
	for family, logLikelihood := range map[study.Family]func(float64) float64{
		study.Logistic: func(m float64) float64 { return -math.Log1p(math.Exp(-m)) },
		study.Probit:   func(m float64) float64 { return math.Log(math.Erfc(-m/math.Sqrt2) / 2) },
	} {
		p := playChain(t, family, 40)
		mean, cov := moments(t, p.Reference.family, p.Reference.Natural)
		wantMean, wantCov := onGrid(p, logLikelihood)
		for i := range mean {
			sd := math.Sqrt(cov.At(i, i))
			if miss := (mean[i] - wantMean[i]) / sd; math.Abs(miss) > 0.07 {
				t.Errorf("%s: mean %d is %g, by quadrature %g, %g sds away", family, i, mean[i], wantMean[i], miss)
			}
		}
		for i, got := range []float64{cov.At(0, 0), cov.At(0, 1), cov.At(1, 1)} {
			if scale := math.Sqrt(wantCov[0] * wantCov[2]); math.Abs(got-wantCov[i]) > 0.08*max(scale, wantCov[i]) {
				t.Errorf("%s: element %d of the covariance is %g, by quadrature %g", family, i, got, wantCov[i])
			}
		}
	}
}
