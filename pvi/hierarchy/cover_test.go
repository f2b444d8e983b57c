package hierarchy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/hierarchy"
)

// In normalJoint hyperparameter u_i is N(0, sds_i²), and one other coordinate is N(u_1, 1) given u.
func normalJoint(t *testing.T, sds []float64) *hierarchy.Joint {
	t.Helper()
	k := len(sds)
	hyper, start := make([]int, k), make([][2]float64, k)
	for i := range hyper {
		hyper[i], start[i] = i, [2]float64{0, 1.5}
	}
	joint, err := hierarchy.NewJoint(k+1, k+1, hyper, start, make([]*hierarchy.Single, k+1), func(u []float64) *hierarchy.Normals {
		var log float64
		for i, x := range u {
			log -= x * x / (2 * sds[i] * sds[i])
		}
		return &hierarchy.Normals{Log: log, Mean: []float64{u[0]}, Root: mat.NewDense(1, 1, []float64{1})}
	})
	check(t, err)
	return joint
}

// normalPosterior returns the posterior of normalJoint in closed form.
func normalPosterior(sds []float64, l *hierarchy.Likelihood) (mean []float64, cov *mat.SymDense) {
	k := len(sds)
	a := mat.NewSymDense(k+1, nil)
	a.CopySym(l.Precision)
	for i, sd := range sds {
		a.SetSym(i, i, a.At(i, i)+1/(sd*sd))
	}
	a.SetSym(0, 0, a.At(0, 0)+1)
	a.SetSym(k, k, a.At(k, k)+1)
	a.SetSym(0, k, a.At(0, k)-1)
	var c mat.Cholesky
	c.Factorize(a)
	cov, move := new(mat.SymDense), new(mat.VecDense)
	if c.InverseTo(cov) != nil || c.SolveVecTo(move, mat.NewVecDense(k+1, l.Linear)) != nil {
		panic("the posterior is singular")
	}
	return move.RawVector().Data, cov
}

// randomLikelihood returns a likelihood with mode truth and about the given precision in every
// direction.
func randomLikelihood(r *rand.Rand, truth []float64, information float64) *hierarchy.Likelihood {
	d := len(truth)
	x := mat.NewDense(2*d, d, nil)
	for i := range 2 * d {
		for j := range d {
			x.Set(i, j, r.NormFloat64()/math.Sqrt(float64(2*d)))
		}
	}
	l := &hierarchy.Likelihood{Precision: mat.NewSymDense(d, nil), Linear: make([]float64, d)}
	l.Precision.SymOuterK(information, x.T())
	h := mat.NewVecDense(d, l.Linear)
	h.MulVec(l.Precision, mat.NewVecDense(d, truth))
	return l
}

func randomSDs(r *rand.Rand, k int) []float64 {
	sds := make([]float64, k)
	for i := range sds {
		sds[i] = 0.5 + 2*r.Float64()
	}
	return sds
}

func posteriorOf(t *testing.T, p interface {
	Region(*hierarchy.Likelihood) (hierarchy.Region, error)
	Posterior(*hierarchy.Likelihood, hierarchy.Region, int, int) ([]float64, *mat.SymDense, error)
}, l *hierarchy.Likelihood, points int,
) ([]float64, *mat.SymDense) {
	t.Helper()
	region, err := p.Region(l)
	check(t, err)
	mean, cov, err := p.Posterior(l, region, points, 0)
	check(t, err)
	return mean, cov
}

// Means and sds are close to the closed form for 1 to MostHyper hyperparameters, even if the
// posterior is many times narrower than the prior.
func TestNarrowPosteriors(t *testing.T) {
	for _, k := range []int{1, 2, 4, 8, hierarchy.MostHyper} {
		for _, information := range []float64{1, 2000} {
			r := rand.New(rand.NewPCG(uint64(k), 1))
			sds := randomSDs(r, k)
			truth := make([]float64, k+1)
			for i, sd := range sds {
				truth[i] = sd * r.NormFloat64()
			}
			l := randomLikelihood(r, truth, information)
			joint := normalJoint(t, sds)
			mean, cov := posteriorOf(t, joint, l, joint.Points())
			want, wantCov := normalPosterior(sds, l)
			for i := range mean {
				sd := math.Sqrt(wantCov.At(i, i))
				if off, ratio := math.Abs(mean[i]-want[i])/sd, math.Sqrt(cov.At(i, i))/sd; !(off <= 0.2 && ratio >= 0.85 && ratio <= 1.15) {
					t.Errorf("%d hyperparameters, information %g: coordinate %d is %.2f sds from the exact mean, and its sd is %.2f times the exact sd", k, information, i, off, ratio)
				}
			}
		}
	}
}

// Sds are close to the closed form for precisions of many orders of magnitude and modes far outside
// the prior.
func TestFarPosteriors(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		k := 1 + r.IntN(5)
		sds, truth := randomSDs(r, k), make([]float64, k+1)
		size := math.Pow(10, -2+6*r.Float64())
		for i := range truth {
			truth[i] = size * r.NormFloat64()
		}
		information := math.Pow(10, -6+14*r.Float64())
		l := randomLikelihood(r, truth, information)
		joint := normalJoint(t, sds)
		mean, cov := posteriorOf(t, joint, l, joint.Points())
		_, want := normalPosterior(sds, l)
		for i, x := range mean {
			ratio := math.Sqrt(cov.At(i, i) / want.At(i, i))
			if math.IsNaN(x) || math.IsInf(x, 0) || !(ratio > 0.8 && ratio < 1.3) {
				t.Errorf("seed %d, %d hyperparameters: coordinate %d is %g, and its sd is %g times the exact sd", seed, k, i, x, ratio)
			}
		}
	}
}
