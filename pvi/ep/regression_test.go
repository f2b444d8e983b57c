package ep

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

func along(from, to float64, f func(x float64) float64) (sum float64) {
	const n = 1000
	width := (to - from) / n
	for i := range n + 1 {
		sum += width * f(from+width*float64(i))
	}
	return sum
}

// Tilted moments for one predictor agree with numerical integrals: closed forms, the quadrature
// rule, and powers of the likelihood.
func TestTiltOfOnePredictor(t *testing.T) {
	outcomes := map[study.Family][]float64{study.Linear: {-1.5, 0.3}, study.Probit: {0, 1}, study.Logistic: {0, 1}, study.Poisson: {0, 3, 40}}
	for family, ys := range outcomes {
		o := solver.Outcome{Family: family, NoiseSD: 0.7}
		r := o.Response()
		tolerance := 2e-5
		if family == study.Poisson {
			// For a count of 0 and a wide cavity, the tilted density falls steeply in the middle of
			// the cavity.
			tolerance = 5e-4
		}
		for _, power := range []float64{1, 0.4} {
			tilted := newTilt(o, power)
			g, h := make([]float64, 1), make([]float64, 1)
			for _, y := range ys {
				for _, mean := range []float64{-3, 0.2, 2} {
					for _, sd := range []float64{0.05, 0.8, 3} {
						density := func(x float64) float64 {
							z := (x - mean) / sd
							return math.Exp(power*r.Eval(y, []float64{x}, g, h) - z*z/2)
						}
						from, to := mean-12*sd, mean+12*sd
						total := along(from, to, density)
						first := along(from, to, func(x float64) float64 { return x * density(x) }) / total
						second := along(from, to, func(x float64) float64 { return (x - first) * (x - first) * density(x) }) / total
						a, b := tilted.slopes(y, mean, sd*sd)
						if got := mean + sd*sd*a; math.Abs(got-first) > tolerance*sd {
							t.Errorf("%s^%g of %g, cavity N(%g, %g²): mean %.8g, integral %.8g", family, power, y, mean, sd, got, first)
						}
						if got := sd * sd * (1 - sd*sd*b); math.Abs(got/second-1) > 5*tolerance {
							t.Errorf("%s^%g of %g, cavity N(%g, %g²): variance %.8g, integral %.8g", family, power, y, mean, sd, got, second)
						}
					}
				}
			}
		}
	}
}

// record returns a regression over R² with one record with the given rows.
func record(o solver.Outcome, y float64, rows ...[2]float64) *solver.Regression {
	r := solver.NewRegression(2, o)
	for _, row := range rows {
		r.Load(0, row[0])
		r.Load(1, row[1])
		r.EndPredictor()
	}
	r.EndRecord(y)
	return r
}

// tiltedMoments returns the mean and covariance under the cavity times the likelihood of r to the
// given power, by the trapezoid rule. root is the Cholesky factor of the cavity's covariance.
func tiltedMoments(r *solver.Regression, mean []float64, root [3]float64, power float64) (first [2]float64, second [3]float64) {
	const n, reach = 120, 9.0
	slope := make([]float64, 2)
	var total float64
	for pass := range 2 {
		for i := range n + 1 {
			for j := range n + 1 {
				u, v := reach*(2*float64(i)/n-1), reach*(2*float64(j)/n-1)
				a, b := mean[0]+root[0]*u, mean[1]+root[1]*u+root[2]*v
				w := math.Exp(power*r.AddGradient(slope, []float64{a, b}) - (u*u+v*v)/2)
				if pass == 0 {
					total += w
					first[0] += w * a
					first[1] += w * b
					continue
				}
				a, b = a-first[0], b-first[1]
				second[0] += w * a * a / total
				second[1] += w * a * b / total
				second[2] += w * b * b / total
			}
		}
		if pass == 0 {
			first[0] /= total
			first[1] /= total
		}
	}
	return first, second
}

// The cavity times a site has the moments of the tilted distribution, from numerical integration,
// for one and two predictors, both families, and powers of the likelihood.
func TestSitesMatchMoments(t *testing.T) {
	type kase struct {
		name string
		r    *solver.Regression
		off  float64 // tolerance of the moments, in sds
	}
	cases := []kase{
		{"probit", record(solver.Outcome{Family: study.Probit}, 1, [2]float64{0.8, -1.3}), 1e-4},
		{"logistic", record(solver.Outcome{Family: study.Logistic}, 0, [2]float64{1.1, 0.4}), 1e-4},
		{"logistic, sparse", record(solver.Outcome{Family: study.Logistic}, 0, [2]float64{0, 0.9}), 1e-4},
		{"linear, noise learned", record(solver.Outcome{Family: study.Linear}, 0.9, [2]float64{1, 0}, [2]float64{0, 1}), 3e-3},
		{"robust", record(solver.Outcome{Family: study.Robust, DegreesOfFreedom: 4}, 1.9, [2]float64{1, 0}, [2]float64{0, 1}), 3e-2},
		{"softmax", record(solver.Outcome{Family: study.Softmax, Classes: 3}, 2, [2]float64{0.7, 0}, [2]float64{0, 1.2}), 3e-3},
		{"negative binomial", record(solver.Outcome{Family: study.NegativeBinomial}, 4, [2]float64{1, 0}, [2]float64{0, 1}), 1e-2},
	}
	mean, root := []float64{0.3, -0.2}, [3]float64{0.6, 0.25, 0.5}
	for _, c := range cases {
		for _, name := range []string{"diagonal", "full"} {
			for _, power := range []float64{1, 0.5} {
				at := root
				if name == "diagonal" {
					at[1] = 0
				}
				first, second := tiltedMoments(c.r, mean, at, power)
				natural := siteOf(t, c.r, name, mean, at, power)
				q, err := solver.NewApproximation(natural.family, natural.values)
				if err != nil {
					t.Errorf("%s, %s: %v", c.name, name, err)
					continue
				}
				for i := range 2 {
					v := []float64{second[0], second[2]}[i]
					if miss := math.Abs(q.Mean[i]-first[i]) / math.Sqrt(v); miss > c.off {
						t.Errorf("%s^%g, %s: mean %d is %.6g, by brute force %.6g", c.name, power, name, i, q.Mean[i], first[i])
					}
					if math.Abs(q.Variance[i]/v-1) > 2*c.off {
						t.Errorf("%s^%g, %s: variance %d is %.6g, by brute force %.6g", c.name, power, name, i, q.Variance[i], v)
					}
				}
				if name == "full" && math.Abs(q.Covariance[1]-second[1]) > 2*c.off*math.Sqrt(second[0]*second[2]) {
					t.Errorf("%s^%g: covariance %.6g, by brute force %.6g", c.name, power, q.Covariance[1], second[1])
				}
			}
		}
	}
}

type naturals struct {
	family gaussian.Family
	values []float64
}

// siteOf returns the natural parameters of the cavity times the site of the only record in r. The
// likelihood is raised to the given power.
func siteOf(t *testing.T, r *solver.Regression, name string, mean []float64, root [3]float64, power float64) naturals {
	t.Helper()
	family := familyOf(t, name, 2)
	c := newCavity(family)
	v00, v01, v11 := root[0]*root[0], root[0]*root[1], root[1]*root[1]+root[2]*root[2]
	det := v00*v11 - v01*v01
	for k, at := range c.entries {
		c.Natural[2+k] = map[[2]int]float64{{0, 0}: v11 / det, {1, 0}: -v01 / det, {1, 1}: v00 / det}[at]
	}
	shift(c.Natural, mean, c.entries)
	if !c.solve() {
		t.Fatal("the cavity is not proper")
	}
	const weight = 0.3
	tilted, natural := NewRegression(r, family, power, weight), make([]float64, family.Size())
	site := siteUnder(&c.Approximation, tilted)
	tilted.Expand(natural, site)
	back := make([]float64, tilted.Size())
	tilted.Compress(back, natural)
	for i, x := range back {
		if math.Abs(x-site[i]) > 1e-12*(1+math.Abs(x)) {
			t.Errorf("number %d of a site is %g, and %g after Expand and Compress", i, site[i], x)
		}
	}
	shift(natural, c.Mean, c.entries)
	for i := range natural {
		natural[i] = c.Natural[i] + power*natural[i]
	}
	return naturals{family, natural}
}

// raise with floor 0 repairs a factor as gaussian.RepairLikelihood does, and does not change a
// proper one.
func TestProperIsTheNearestLikelihood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 5).Draw(t, "d")
		family := gaussian.Full(d)
		factor := make([]float64, family.Size())
		for i := range factor {
			factor[i] = rapid.Float64Range(-2, 2).Draw(t, "x")
		}
		if rapid.Bool().Draw(t, "heavy") {
			for i := range d {
				factor[gaussian.Packed(d, i, i)] += 12
			}
		}
		precision := mat.NewSymDense(d, nil)
		for k, at := range family.Precision() {
			precision.SetSym(at[0], at[1], factor[d+k])
		}
		// gonum 0.17 panics on matrices below 1e-122 if only eigenvalues are wanted.
		var eigen mat.EigenSym
		if !eigen.Factorize(precision, true) {
			t.Fatal("no eigenvalues")
		}
		for _, value := range eigen.Values(nil) {
			if math.Abs(value) < 1e-6 {
				t.Skip("rounding decides whether a direction counts")
			}
		}
		want := append([]float64(nil), factor...)
		if err := gaussian.RepairLikelihood(d, want); err != nil {
			t.Fatal(err)
		}
		p := newProper(family)
		was := p.repair(factor)
		for i, x := range want {
			if math.Abs(factor[i]-x) > 1e-9 {
				t.Fatalf("number %d is %g, want %g (proper: %t)", i, factor[i], x, was)
			}
		}
		if was && family.Check(factor) != nil {
			t.Fatal("an improper factor counts as proper")
		}
	})
}
