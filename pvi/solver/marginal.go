package solver

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
)

// logMarginal returns the log of the mean likelihood of the outcome y. The predictors are m + Lz,
// where w holds their mean m and the root L of their covariance, and z is standard normal.
//
// A likelihood that is much narrower than the distribution of the predictors could fall between all
// points of a rule for z. The rule is therefore applied to a normal distribution near the product
// of the likelihood and the density of z (Liu and Pierce, "A note on Gauss–Hermite quadrature",
// 1994).
func (r *Regression) logMarginal(w *workspace, y float64) float64 {
	k := len(w.mean)
	near := r.near(w, y)
	logs := make([]float64, len(r.rule.Weights))
	z := make([]float64, k)
	for n, weight := range r.rule.Weights {
		u := r.rule.Points[n*k : (n+1)*k]
		copy(z, near.mode)
		for a := range z {
			z[a] += floats.Dot(near.root.RawRowView(a), u)
		}
		logs[n] = math.Log(weight) + near.logRoot + floats.Dot(u, u)/2 + r.logProduct(w, y, z)
	}
	return floats.LogSumExp(logs)
}

// logProduct returns the log likelihood of y at the predictors m + Lz, minus |z|²/2. It sets w.g
// and w.h to the derivatives with respect to the predictors.
func (r *Regression) logProduct(w *workspace, y float64, z []float64) float64 {
	w.placeAt(z)
	return r.response.Eval(y, w.eta, w.g, w.h) - floats.Dot(z, z)/2
}

// A nearby is a normal distribution near exp(logProduct). Its mean is a mode. Its precision is the
// negative Hessian there, with eigenvalues of at least 1.
type nearby struct {
	mode    []float64
	root    *mat.Dense // root of the covariance
	logRoot float64    // log of the determinant of root
}

// Limits of the search for the mode in near.
const (
	mostSearched = 50
	searched     = 1e-4 // squared length of a step, in sds, that ends the search
	leastPart    = 1e-6 // least part of a step
)

// near returns the [nearby]. The search begins at the best point of the rule, and uses Newton's
// method with halved steps.
func (r *Regression) near(w *workspace, y float64) nearby {
	k := len(w.mean)
	mode := make([]float64, k)
	best := r.logProduct(w, y, mode)
	for n := range r.rule.Weights {
		at := r.rule.Points[n*k : (n+1)*k]
		if value := r.logProduct(w, y, at); value > best {
			best = value
			copy(mode, at)
		}
	}
	for tries := 0; ; tries++ {
		r.logProduct(w, y, mode)
		root, logRoot := w.around()
		var along, step mat.VecDense // gradient in units of root, and step
		along.MulVec(root.T(), w.slope(mode))
		step.MulVec(root, &along)
		next := make([]float64, k)
		risen := false
		for part := 1.0; !risen && part >= leastPart && tries < mostSearched && mat.Dot(&along, &along) > searched; part /= 2 {
			floats.AddScaledTo(next, mode, part, step.RawVector().Data)
			if value := r.logProduct(w, y, next); value > best {
				best, risen = value, true
			}
		}
		if !risen {
			return nearby{mode, root, logRoot}
		}
		mode = next
	}
}

// slope returns the gradient of logProduct in z.
func (w *workspace) slope(z []float64) *mat.VecDense {
	k := len(z)
	gradient := mat.NewVecDense(k, nil)
	gradient.MulVec(mat.NewDense(k, k, w.root).T(), mat.NewVecDense(k, w.g))
	gradient.SubVec(gradient, mat.NewVecDense(k, z))
	return gradient
}

// around returns a root of the covariance of [nearby] where w.h was computed, and the log of its
// determinant. If w.h is not finite, the covariance is the identity.
func (w *workspace) around() (root *mat.Dense, logRoot float64) {
	k := len(w.mean)
	spread := mat.NewDense(k, k, w.root)
	var half, hessian mat.Dense
	half.Mul(mat.NewDense(k, k, w.h), spread)
	hessian.Mul(spread.T(), &half)
	precision := mat.NewSymDense(k, nil)
	for a := range k {
		for b := range a + 1 {
			precision.SetSym(a, b, -hessian.At(a, b))
		}
		precision.SetSym(a, a, 1-hessian.At(a, a))
	}
	root = mat.NewDense(k, k, nil)
	var eigen mat.EigenSym
	if !special.Finite(precision.RawSymmetric().Data) || !eigen.Factorize(precision, true) {
		for a := range k {
			root.Set(a, a, 1)
		}
		return root, 0
	}
	eigen.VectorsTo(root)
	for b, value := range eigen.Values(nil) {
		value = max(value, 1)
		logRoot -= math.Log(value) / 2
		for a := range k {
			root.Set(a, b, root.At(a, b)/math.Sqrt(value))
		}
	}
	return root, logRoot
}
