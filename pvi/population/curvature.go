package population

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// drawCurvature returns n draws of W, the mean curvature of clients, from its posterior given the
// rounds. obs holds the gradients of the rounds, corrected by [rules.effective]. drawCurvature
// returns false if a matrix that must be positive definite is not.
//
// In the prior, W = QΩQᵀ, where QQᵀ is one of r.shapes, the information of a record. Ω is aI plus a
// deviation with independent elements. The factor a is normal with mean typical·W₀ and sd typicalSD
// times this mean, where W₀ is r.nominal. The deviation has sd x·typical·W₀, where x is one of
// curvatureSDs. Q and x are weighted by the evidence.
//
// The likelihood has the released curvatures and the gradients
//
//	g_t = h − Wθ_t + noise
//
// where θ_t is the point of round t. The unknown vector h is integrated out under a flat prior, so
// only differences between rounds matter. For given Q and x, the posterior is Gaussian in vec Ω,
// the vector of the elements of Ω. Eigenvalues of a draw are at least leastShare·typical·W₀.
func (r *rules) drawCurvature(rounds []*round, obs []effective, from *source, n int) ([]*mat.SymDense, bool) {
	size := packedSize(r.dim)
	precision, linear := r.curvatureLikelihood(rounds, obs)
	var logs []float64
	var centres []*mat.VecDense
	var roots []*mat.TriDense
	for _, shape := range r.shapes {
		p, l := shape.likelihood(precision, linear)
		for _, sd := range curvatureSDs {
			centre, root, evidence, ok := r.givenDeviation(sd, p, l)
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
		w := congruent(r.shapes[i/len(curvatureSDs)].root, unpack(r.dim, z.RawVector().Data, 1))
		if all[k], ok = raised(w, leastShare*typical*r.nominal); !ok {
			return nil, false
		}
	}
	return all, true
}

// likelihood returns the likelihood of vec Ω, given that of vec W for W = QΩQᵀ, where Q is the root
// of u. A likelihood is a precision, and the precision times the mean.
func (u *Units) likelihood(precision *mat.SymDense, linear *mat.VecDense) (*mat.SymDense, *mat.VecDense) {
	d, _ := u.root.Dims()
	size := packedSize(d)
	one, columns := make([]float64, size), mat.NewDense(size, size, nil) // vec W = columns·vec Ω
	column := make([]float64, size)
	for k := range one {
		clear(one)
		one[k] = 1
		pack(column, congruent(u.root, unpack(d, one, 1)))
		columns.SetCol(k, column)
	}
	l := mat.NewVecDense(size, nil)
	l.MulVec(columns.T(), linear)
	return congruent(columns.T(), precision), l
}

// givenDeviation returns the posterior of vec Ω given the relative sd of the deviation (see
// [rules.drawCurvature]): its mean, the Cholesky root of its precision, and the log evidence up to
// a constant. precision and linear are the likelihood.
func (r *rules) givenDeviation(relative float64, precision *mat.SymDense, linear *mat.VecDense) (*mat.VecDense, *mat.TriDense, float64, bool) {
	size, mean := packedSize(r.dim), typical*r.nominal
	// The prior covariance of vec Ω is sd²I + along·vvᵀ. Here v is vec I, whose squared norm is the
	// dimension.
	sd, along := relative*mean, typicalSD*typicalSD*mean*mean
	v := mat.NewVecDense(size, nil)
	pack(v.RawVector().Data, scaledUnit(r.dim, 1))
	square := float64(r.dim) / (sd * sd)
	cut := along / (1 + along*square)
	p := mat.NewSymDense(size, nil)
	p.SymRankOne(precision, -cut/(sd*sd*sd*sd), v)
	for k := range size {
		p.SetSym(k, k, p.At(k, k)+1/(sd*sd))
	}
	// The prior mean of vec Ω is mean·v. The prior precision times this vector is pull·v/sd².
	pull := mean * (1 - cut*square)
	right, centre := mat.NewVecDense(size, nil), mat.NewVecDense(size, nil)
	right.AddScaledVec(linear, pull/(sd*sd), v)
	var c mat.Cholesky
	if !c.Factorize(p) || c.SolveVecTo(centre, right) != nil {
		return nil, nil, 0, false
	}
	root := new(mat.TriDense)
	c.UTo(root)
	prior := -2*float64(size)*math.Log(sd) - math.Log1p(along*square) - mean*pull*square
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
