package ep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// outcomes returns a regression of n records over R^d with outcomes of the given family. A record
// has an intercept, unless d is 1, and covariates that are uniform on [−1, 1].
func outcomes(t testing.TB, family study.Family, n, d int, seed uint64) *solver.Regression {
	t.Helper()
	r := solver.NewRegression(d, solver.Outcome{Family: family, NoiseSD: 0.5})
	src := seeded.Stream(seed, "records")
	uniform := uniforms(src)
	for range n {
		var eta float64
		for j := range d {
			x := 1.0
			if j > 0 || d == 1 {
				x = 2*uniform() - 1
			}
			r.Load(j, x)
			eta += x * 1.2 * math.Cos(float64(j))
		}
		r.EndPredictor()
		normal := math.Sqrt2 * math.Erfinv(2*uniform()-1)
		switch {
		case family == study.Linear:
			r.EndRecord(eta + 0.5*normal)
		case family == study.Probit && eta+normal > 0, family == study.Logistic && uniform() < 1/(1+math.Exp(-eta)):
			r.EndRecord(1)
		default:
			r.EndRecord(0)
		}
	}
	return r
}

func unit(family gaussian.Family) []float64 {
	natural := make([]float64, family.Size())
	for k, at := range family.Precision() {
		if at[0] == at[1] {
			natural[family.Dim()+k] = 1
		}
	}
	return natural
}

// ways lists the algorithms without noise.
var ways = map[string]func(dst, prior []float64, tilted Tilted) error{
	"ep": func(dst, prior []float64, tilted Tilted) error {
		if _, settled := EP(dst, prior, tilted, Options{Power: 1, Damping: 1, Passes: 200, Tolerance: 1e-10}); !settled {
			return fmt.Errorf("did not settle")
		}
		return nil
	},
	"sep": func(dst, prior []float64, tilted Tilted) error {
		return SEP(dst, prior, tilted, SEPOptions{Power: 1, StepSize: 0.5, Recency: 100, Nominal: float64(tilted.Records()), Improper: study.Project}, 150)
	},
	"sep of deviations": func(dst, prior []float64, tilted Tilted) error {
		return SEP(dst, prior, tilted, SEPOptions{Power: 1, StepSize: 0.5, Recency: 100, Nominal: float64(tilted.Records()), Deviation: true, Improper: study.Reject}, 150)
	},
}

func posteriorOf(t *testing.T, way string, family gaussian.Family, r *solver.Regression) *solver.Approximation {
	t.Helper()
	prior, factor := unit(family), make([]float64, family.Size())
	if err := ways[way](factor, prior, NewRegression(r, family, 1, 0.5)); err != nil {
		t.Fatalf("%s: %v", way, err)
	}
	return posterior(t, family, prior, factor)
}

// Without noise every algorithm finds the exact posterior of normal outcomes.
func TestPropagationIsExactForNormalOutcomes(t *testing.T) {
	const n, d = 60, 4
	r := outcomes(t, study.Linear, n, d, 1)
	family := gaussian.Full(d)
	want := unit(family)
	for i, y := range r.Outcomes() {
		_, x := r.Design().Row(i)
		for a := range d {
			want[a] += x[a] * y / 0.25
			for b := range a + 1 {
				want[gaussian.Packed(d, a, b)] += x[a] * x[b] / 0.25
			}
		}
	}
	for way := range ways {
		q := posteriorOf(t, way, family, r)
		for i, x := range want {
			if math.Abs(q.Natural[i]-x) > 1e-7*(1+math.Abs(x)) {
				t.Errorf("%s: natural parameter %d is %.10g, of the posterior %.10g", way, i, q.Natural[i], x)
			}
		}
	}
}

// On probit regressions, the means of q agree with the posterior's, from the trapezoid rule, to a
// thousandth of an sd. Variances agree up to about one over the number of records.
func TestPropagationNearsTheProbitPosterior(t *testing.T) {
	const n = 400
	for _, d := range []int{1, 2} {
		r := outcomes(t, study.Probit, n, d, 3)
		for way := range ways {
			q := posteriorOf(t, way, gaussian.Full(d), r)
			first, second := probitPosterior(r, q)
			for i := range d {
				sd := math.Sqrt(second[i])
				if miss := math.Abs(q.Mean[i]-first[i]) / sd; miss > 1e-3 {
					t.Errorf("%s, %d coefficients: mean %d is %.6g, by quadrature %.6g, %.2g sds away", way, d, i, q.Mean[i], first[i], miss)
				}
				if math.Abs(q.Variance[i]/second[i]-1) > 4e-3 {
					t.Errorf("%s, %d coefficients: variance %d is %.6g, by quadrature %.6g", way, d, i, q.Variance[i], second[i])
				}
			}
		}
	}
}

// probitPosterior returns the mean and second moment of each coefficient by the trapezoid rule
// around the mean of q.
func probitPosterior(r *solver.Regression, q *solver.Approximation) (first, second [2]float64) {
	const points, width = 20, 0.35
	d := r.Dim()
	var cholesky mat.Cholesky
	var root mat.TriDense
	if !cholesky.Factorize(mat.NewSymDense(d, slices.Clone(q.Covariance))) {
		panic("not positive definite")
	}
	cholesky.LTo(&root)
	slope, theta := make([]float64, d), make([]float64, d)
	at := r.AddGradient(slope, q.Mean)
	var total float64
	each := func(visit func(weight float64)) {
		for i := -points; i <= points; i++ {
			for j := -points; j <= points; j++ {
				if d == 1 && j > -points {
					break
				}
				z := [2]float64{width * float64(i), width * float64(j)}
				var squares float64
				for a := range d {
					theta[a] = q.Mean[a]
					for b := range a + 1 {
						theta[a] += root.At(a, b) * z[b]
					}
					squares += theta[a] * theta[a]
				}
				visit(math.Exp(r.AddGradient(slope, theta) - at - squares/2))
			}
		}
	}
	each(func(weight float64) {
		total += weight
		for a, x := range theta {
			first[a] += weight * x
		}
	})
	for a := range d {
		first[a] /= total
	}
	each(func(weight float64) {
		for a, x := range theta {
			second[a] += weight / total * (x - first[a]) * (x - first[a])
		}
	})
	return first, second
}

func TestSmallPowersAreVariational(t *testing.T) {
	const d = 3
	r := outcomes(t, study.Logistic, 150, d, 5)
	family := gaussian.Full(d)
	prior, want := unit(family), make([]float64, family.Size())
	if err := solver.Pooled(want, prior, family, []solver.Likelihood{r}, false, nil); err != nil {
		t.Fatal(err)
	}
	variational, err := solver.NewApproximation(family, want)
	if err != nil {
		t.Fatal(err)
	}
	var gaps []float64
	for _, power := range []float64{1, 0.3, 0.01} {
		o := SEPOptions{Power: power, StepSize: 0.5, Recency: 100, Nominal: 150, Improper: study.Project}
		q := posterior(t, family, prior, sepFactor(t, NewRegression(r, family, power, 1), o, 150))
		gaps = append(gaps, math.Abs(q.Variance[0]/variational.Variance[0]-1)+math.Abs(q.Mean[0]-variational.Mean[0]))
	}
	if !slices.IsSortedFunc(gaps, func(a, b float64) int { return cmp.Compare(b, a) }) || gaps[2] > 1e-3 {
		t.Errorf("for smaller and smaller powers the fit is %v away from the variational one", gaps)
	}
}
