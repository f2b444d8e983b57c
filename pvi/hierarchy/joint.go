package hierarchy

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
)

// A Joint is a prior with coordinates of three kinds. The hyperparameters u have any joint density.
// Some coordinates are independent of all others, with one-dimensional densities ([Single]). Given
// u, the rest are jointly normal. [Joint.Posterior] integrates over u as [Prior.Posterior] does
// over spreads. It replaces the density of a Single by a normal factor from expectation propagation
// (Minka, "Expectation Propagation for Approximate Bayesian Inference", 2001).
type Joint struct {
	size     int // number of coordinates
	observed int // number of coordinates on which the likelihood depends, which come first
	hyper    []int
	rest     []int // indices of the coordinates that are not hyperparameters
	single   []*Single
	given    func(u []float64) *Normals

	before Region // covers u under the prior; its normal factors have the moments of the densities in single
	mean   []float64
	cov    *mat.SymDense
}

// Normals describes the normal coordinates of a [Joint], given u.
type Normals struct {
	// Log is the log density of u, up to a constant.
	Log float64
	// Mean has an element and Root a row for each coordinate that is not in u. These coordinates
	// are Mean + Root·z for a standard normal z. The rows of a [Single] are ignored.
	Mean []float64
	Root *mat.Dense
}

// NewJoint returns a prior with size coordinates. Likelihoods depend only on the first observed
// ones. hyper holds the indices of the hyperparameters, and start a guess of the mean and sd of
// each. singles has an element for each coordinate, nil unless it has a density of its own.
func NewJoint(size, observed int, hyper []int, start [][2]float64, singles []*Single, given func(u []float64) *Normals) (*Joint, error) {
	p := &Joint{size: size, observed: observed, hyper: hyper, given: given}
	is := make([]bool, size)
	for _, i := range hyper {
		is[i] = true
	}
	for i := range size {
		if !is[i] {
			p.rest, p.single = append(p.rest, i), append(p.single, singles[i])
		}
	}
	r := Region{mean: make([]float64, len(hyper)), root: make([][]float64, len(hyper)), sites: make([]site, len(p.rest))}
	for k, s := range start {
		r.mean[k], r.root[k] = s[0], make([]float64, len(hyper))
		r.root[k][k] = wider(len(hyper)) * s[1]
	}
	for k, s := range p.single {
		if s != nil {
			mean, variance := s.moments(site{})
			r.sites[k] = site{1 / variance, mean / variance}
		}
	}
	p.before = r
	none := &Likelihood{mat.NewSymDense(observed, nil), make([]float64, observed)}
	var err error
	if p.before, err = p.Region(none); err != nil {
		return nil, err
	}
	p.mean, p.cov, err = p.Posterior(none, p.before, p.Points(), 0)
	return p, err
}

// Moments returns the mean and the covariance of all coordinates under the prior.
func (p *Joint) Moments() (mean []float64, cov *mat.SymDense) { return p.mean, p.cov }

// MostHyper is the largest number of hyperparameters of a [Joint].
const MostHyper = 24

// Points returns the number of points with which [Joint.Region] covers the hyperparameters.
func (p *Joint) Points() int {
	points := [...]int{1, 24, 96, 384, 384, 384, 512, 512, 512}
	switch n := len(p.hyper); {
	case n < len(points):
		return points[n]
	case n <= 12:
		return 1024
	}
	return 2048
}

// Draw draws the observed coordinates from the prior, as a function of z, a standard normal number
// for each coordinate. Hyperparameters come from a set of weighted points, so their distribution is
// approximate.
func (p *Joint) Draw(z []float64) []float64 {
	points := p.before.points(p.Points(), 0)
	logs := make([]float64, len(points))
	for i, point := range points {
		logs[i] = p.given(point.z).Log - point.log
	}
	weights, err := normalised(logs, 1)
	if err != nil {
		panic(err) // unreachable: NewJoint used the same weights
	}
	u, first := special.Phi(z[0]), 0
	for first < len(points)-1 && u >= weights[first] {
		u -= weights[first]
		first++
	}
	given := p.given(points[first].z)
	theta := make([]float64, p.size)
	for k, i := range p.hyper {
		theta[i] = points[first].z[k]
	}
	for k, i := range p.rest {
		if s := p.single[k]; s != nil {
			theta[i] = s.quantile(special.Phi(z[i]))
			continue
		}
		theta[i] = given.Mean[k]
		for l, j := range p.rest {
			theta[i] += given.Root.At(k, l) * z[j]
		}
	}
	return theta[:p.observed]
}

// normal holds the posterior of the coordinates that are not in u, given u.
type normal struct {
	mean     []float64    // posterior mean
	root     *mat.Dense   // W of [Joint.condition]
	chol     mat.Cholesky // factorisation of A of [Joint.condition]
	evidence float64      // log density of u plus log evidence of the likelihood given u, up to a constant
}

// condition returns the posterior, given u, of the coordinates that are not hyperparameters. Their
// prior is θ = m + Wz, where z is standard normal. The vector (m, u) holds m and u in the order of
// all coordinates. The likelihood has the precision K and the linear term h (see [Likelihood]).
// With A = I + WᵀKW and b = Wᵀ(h − K(m, u)), the posterior is N(m + WA⁻¹b, WA⁻¹Wᵀ). The evidence,
// up to a constant, is
//
//	log p(h | u) = ½ bᵀA⁻¹b − ½ log|A| + h·(m, u) − ½ (m, u)ᵀK(m, u).
func (p *Joint) condition(l *Likelihood, sites []site, u []float64) (*normal, error) {
	given, n := p.given(u), len(p.rest)
	centre := make([]float64, p.size)
	for k, i := range p.hyper {
		centre[i] = u[k]
	}
	root := mat.DenseCopyOf(given.Root)
	for k, i := range p.rest {
		centre[i] = given.Mean[k]
		if p.single[k] != nil {
			for l := range n {
				root.Set(k, l, 0)
			}
			root.Set(k, k, 1/math.Sqrt(sites[k].precision))
			centre[i] = sites[k].linear / sites[k].precision
		}
	}
	pull := mat.NewVecDense(p.observed, nil) // h − K·centre (see [Likelihood])
	pull.MulVec(l.Precision, mat.NewVecDense(p.observed, centre[:p.observed]))
	evidence := given.Log
	for i, h := range l.Linear {
		evidence += centre[i] * (h - pull.AtVec(i)/2)
		pull.SetVec(i, h-pull.AtVec(i))
	}
	w := mat.NewDense(p.observed, max(n, 1), nil) // rows of the prior's root for observed coordinates
	for k, i := range p.rest {
		if i < p.observed {
			w.SetRow(i, root.RawRowView(k))
		}
	}
	out := &normal{mean: make([]float64, n), root: root}
	if n > 0 {
		if err := factorize(&out.chol, p.information(l, root, w)); err != nil {
			return nil, err
		}
		var b, move, theta mat.VecDense
		b.MulVec(w.T(), pull)
		if err := out.chol.SolveVecTo(&move, &b); err != nil && infinite(err) {
			return nil, ErrNotFinite
		}
		evidence += (mat.Dot(&b, &move) - out.chol.LogDet()) / 2
		theta.MulVec(root, &move)
		for k, i := range p.rest {
			out.mean[k] = centre[i] + theta.AtVec(k)
		}
	}
	if math.IsNaN(evidence) || math.IsInf(evidence, 1) {
		return nil, ErrNotFinite
	}
	out.evidence = evidence
	return out, nil
}

// information returns WᵀKW of [Joint.condition], where observed holds the rows of W of observed
// coordinates. It takes quadratic time if W is diagonal, and cubic otherwise.
func (p *Joint) information(l *Likelihood, w, observed *mat.Dense) *mat.SymDense {
	n := len(p.rest)
	a := mat.NewSymDense(n, nil)
	if diagonal(w) {
		for k, i := range p.rest {
			for m, j := range p.rest[:k+1] {
				if i < p.observed && j < p.observed {
					x, y, v := w.At(k, k), w.At(m, m), l.Precision.At(i, j)
					a.SetSym(k, m, (x*(v*y)+y*(v*x))/2)
				}
			}
		}
		return a
	}
	var kw, wkw mat.Dense
	kw.Mul(l.Precision, observed)
	wkw.Mul(observed.T(), &kw)
	for i := range n {
		for j := i; j < n; j++ {
			a.SetSym(i, j, (wkw.At(i, j)+wkw.At(j, i))/2)
		}
	}
	return a
}

func diagonal(m *mat.Dense) bool {
	rows, _ := m.Dims()
	for i := range rows {
		for j, x := range m.RawRowView(i) {
			if i != j && x != 0 {
				return false
			}
		}
	}
	return true
}

// spread returns WL⁻ᵀ, a root of the posterior covariance, with A = LLᵀ (see [Joint.condition]).
func (n *normal) spread() (*mat.Dense, error) {
	rows, columns := n.root.Dims()
	out := mat.NewDense(rows, columns, nil)
	if len(n.mean) == 0 {
		return out, nil
	}
	var lower, inverse mat.TriDense
	n.chol.LTo(&lower)
	if err := inverse.InverseTri(&lower); err != nil && infinite(err) {
		return nil, ErrNotFinite
	}
	out.Mul(n.root, inverse.T())
	return out, nil
}

// mostPasses limits the passes of expectation propagation over the [Single] coordinates. In each, a
// normal factor moves by the fraction passDamping of its change.
const (
	mostPasses  = 25
	passDamping = 0.8
)

// propagate returns the normal factors in place of p.single, given u and a likelihood, by
// expectation propagation.
func (p *Joint) propagate(l *Likelihood, sites []site, u []float64) ([]site, error) {
	sites = append([]site(nil), sites...)
	for range mostPasses {
		q, err := p.condition(l, sites, u)
		if err != nil {
			return nil, err
		}
		spread, err := q.spread()
		if err != nil {
			return nil, err
		}
		var farthest float64
		for k, s := range p.single {
			if s == nil {
				continue
			}
			v, was := squares(spread.RawRowView(k)), sites[k]
			cavity := site{1/v - was.precision, q.mean[k]/v - was.linear}
			if !(cavity.precision > 1e-9*was.precision) {
				cavity = site{}
			}
			mean, variance := s.moments(cavity)
			to := site{max(1/variance-cavity.precision, 1e-6*s.precision), 0}
			to.linear = mean*(to.precision+cavity.precision) - cavity.linear
			sites[k] = site{was.precision + passDamping*(to.precision-was.precision), was.linear + passDamping*(to.linear-was.linear)}
			farthest = max(farthest, math.Abs(mean-q.mean[k])/math.Sqrt(v), math.Abs(variance/v-1))
		}
		if farthest < 1e-4 {
			break
		}
	}
	return sites, nil
}

// Region returns a region that covers the posterior of u given a likelihood, with a normal factor
// for each [Single] coordinate.
func (p *Joint) Region(l *Likelihood) (Region, error) {
	r := p.before
	var err error
	if r.sites, err = p.propagate(l, r.sites, r.mean); err != nil || len(p.hyper) == 0 {
		return r, err
	}
	return r.towards(p.Points(), func(r *Region, u []float64) (float64, error) {
		c, err := p.condition(l, r.sites, u)
		if err != nil {
			return 0, err
		}
		return c.evidence, nil
	}, func(r *Region) (err error) {
		r.sites, err = p.propagate(l, r.sites, r.mean)
		return err
	})
}

// Posterior returns the mean and the covariance of all coordinates given a likelihood, from n
// quasi-random points of a region, like [Prior.Posterior].
func (p *Joint) Posterior(l *Likelihood, r Region, n, shift int) (mean []float64, cov *mat.SymDense, err error) {
	if len(p.hyper) == 0 {
		n = 1
	}
	points := r.points(n, shift)
	given, logs := make([]*normal, n), make([]float64, n)
	for i, point := range points {
		if given[i], err = p.condition(l, r.sites, point.z); err != nil {
			return nil, nil, err
		}
		logs[i] = given[i].evidence - point.log
	}
	weights, err := honest(logs, len(p.hyper))
	if err != nil {
		return nil, nil, err
	}
	means := make([][]float64, n)
	for i := range means {
		means[i] = make([]float64, p.size)
		for k, j := range p.hyper {
			means[i][j] = points[i].z[k]
		}
		for k, j := range p.rest {
			means[i][j] = given[i].mean[k]
		}
	}
	return mixture(weights, means, func(i int, cov *mat.SymDense) error {
		spread, err := given[i].spread()
		if err != nil {
			return err
		}
		var inner mat.SymDense
		inner.SymOuterK(weights[i], spread)
		for k, a := range p.rest {
			for l, b := range p.rest[:k+1] {
				cov.SetSym(a, b, cov.At(a, b)+inner.At(k, l))
			}
		}
		return nil
	})
}
