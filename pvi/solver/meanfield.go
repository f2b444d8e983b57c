package solver

import (
	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
)

const mostNewton = 100

// PooledDiagonal computes the q of [Pooled] for a diagonal family by Newton steps of the mean. It
// uses the whole expected Hessian, so it converges fast even if columns are nearly collinear. It
// returns false if the steps fail, as they may if a log likelihood is not concave.
func PooledDiagonal(dst, prior []float64, all []Likelihood) (ok bool) {
	f := &energy{likelihood: Together(all), family: gaussian.Diagonal(len(dst) / 2)}
	copy(dst, prior)
	n := newtonStep{f: f, prior: prior, wide: gaussian.Full(f.family.Dim())}
	best, ok := n.evaluate(dst)
	if !ok {
		return false
	}
	next := make([]float64, len(dst))
	slack := f.likelihood.Tolerance()
	for range mostNewton {
		move, size, ok := n.step(next, dst)
		if !ok {
			return false
		}
		if move <= newtonSettled*size {
			return true
		}
		value, ok := n.evaluate(next)
		for step := 0.5; !ok || value < best-slack*(abs(best)+1); step /= 2 {
			if step < shortest {
				return false
			}
			for i, x := range dst {
				next[i] = (next[i] + x) / 2
			}
			value, ok = n.evaluate(next)
		}
		copy(dst, next)
		best = value
	}
	return false
}

// newtonSettled is the relative change of natural parameters at which [PooledDiagonal] stops. It
// can be small, because near the solution a Newton step doubles the number of correct digits.
const newtonSettled = 1e-10

// A newtonStep computes Newton steps of the mean of a diagonal Gaussian. q is the Gaussian of the
// last call to evaluate, and e holds the expectations under it.
type newtonStep struct {
	f     *energy
	prior []float64
	wide  gaussian.Family
	q     *Approximation
	e     *Expected
}

// evaluate sets q and returns its free energy. It returns false if q is not proper or the energy is
// not finite.
func (n *newtonStep) evaluate(natural []float64) (value float64, ok bool) {
	d := n.f.family.Dim()
	q, err := NewApproximation(n.f.family, natural)
	if err != nil {
		return 0, false
	}
	whole := *q
	whole.Family, whole.Covariance = n.wide, make([]float64, d*d)
	for i, v := range q.Variance {
		whole.Covariance[i*(d+1)] = v
	}
	n.q, n.e = q, NewExpected(n.wide)
	n.f.likelihood.AddExpected(n.e, &whole)
	entropy, err := n.f.family.Entropy(natural)
	if err != nil || !n.e.Finite() {
		return 0, false
	}
	return n.e.Value + q.expected(n.prior) + entropy, true
}

// step writes the natural parameters after a Newton step from q to dst. natural must be those of q.
// move is the largest absolute change, and size the largest absolute value in natural. ok is false
// if the Hessian is not negative definite.
func (n *newtonStep) step(dst, natural []float64) (move, size float64, ok bool) {
	d := len(n.q.Mean)
	precision, slope := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	for i, m := range n.q.Mean {
		slope.SetVec(i, n.e.Gradient[i]+n.prior[i]-n.prior[d+i]*m)
		precision.SetSym(i, i, n.prior[d+i])
	}
	for k, at := range n.wide.Precision() {
		precision.SetSym(at[0], at[1], precision.At(at[0], at[1])-n.e.Hessian[k])
	}
	var root mat.Cholesky
	var step mat.VecDense
	if !root.Factorize(precision) || root.SolveVecTo(&step, slope) != nil {
		return 0, 0, false
	}
	for i, m := range n.q.Mean {
		dst[d+i] = precision.At(i, i)
		dst[i] = dst[d+i] * (m + step.AtVec(i))
	}
	for i, x := range natural {
		move, size = max(move, abs(dst[i]-x)), max(size, abs(x))
	}
	return move, size, true
}
