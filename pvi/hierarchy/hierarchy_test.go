package hierarchy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/hierarchy"
)

// A sample has outcomes y = Xθ + noise of sd 1. θ is a coefficient, then effects of groups.
type sample struct {
	prior *hierarchy.Prior
	x     *mat.Dense
	y     []float64
}

// draw returns a sample of n records with the given spreads of intercepts and slopes of groups.
func draw(n, groups int, spreads []float64, seed uint64) *sample {
	r := rand.New(rand.NewPCG(seed, 1))
	d := 1 + groups*len(spreads)
	s := &sample{x: mat.NewDense(n, d, nil), prior: &hierarchy.Prior{Mean: make([]float64, d), SD: make([]float64, d)}}
	s.prior.Mean[0], s.prior.SD[0] = 0.3, 2
	theta := make([]float64, d)
	theta[0] = 1
	for e, spread := range spreads {
		s.prior.Effects = append(s.prior.Effects, hierarchy.Effect{First: 1 + e*groups, Levels: groups, Scale: 1})
		for g := range groups {
			theta[1+e*groups+g] = spread * r.NormFloat64()
		}
	}
	for i := range n {
		s.x.Set(i, 0, 1)
		y := theta[0] + r.NormFloat64()
		for e := range spreads {
			x, at := 1.0, 1+e*groups+i%groups
			if e > 0 {
				x = r.NormFloat64()
			}
			s.x.Set(i, at, x)
			y += x * theta[at]
		}
		s.y = append(s.y, y)
	}
	return s
}

func (s *sample) likelihood() *hierarchy.Likelihood {
	n, d := s.x.Dims()
	l := &hierarchy.Likelihood{Precision: mat.NewSymDense(d, nil), Linear: make([]float64, d)}
	l.Precision.SymOuterK(1, s.x.T())
	h := mat.NewVecDense(d, l.Linear)
	h.MulVec(s.x.T(), mat.NewVecDense(n, s.y))
	return l
}

// density returns the log density of the outcomes given the spreads, and the moments of θ given
// both, from the covariance XDXᵀ + I of the outcomes.
func (s *sample) density(spreads []float64) (log float64, mean []float64, cov *mat.Dense) {
	n, d := s.x.Dims()
	prior := mat.NewDiagDense(d, nil)
	prior.SetDiag(0, s.prior.SD[0]*s.prior.SD[0])
	for e, effect := range s.prior.Effects {
		for i := range effect.Levels {
			prior.SetDiag(effect.First+i, spreads[e]*spreads[e])
		}
	}
	var cross, whole mat.Dense // covariance of θ and y; covariance of y
	cross.Mul(prior, s.x.T())
	whole.Mul(s.x, &cross)
	sigma := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			sigma.SetSym(i, j, whole.At(i, j))
		}
		sigma.SetSym(i, i, whole.At(i, i)+1)
	}
	var c mat.Cholesky
	c.Factorize(sigma)
	gap := mat.NewVecDense(n, nil)
	for i, y := range s.y {
		gap.SetVec(i, y-s.prior.Mean[0])
	}
	solved := mat.NewVecDense(n, nil)
	if err := c.SolveVecTo(solved, gap); err != nil {
		panic(err)
	}
	log = -(c.LogDet() + mat.Dot(gap, solved)) / 2
	move := mat.NewVecDense(d, nil)
	move.MulVec(&cross, solved)
	mean = move.RawVector().Data
	mean[0] += s.prior.Mean[0]
	var gain mat.Dense
	if err := c.SolveTo(&gain, cross.T()); err != nil {
		panic(err)
	}
	cov = new(mat.Dense)
	cov.Mul(&cross, &gain)
	cov.Scale(-1, cov)
	for i := range d {
		cov.Set(i, i, cov.At(i, i)+prior.At(i, i))
	}
	return log, mean, cov
}

// exact returns the posterior means and variances of θ and τ from a grid over τ up to most, in
// units of the prior's scale.
func (s *sample) exact(points int, most float64) (mean, variance []float64) {
	_, d := s.x.Dims()
	k := len(s.prior.Effects)
	mean, variance = make([]float64, d+k), make([]float64, d+k)
	squares := make([]float64, d+k)
	z, tau := make([]int, k), make([]float64, k)
	total, largest := 0.0, math.Inf(-1)
	for {
		var prior float64
		for e, effect := range s.prior.Effects {
			tau[e] = most * effect.Scale * (float64(z[e]) + .5) / float64(points)
			prior -= tau[e] * tau[e] / (2 * effect.Scale * effect.Scale)
		}
		log, m, cov := s.density(tau)
		if log += prior; log > largest { // relative to the largest density so far, to avoid overflow
			shrink := math.Exp(largest - log)
			total, largest = shrink*total, log
			floats.Scale(shrink, mean)
			floats.Scale(shrink, squares)
		}
		w := math.Exp(log - largest)
		total += w
		for i, x := range append(m, tau...) {
			mean[i] += w * x
			squares[i] += w * x * x
			if i < d {
				squares[i] += w * cov.At(i, i)
			}
		}
		e := 0
		for ; e < k; e++ {
			if z[e]++; z[e] < points {
				break
			}
			z[e] = 0
		}
		if e == k {
			break
		}
	}
	for i := range mean {
		mean[i] /= total
		variance[i] = squares[i]/total - mean[i]*mean[i]
	}
	return mean, variance
}

// Means and sds agree with those of a fine grid over the spreads.
func TestPosteriorIsExact(t *testing.T) {
	for _, c := range []struct {
		name    string
		n       int
		groups  int
		spreads []float64
		points  int
		most    float64
	}{
		{"many groups", 90, 30, []float64{0.8}, 150, 5},
		{"three groups", 60, 3, []float64{0.8}, 150, 5},
		{"no spread", 100, 10, []float64{0}, 150, 5},
		{"much spread", 100, 20, []float64{4}, 150, 5},
		{"a spread of which the prior is sure that it is smaller", 100, 20, []float64{30}, 150, 20},
		{"few records", 6, 5, []float64{0.5}, 150, 5},
		{"slopes", 80, 8, []float64{1, 0.3}, 40, 3},
		{"no slopes", 60, 6, []float64{0.7, 0}, 40, 3},
	} {
		s := draw(c.n, c.groups, c.spreads, 1)
		want, variance := s.exact(c.points, c.most)
		l := s.likelihood()
		got, cov := posteriorOf(t, s.prior, l, s.prior.Points())
		for i, x := range want {
			sd := math.Sqrt(variance[i])
			if off, ratio := math.Abs(got[i]-x)/sd, math.Sqrt(cov.At(i, i))/sd; !(off <= 0.05 && ratio >= 0.95 && ratio <= 1.05) {
				t.Errorf("%s: coordinate %d is %.4f ± %.4f, want %.4f ± %.4f", c.name, i, got[i], sd*ratio, x, sd)
			}
		}
	}
}

// A posterior from 16 quasi-random points, averaged over many shifts, agrees with one from 4000.
func TestFewPoints(t *testing.T) {
	s := draw(40, 5, []float64{0.5, 0.5}, 2)
	l := s.likelihood()
	region, err := s.prior.Region(l)
	check(t, err)
	want, wide, err := s.prior.Posterior(l, region, 4000, 0)
	check(t, err)
	average := make([]float64, len(want))
	const shifts = 150
	for n := range shifts {
		mean, _, err := s.prior.Posterior(l, region, 16, n)
		check(t, err)
		for i, x := range mean {
			average[i] += x / shifts
		}
	}
	for i, x := range want {
		if off := math.Abs(average[i]-x) / math.Sqrt(wide.At(i, i)); !(off <= 0.03) {
			t.Errorf("coordinate %d is off by %.3f sds", i, off)
		}
	}
}

// If the likelihood is constant, the posterior is the prior. An effect with spread τ then has the
// variance E τ².
func TestPriorIsKept(t *testing.T) {
	for _, effects := range []int{1, 2} {
		s := draw(1, 4, make([]float64, effects), 3)
		d := len(s.prior.Mean)
		l := &hierarchy.Likelihood{Precision: mat.NewSymDense(d, nil), Linear: make([]float64, d)}
		mean, cov := posteriorOf(t, s.prior, l, 5000)
		for e, effect := range s.prior.Effects {
			mid, sd := effect.Scale*math.Sqrt(2/math.Pi), effect.Scale*math.Sqrt(1-2/math.Pi)
			if k := d + e; math.Abs(mean[k]-mid) > 0.02*sd || math.Abs(math.Sqrt(cov.At(k, k))/sd-1) > 0.02 {
				t.Errorf("the spread is %.3f ± %.3f, the prior %.3f ± %.3f", mean[k], math.Sqrt(cov.At(k, k)), mid, sd)
			}
			if got := math.Sqrt(cov.At(effect.First, effect.First)); math.Abs(got/effect.Scale-1) > 0.02 {
				t.Errorf("%d effects: an effect has sd %.3f, want %.3f", effects, got, effect.Scale)
			}
		}
	}
}

func TestWithoutEffects(t *testing.T) {
	s := draw(30, 0, nil, 4)
	l := s.likelihood()
	mean, cov, err := s.prior.Posterior(l, hierarchy.Region{}, 7, 3)
	check(t, err)
	precision := l.Precision.At(0, 0) + 0.25
	if want := (l.Linear[0] + 0.3*0.25) / precision; math.Abs(mean[0]-want) > 1e-12 || math.Abs(cov.At(0, 0)-1/precision) > 1e-12 {
		t.Errorf("got %g ± %g, want %g ± %g", mean[0], math.Sqrt(cov.At(0, 0)), want, math.Sqrt(1/precision))
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
