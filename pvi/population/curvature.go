package population

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// drawCurvature returns n draws of a client's mean curvature W from the posterior of W given the
// rounds. The argument obs has the rounds' gradients, corrected by [rules.effective].
//
// The prior of W is aI plus a deviation. The factor a is normal around W₀·typical. The deviation
// is isotropic in Frobenius norm, and its relative sd is one of curvatureSDs, weighted by the
// evidence. The likelihood has the released curvatures and the gradients g_t = h − Wθ_t + noise.
// The unknown h is integrated out under a flat prior, so only contrasts between rounds matter.
// For a given relative sd, the posterior is Gaussian in vec W.
func (r *rules) drawCurvature(rounds []*round, obs []effective, from *source, n int) ([]*mat.SymDense, bool) {
	size, mean := packedSize(r.dim), typical*r.nominal
	precision, linear := r.curvatureLikelihood(rounds, obs)
	unit := make([]float64, size)
	pack(unit, scaledUnit(r.dim, 1))

	logs := make([]float64, len(curvatureSDs))
	centres, roots := make([]*mat.VecDense, len(logs)), make([]*mat.TriDense, len(logs))
	for i, sd := range curvatureSDs {
		variance, along := sd*sd*mean*mean, typicalSD*typicalSD*mean*mean
		// The prior covariance of vec W is variance·I + along·vvᵀ, with v = vec I and |v|² = d.
		cut := along / (variance * (variance + along*float64(r.dim)))
		p := mat.NewSymDense(size, nil)
		p.SymRankOne(precision, -cut, mat.NewVecDense(size, unit))
		for k := range size {
			p.SetSym(k, k, p.At(k, k)+1/variance)
		}
		// The prior mean is mean·v. The prior precision times the prior mean is pull·v.
		pull := mean * (1/variance - cut*float64(r.dim))
		right := mat.NewVecDense(size, nil)
		right.AddScaledVec(linear, pull, mat.NewVecDense(size, unit))

		var c mat.Cholesky
		if !c.Factorize(p) {
			return nil, false
		}
		centres[i], roots[i] = mat.NewVecDense(size, nil), new(mat.TriDense)
		if c.SolveVecTo(centres[i], right) != nil {
			return nil, false
		}
		c.UTo(roots[i])
		prior := -float64(size)*math.Log(variance) - math.Log1p(along*float64(r.dim)/variance)
		logs[i] = (prior - c.LogDet() + mat.Dot(right, centres[i]) - mean*pull*float64(r.dim)) / 2
	}
	weights := proportions(logs)

	all := make([]*mat.SymDense, n)
	for k := range all {
		i := from.choose(weights)
		z := mat.NewVecDense(size, nil)
		from.fill(z.RawVector().Data)
		if z.SolveVec(roots[i], z) != nil {
			return nil, false
		}
		z.AddVec(z, centres[i])
		var ok bool
		if all[k], ok = raised(unpack(r.dim, z.RawVector().Data, 1), leastShare*mean); !ok {
			return nil, false
		}
	}
	return all, true
}

// curvatureLikelihood returns the precision of vec W in the likelihood of the rounds, and this
// precision times the mean.
func (r *rules) curvatureLikelihood(rounds []*round, obs []effective) (*mat.SymDense, *mat.VecDense) {
	d, size := r.dim, packedSize(r.dim)
	precision, linear := mat.NewSymDense(size, nil), mat.NewVecDense(size, nil)
	packed := mat.NewVecDense(size, nil)
	var total float64
	for _, o := range rounds {
		weight := 1 / (o.curvatureSD * o.curvatureSD)
		pack(packed.RawVector().Data, o.curvature)
		linear.AddScaledVec(linear, weight, packed)
		total += weight
	}
	// g_t − ḡ = X_t vec W, where X_t maps vec W to −W(θ_t − θ̄).
	g, point, _ := average(obs)
	rows := mat.NewDense(size, d*len(obs), nil)
	contrasts := mat.NewVecDense(d*len(obs), nil)
	for t, o := range obs {
		for i := range d {
			contrasts.SetVec(t*d+i, (o.gradient[i]-g[i])/o.sd)
		}
		k := 0
		for i := range d {
			for j := range i {
				rows.Set(k, t*d+i, -(o.point[j]-point[j])/(math.Sqrt2*o.sd))
				rows.Set(k, t*d+j, -(o.point[i]-point[i])/(math.Sqrt2*o.sd))
				k++
			}
			rows.Set(k, t*d+i, -(o.point[i]-point[i])/o.sd)
			k++
		}
	}
	precision.SymOuterK(1, rows)
	packed.MulVec(rows, contrasts)
	linear.AddVec(linear, packed)
	for k := range size {
		precision.SetSym(k, k, precision.At(k, k)+total)
	}
	return precision, linear
}
