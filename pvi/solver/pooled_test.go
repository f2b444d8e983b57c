package solver

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/study"
)

// ordinary returns a linear regression of n records that learns the sd of the noise. Its records
// have the sd noise and an intercept of location.
func ordinary(n, columns int, noise, location float64, random *rand.Rand) *Regression {
	d := columns + 2
	l := NewRegression(d, Outcome{Family: study.Linear})
	for range n {
		eta := location
		l.Load(0, 1)
		shared := random.NormFloat64()
		for j := 1; j <= columns; j++ {
			x := .8*shared + .6*random.NormFloat64()
			eta += x * .3 * float64(j%3-1)
			l.Load(j, x)
		}
		l.EndPredictor()
		l.Load(d-1, 1)
		l.EndPredictor()
		l.EndRecord(eta + noise*random.NormFloat64())
	}
	return l
}

// Fits that learn the sd of their noise settle, and a further natural-gradient step does not change
// q.
func TestPooledSettles(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 12, 400} {
		for _, noise := range []float64{1e-3, .03, 1, 30} {
			for _, location := range []float64{0, 3, 100} {
				l := ordinary(n, 9, noise, location, random)
				family, prior := gaussian.Full(l.Dim()), standardNormal(l.Dim())
				natural := make([]float64, len(prior))
				if err := Pooled(natural, prior, family, []Likelihood{l}, false, nil); err != nil {
					t.Errorf("%d records with noise %g at %g: %v", n, noise, location, err)
					continue
				}
				if off := offSettled(t, l, prior, natural); off > 1e-7 {
					t.Errorf("%d records with noise %g at %g: a step still moves q by %.1g of its sds", n, noise, location, off)
				}
			}
		}
	}
}

// offSettled returns the largest change of a mean or of an sd in a natural-gradient step from q, in
// sds of q.
func offSettled(t *testing.T, l Likelihood, prior, natural []float64) (most float64) {
	t.Helper()
	family := gaussian.Full(l.Dim())
	q, err := NewApproximation(family, natural)
	if err != nil {
		t.Fatal(err)
	}
	e := NewExpected(family)
	l.AddExpected(e, q)
	next := make([]float64, len(natural))
	e.Factor(next, q.Mean, family)
	for i, p := range prior {
		next[i] += p
	}
	mean, variance, err := family.Marginals(next)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range mean {
		sd := math.Sqrt(q.Variance[i])
		most = max(most, math.Abs(m-q.Mean[i])/sd, math.Abs(math.Sqrt(variance[i])/sd-1))
	}
	return most
}

// A fit that is stopped returns a proper q and the error ErrUnsettled.
func TestPooledStops(t *testing.T) {
	l := ordinary(50, 3, 1, 2, rand.New(rand.NewPCG(1, 1)))
	prior := standardNormal(l.Dim())
	for calls := range 4 {
		natural := make([]float64, len(prior))
		err := Pooled(natural, prior, gaussian.Full(l.Dim()), []Likelihood{l}, false, func() bool { calls--; return calls < 0 })
		if !errors.Is(err, ErrUnsettled) || gaussian.Full(l.Dim()).Check(natural) != nil {
			t.Errorf("stopped: %v", err)
		}
	}
}

// At the mode the slope is zero, and the precision of Mode is the curvature, by central
// differences. Steps from the prior mean find the mode even if the log posterior is not concave
// there.
func TestMode(t *testing.T) {
	varying, varyingPrior := slopes(120, 4)
	many, manyPrior := manyCounts(60, 3)
	ordinary := ordinary(40, 3, .01, 5, rand.New(rand.NewPCG(2, 2)))
	for name, c := range map[string]struct {
		of    *Regression
		prior []float64
	}{
		"varying": {varying, varyingPrior}, "counts": {many, manyPrior}, "linear": {ordinary, standardNormal(ordinary.Dim())},
	} {
		d := c.of.Dim()
		family, natural := gaussian.Full(d), make([]float64, len(c.prior))
		if !Mode(natural, c.prior, []Likelihood{c.of}) {
			t.Errorf("%s: no mode", name)
			continue
		}
		theta, cov, err := family.Moments(natural)
		if err != nil {
			t.Fatal(err)
		}
		slope := func() []float64 {
			out := gradientOf(c.of, theta)()
			floats.Sub(out, theta) // the prior is standard normal
			return out
		}
		for i, g := range slope() {
			if off := math.Abs(g) * math.Sqrt(cov.At(i, i)); off > 1e-6 {
				t.Errorf("%s: the slope along %d is %.1g per sd", name, i, off)
			}
			bends := differences(theta, i, slope)
			for j := range i + 1 {
				got, want := natural[gaussian.Packed(d, i, j)], -bends[j]
				if scale := 1 / math.Sqrt(cov.At(i, i)*cov.At(j, j)); math.Abs(got-want) > 1e-4*max(scale, math.Abs(want)) {
					t.Errorf("%s: curvature (%d, %d) is %g, want %g", name, i, j, got, want)
				}
			}
		}
	}
}

// Anderson acceleration solves n linear fixed-point equations in n + 1 evaluations (Walker and Ni,
// 2011). The test allows a few more because of rounding. Without acceleration the iteration would
// need hundreds.
func TestAndersonSolvesLinearEquations(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const n = 5
	for _, damping := range []float64{1, .3} {
		a := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				a.Set(i, j, .05*random.NormFloat64())
			}
			a.Set(i, i, .99-.3*float64(i))
		}
		want, weight := make([]float64, n), make([]float64, n)
		for i := range want {
			want[i], weight[i] = random.NormFloat64(), 1+random.Float64()
		}
		move := func(x []float64) []float64 { // A(x − want) − (x − want)
			var out mat.VecDense
			off := mat.NewVecDense(n, slices.Clone(x))
			off.SubVec(off, mat.NewVecDense(n, want))
			out.MulVec(a, off)
			out.SubVec(&out, off)
			return out.RawVector().Data
		}
		var steps anderson
		x := make([]float64, n)
		for range n + 4 {
			f := move(x)
			steps.add(x, f)
			next := make([]float64, n)
			if !steps.next(next, weight, damping) {
				for i := range next {
					next[i] = x[i] + damping*f[i]
				}
			}
			x = next
		}
		for i := range x {
			if math.Abs(x[i]-want[i]) > 1e-6 {
				t.Errorf("damping %g: unknown %d is %g, want %g", damping, i, x[i], want[i])
			}
		}
		steps.reset()
		if steps.add(x, move(x)); steps.next(make([]float64, n), weight, damping) {
			t.Error("one point is extrapolated")
		}
	}
}

// Short rules change expectations by no more than rounding, some records get a short rule and
// others do not, and Restore undoes Compare.
func TestCompare(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, o := range []Outcome{{Family: study.Logistic}, {Family: study.Poisson}, {Family: study.NegativeBinomial}, {Family: study.Robust, DegreesOfFreedom: 4}, {Family: study.Softmax, Classes: 3}} {
		l := NewRegression(3, o)
		k := o.Response().Size()
		for i := range 60 {
			for range k {
				l.Load(0, 1)
				l.Load(1+i%2, random.NormFloat64()*math.Pow(10, -float64(i%5)))
				l.EndPredictor()
			}
			l.EndRecord(float64(i % 2))
		}
		family := gaussian.Full(3)
		natural := []float64{1, 2, 3, 1000, 0, 3, 0, 0, 3}
		q, err := NewApproximation(family, natural)
		if err != nil {
			t.Fatal(err)
		}
		expected := func() *Expected {
			e := NewExpected(family)
			l.AddExpected(e, q)
			return e
		}
		want := expected()
		l.Compare()
		for range 2 { // the first call compares, and the second uses the result
			got := expected()
			for _, pair := range [][2][]float64{{{got.Value}, {want.Value}}, {got.Gradient, want.Gradient}, {got.Hessian, want.Hessian}} {
				size := floats.Norm(pair[1], math.Inf(1))
				if off := floats.Distance(pair[0], pair[1], math.Inf(1)); off > 1e-12*size {
					t.Errorf("%s: short rules change expectations of size %g by %g", o.Family, size, off)
				}
			}
		}
		counts := map[agreement]int{}
		for _, a := range l.brief {
			counts[a]++
		}
		if k <= 2 && (counts[agree] < 3 || counts[differ] < 3 || counts[notCompared] > 0) {
			t.Errorf("%s: %d records have a short rule, %d have not, and %d were not compared", o.Family, counts[agree], counts[differ], counts[notCompared])
		}
		l.Restore()
		if got := expected(); got.Value != want.Value || !slices.Equal(got.Hessian, want.Hessian) {
			t.Errorf("%s: Restore did not restore the rule", o.Family)
		}
	}
}
