package hierarchy

import "gonum.org/v1/gonum/mat"

// leastWeight is the smallest weight of a point that Posterior uses.
const leastWeight = 1e-5

// Posterior returns the mean and the covariance of θ and of the spreads τ, in this order, given a
// likelihood. It averages over n quasi-random points of a region. Each shift gives other points, so
// a caller that averages over many likelihoods needs only a few for each.
func (p *Prior) Posterior(l *Likelihood, r Region, n, shift int) (mean []float64, cov *mat.SymDense, err error) {
	if len(p.Effects) == 0 {
		n = 1
	}
	points := r.points(n, shift)
	given, logs := make([]*conditional, n), make([]float64, n)
	for i, point := range points {
		if given[i], err = p.given(l, point.z); err != nil {
			return nil, nil, err
		}
		logs[i] = given[i].evidence - squares(point.z)/2 - point.log
	}
	weights, err := honest(logs, len(p.Effects))
	if err != nil {
		return nil, nil, err
	}
	means := make([][]float64, n)
	for i := range means {
		means[i] = given[i].mean(p)
	}
	return mixture(weights, means, func(i int, cov *mat.SymDense) error { return given[i].addCov(cov, weights[i]) })
}

// mixture returns the mean and the covariance of a mixture. addCov adds to cov the covariance of
// distribution i, multiplied by its weight. mixture changes means, and ignores weights below
// leastWeight in the covariance.
func mixture(weights []float64, means [][]float64, addCov func(i int, cov *mat.SymDense) error) (mean []float64, cov *mat.SymDense, err error) {
	size := len(means[0])
	mean, cov = make([]float64, size), mat.NewSymDense(size, nil)
	for i, w := range weights {
		for j, x := range means[i] {
			mean[j] += w * x
		}
	}
	for i, w := range weights {
		if w < leastWeight {
			continue
		}
		if err := addCov(i, cov); err != nil {
			return nil, nil, err
		}
		for j := range means[i] {
			means[i][j] -= mean[j]
		}
		cov.SymRankOne(cov, w, mat.NewVecDense(size, means[i]))
	}
	return mean, cov, nil
}
