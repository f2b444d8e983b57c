package audit

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// linear returns Fisher's discriminant: the linear function wᵀx that best separates two Gaussians
// with the same covariance. null and other have one observation for each run.
func linear(null, other [][]float64) (statistic, error) {
	n := len(null[0])
	centred := mat.NewDense(n, len(null)+len(other), nil)
	difference := mat.NewVecDense(n, nil)
	for i := range n {
		m0, m1 := meanAt(null, i), meanAt(other, i)
		difference.SetVec(i, m1-m0)
		for k, x := range null {
			centred.Set(i, k, x[i]-m0)
		}
		for k, x := range other {
			centred.Set(i, len(null)+k, x[i]-m1)
		}
	}
	var covariance mat.SymDense
	covariance.SymOuterK(1/float64(len(null)+len(other)-2), centred)
	// The ridge keeps the matrix invertible even if a feature has no variance.
	ridge := 1e-9*mat.Trace(&covariance)/float64(n) + math.SmallestNonzeroFloat64
	for i := range n {
		covariance.SetSym(i, i, covariance.At(i, i)+ridge)
	}
	var chol mat.Cholesky
	if !chol.Factorize(&covariance) {
		return statistic{}, errors.New("the observations have no covariance")
	}
	var w mat.VecDense
	if err := chol.SolveVecTo(&w, difference); err != nil {
		return statistic{}, err
	}
	weights := w.RawVector().Data
	return statistic{"linear", func(x []float64) float64 {
		var s float64
		for i, xi := range x {
			s += weights[i] * xi
		}
		return s
	}}, nil
}

// linearOnly returns only the linear statistic. It is the field learn of many attacks.
func linearOnly(null, other [][]float64) ([]statistic, error) {
	s, err := linear(null, other)
	return []statistic{s}, err
}

// mixture returns the log likelihood ratio of independent steps x_i. The protected record takes
// part in each step with probability q = rate. Each x_i is normal with standard deviation sd.
// Without the record its mean is 0. With the record it is a = otherMean in the other world and b =
// nullMean in the null world. The log likelihood ratio is
//
//	Σ_i log[(1 − q + q·r(x_i, a)) / (1 − q + q·r(x_i, b))], where r(x, c) = exp((c·x − c²/2)/sd²)
func mixture(rate, otherMean, nullMean, sd float64) statistic {
	ratio := func(x, c float64) float64 {
		odds := (c*x - c*c/2) / (sd * sd)
		if odds > 30 {
			return odds + math.Log(rate)
		}
		return math.Log1p(rate * math.Expm1(odds))
	}
	return statistic{"likelihood ratio", func(x []float64) float64 {
		var s float64
		for _, xi := range x {
			s += ratio(xi, otherMean) - ratio(xi, nullMean)
		}
		return s
	}}
}

// allocation returns the log likelihood ratio of the epochs of a run. An epoch has the given number
// of steps x_i. The protected record takes part in exactly one of them, which is chosen at random.
// Each x_i is normal with standard deviation sd. The mean of the chosen step is a = otherMean in
// the other world and b = nullMean in the null world; the others have mean 0. With r as in
// [mixture], the log likelihood ratio of an epoch is
//
//	log[Σ_i r(x_i, a) / Σ_i r(x_i, b)]
func allocation(steps int, otherMean, nullMean, sd float64) statistic {
	ratio := func(epoch []float64, c float64) float64 {
		odds := make([]float64, len(epoch))
		for i, x := range epoch {
			odds[i] = (c*x - c*c/2) / (sd * sd)
		}
		return floats.LogSumExp(odds)
	}
	return statistic{"likelihood ratio", func(x []float64) float64 {
		var s float64
		for epoch := range slices.Chunk(x, steps) {
			s += ratio(epoch, otherMean) - ratio(epoch, nullMean)
		}
		return s
	}}
}

func meanAt(runs [][]float64, i int) float64 {
	var s float64
	for _, x := range runs {
		s += x[i]
	}
	return s / float64(len(runs))
}

// spread returns the standard deviation of all observations.
func spread(runs [][]float64) float64 { return stat.StdDev(slices.Concat(runs...), nil) }
