package population

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// drawCurvature returns n draws of W, the mean curvature of clients, from its posterior given the
// rounds. obs holds the gradients of the rounds, corrected by [rules.effective]. It returns false
// if a matrix is not positive definite.
//
// The prior of W is aE plus a deviation. The diagonal matrix E is one of r.scales. The factor a is
// normal with mean typical·W₀ and sd typicalSD times this mean, where W₀ is r.nominal. The elements
// of the deviation are independent. Element (i, j) has the sd
//
//	x·typical·W₀·√(E_ii E_jj)
//
// where x is one of curvatureSDs. E and x are weighted by the evidence.
//
// The likelihood has the released curvatures and the gradients
//
//	g_t = h − Wθ_t + noise
//
// where θ_t is the point of round t. The unknown vector h is integrated out under a flat prior, so
// only differences between rounds matter. For given E and x, the posterior is Gaussian in vec W,
// the vector of the elements of W. Eigenvalues of a draw are at least leastShare·typical·W₀.
func (r *rules) drawCurvature(rounds []*round, obs []effective, from *source, n int) ([]*mat.SymDense, bool) {
	size := packedSize(r.dim)
	precision, linear := r.curvatureLikelihood(rounds, obs)
	var logs []float64
	var centres []*mat.VecDense
	var roots []*mat.TriDense
	for _, scale := range r.scales {
		for _, sd := range curvatureSDs {
			centre, root, evidence, ok := r.givenScale(scale, sd, precision, linear)
			if !ok {
				return nil, false
			}
			centres, roots, logs = append(centres, centre), append(roots, root), append(logs, evidence)
		}
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
		if all[k], ok = raised(unpack(r.dim, z.RawVector().Data, 1), leastShare*typical*r.nominal); !ok {
			return nil, false
		}
	}
	return all, true
}

// givenScale returns the posterior of vec W for one scale s and one relative sd of the deviation
// (see [rules.drawCurvature]): its mean, the Cholesky root of its precision, and the log evidence
// up to a constant. precision and linear come from curvatureLikelihood.
func (r *rules) givenScale(s scale, relative float64, precision *mat.SymDense, linear *mat.VecDense) (*mat.VecDense, *mat.TriDense, float64, bool) {
	size, mean := packedSize(r.dim), typical*r.nominal
	// The prior covariance of vec W is D + along·vvᵀ. Here v is vec of the scale, and the diagonal
	// matrix D has the variances of the deviation. weighted is D⁻¹v, and square is vᵀD⁻¹v.
	along := typicalSD * typicalSD * mean * mean
	inverse, weighted := make([]float64, size), mat.NewVecDense(size, nil)
	var square, logDet float64
	k := 0
	for i, x := range s {
		for j := range i + 1 {
			sd := relative * mean * math.Sqrt(x*s[j])
			inverse[k] = 1 / (sd * sd)
			logDet += 2 * math.Log(sd)
			if i == j {
				weighted.SetVec(k, x*inverse[k])
				square += x * x * inverse[k]
			}
			k++
		}
	}
	cut := along / (1 + along*square)
	p := mat.NewSymDense(size, nil)
	p.SymRankOne(precision, -cut, weighted)
	for k, x := range inverse {
		p.SetSym(k, k, p.At(k, k)+x)
	}
	// The prior mean of vec W is mean·v. The prior precision times it is pull·D⁻¹v.
	pull := mean * (1 - cut*square)
	right, centre := mat.NewVecDense(size, nil), mat.NewVecDense(size, nil)
	right.AddScaledVec(linear, pull, weighted)
	var c mat.Cholesky
	if !c.Factorize(p) || c.SolveVecTo(centre, right) != nil {
		return nil, nil, 0, false
	}
	root := new(mat.TriDense)
	c.UTo(root)
	prior := -logDet - math.Log1p(along*square) - mean*pull*square
	return centre, root, (prior - c.LogDet() + mat.Dot(right, centre)) / 2, true
}

// curvatureLikelihood returns the Gaussian likelihood of vec W from all rounds, as precision and
// precision times mean.
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
	// The gradients depend on W through g_t − ḡ = X_t vec W + noise, where X_t maps vec W to −W(θ_t
	// − θ̄). Bars denote means over rounds, weighted by the precision of the gradients.
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
