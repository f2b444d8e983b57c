package audit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// A noisy is a noise family whose sums the audit tests.
type noisy dpmech.Family

func (f noisy) name() string { return "sums with " + f.Name + " noise" }

func (f noisy) sum(adjacency accountant.Adjacency) (*dpmech.Sum, error) {
	return dpmech.NewSum(dpmech.Config{
		Dim: gateDim, Clip: gateClip, NoiseMultiplier: 2, Shares: 1, Terms: 4, Releases: 1, Adjacency: adjacency,
	}, dpmech.Family(f))
}

func (f noisy) questions() []question {
	all := []question{
		single(f.name(), "norms", f.norms),
		single(f.name(), "noise is independent", f.oblivious),
		single(f.name(), "accounting", f.accounted),
		aboutNoise(f.name(), f.quiet),
	}
	for _, adjacency := range []accountant.Adjacency{accountant.AddRemove, accountant.ReplaceOne} {
		all = append(all, lazily(f.name()+", "+string(adjacency), func() (attack, error) { return f.attack(adjacency) }))
	}
	return all
}

// cells approximates a noise distribution by the probabilities of intervals of equal width. The
// interval that begins at zero is in the middle of the slice.
type cells []float64

// cellsOf returns the probabilities of n cells for one sample from the law, as if all integers in a
// cell were as likely as its midpoint.
func cellsOf(law dpmech.Law, width float64, n int) cells {
	p := make(cells, n)
	for i := range p {
		p[i] = width * law.Mass(int64(math.Floor((float64(i-n/2)+.5)*width)))
	}
	return p
}

// shared returns the distribution of the sum of shares independent samples. The cells must cover
// the range of the sum.
func (p cells) shared(shares int) cells {
	fft := fourier.NewFFT(len(p))
	c := fft.Coefficients(nil, p)
	for i, x := range c {
		for range shares - 1 {
			c[i] *= x
		}
	}
	sum := fft.Sequence(nil, c)
	for i := range sum {
		sum[i] /= float64(len(p))
	}
	return sum
}

// moved returns the distribution of a sample that is shifted by distance cells. Probabilities that
// leave the slice at its end come back at its beginning.
func (p cells) moved(distance int) cells {
	at := len(p) - distance
	return slices.Concat(p[at:], p[:at])
}

// excess computes the exact δ(ε) of two outputs. Each has one or two independent elements, with the
// distribution p in the first output and q in the second. Let P(x) and Q(x) be the probabilities of
// a vector x of cells in the two outputs. excess returns the sum over all x of max(0, weight·P(x) −
// odds·Q(x)), which is δ(ε) for weight 1 and odds e^ε.
func (p cells) excess(q cells, elements int, weight, odds float64) (sum float64) {
	for i, x := range p {
		if elements == 2 {
			sum += p.excess(q, 1, weight*x, odds*q[i])
		} else {
			sum += max(0, weight*x-odds*q[i])
		}
	}
	return sum
}

// accounted tests the accountant's cost of a release for every adjacency and several settings. The
// accounted δ(ε) must be at least the exact δ(ε) of two inputs that are as far apart as the
// adjacency allows, in one element or equally in two.
func (f noisy) accounted(context.Context, task) (Check, error) {
	at := 0
	for _, adjacency := range []accountant.Adjacency{accountant.AddRemove, accountant.ZeroOut, accountant.ReplaceOne} {
		for _, shares := range []int{1, 3} {
			for _, aggregates := range []bool{false, true} {
				for dim := 1; dim <= 2; dim++ {
					says, err := f.undercharged(dpmech.Config{
						Dim: dim, Clip: 2.5, NoiseMultiplier: 1.25, Shares: shares, Terms: 1, Releases: shares, Adjacency: adjacency, Aggregates: aggregates,
					})
					if err != nil {
						return Check{}, err
					}
					if says != "" {
						return certain(false, "%s, %d shares, %d elements, aggregates %t: %s", adjacency, shares, dim, aggregates, says), nil
					}
					at++
				}
			}
		}
	}
	return certain(true, "δ(ε) covers two inputs of a release, with %d settings: for every adjacency, for one share and for three, for records and for sums of many records", at), nil
}

// undercharged looks for an ε at which the accounted δ(ε) of a release with the settings cfg is
// below the exact one. It describes it, or returns "" if there is none.
func (f noisy) undercharged(cfg dpmech.Config) (string, error) {
	m, err := dpmech.NewSum(cfg, dpmech.Family(f))
	if err != nil {
		return "", err
	}
	profile, err := accountant.Account(m.Event())
	if err != nil {
		return "", err
	}
	factor := 1
	if cfg.Adjacency == accountant.ReplaceOne || cfg.Aggregates {
		factor = 2
	}
	p, q := inputs(m, factor)
	for _, epsilon := range Epsilons {
		claimed, err := profile.Delta(epsilon)
		if err != nil {
			return "", err
		}
		odds := math.Exp(epsilon)
		seen := max(p.excess(q, m.Dim(), 1, odds), q.excess(p, m.Dim(), 1, odds))
		if !(claimed.Upper >= seen*(1-1e-5)-1e-12) { // the cells cause a smaller error than this tolerance
			return fmt.Sprintf("δ(%g) = %.5g is accounted, two inputs reveal %.5g", epsilon, claimed.Upper, seen), nil
		}
	}
	return "", nil
}

// inputs returns the distributions of one released element for two inputs. The L2 distance between
// the inputs is factor times the clip. It is spread equally over the elements of m, one or
// two.
func inputs(m *dpmech.Sum, factor int) (p, q cells) {
	distance, n := 512, 1<<15 // distance is how far one element moves, in cells
	if m.Dim() == 2 {
		distance, n = 32, 1<<11
	}
	width := clipSteps(m) / math.Sqrt(float64(m.Dim())) / float64(distance)
	p = cellsOf(m.Law(), width, n).shared(m.Shares())
	return p, p.moved(factor * distance)
}

// quiet returns the noise of releases whose true value is zero. It converts the noise to standard
// normal variates (see [normalScore]) for the tests of Gaussian noise.
func (f noisy) quiet(ctx context.Context, seed uint64) (noises, error) {
	const runs, releases = 200, 4
	m, err := f.sum(accountant.AddRemove)
	if err != nil {
		return nil, err
	}
	normal := normalScore(m)
	dst, sum := make([]int64, gateDim), make([]int64, gateDim)
	return collect(ctx, runs, seed, f.name(), func(seed uint64) (all [][][]float64, err error) {
		src := seeded.Stream(seed, "quiet")
		for range releases {
			if err := m.Release(dst, sum, src, func(func([]float64) error) error { return nil }); err != nil {
				return nil, err
			}
			scores := make([]float64, gateDim)
			for i, x := range dst {
				scores[i] = normal(x)
			}
			all = append(all, [][]float64{scores})
		}
		return all, nil
	})
}

// normalScore returns a function that converts a sample of the noise to the normal quantile at the
// sample's probability. If the noise has the claimed law, the results are standard normal.
func normalScore(m *dpmech.Sum) func(x int64) float64 {
	const n = 1 << 15
	width := clipSteps(m) / 512
	p := cellsOf(m.Law(), width, n)
	below := make([]float64, n+1)
	for i, x := range p {
		below[i+1] = below[i] + x
	}
	return func(x int64) float64 {
		at := min(max(float64(x)/width+n/2, 0), n-1)
		i := int(at)
		mass := below[i] + (at-float64(i))*p[i]
		return distuv.UnitNormal.Quantile(min(max(mass, 1e-15), 1-1e-15))
	}
}

// attack returns an attack whose observer reads one release of the sum, and guesses whether the sum
// contains a vector far longer than the clip or, under replace-one, which of two opposite ones.
func (f noisy) attack(adjacency accountant.Adjacency) (attack, error) {
	m, err := f.sum(adjacency)
	if err != nil {
		return attack{}, err
	}
	return attack{
		claim: newClaim(m.Event()),
		learn: linearOnly,
		observe: func(seed uint64, world, run int) ([]float64, error) {
			dst, sum := make([]int64, gateDim), make([]int64, gateDim)
			src := seeded.Stream(runSeed(seed, f.name()+string(adjacency), world, run), "attack")
			err := m.Release(dst, sum, src, func(add func([]float64) error) error {
				v := []float64{1e3, 0, 0, 0, 0, 0}
				switch {
				case world == 1:
					return add(v)
				case adjacency == accountant.ReplaceOne:
					v[0] = -v[0]
					return add(v)
				}
				return nil
			})
			return asFloats(dst), err
		},
	}, nil
}
