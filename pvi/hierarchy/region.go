package hierarchy

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// A Region is a normal distribution for importance sampling, which covers the posterior of the
// hyperparameters of a [Joint] or of the standardised spreads of a [Prior]. A standardised spread z
// stands for the Φ(z)-quantile of the spread's prior.
type Region struct {
	mean []float64
	root [][]float64 // lower Cholesky root of the covariance, by rows

	sites []site // normal factors of the other coordinates of a Joint
}

// wider returns the ratio of the sds of a region to those of the posterior of n spreads that it
// covers. At 1, weights in the tails would vary too much. The ratio falls with n, because few
// points of a wide region would lie inside the posterior.
func wider(n int) float64 { return math.Sqrt(1 + 1.25*math.Pow(min(1, 3/float64(n)), 2.0/3)) }

// before returns a region that covers the prior of the standardised spreads.
func (p *Prior) before() Region {
	n := len(p.Effects)
	r := Region{mean: make([]float64, n), root: make([][]float64, n)}
	for i := range r.root {
		r.root[i] = make([]float64, n)
		r.root[i][i] = 1
	}
	return r
}

// Points returns the number of quasi-random points that [Prior.Region] takes at a time. It is
// enough for [Prior.Posterior]: more points change the posterior by less than a hundredth of an sd.
func (p *Prior) Points() int {
	switch len(p.Effects) {
	case 0:
		return 1
	case 1:
		return 24
	}
	return 96
}

// Region returns a region that covers the posterior of the standardised spreads, given a
// likelihood.
func (p *Prior) Region(l *Likelihood) (Region, error) {
	if len(p.Effects) == 0 {
		return p.before(), nil
	}
	return p.before().towards(p.Points(), func(_ *Region, z []float64) (float64, error) {
		c, err := p.given(l, z)
		if err != nil {
			return 0, err
		}
		return c.evidence - squares(z)/2, nil
	}, func(*Region) error { return nil })
}

// Limits of [Region.towards]. If the first β is below leastPower, the posterior is far from the
// region or much narrower, and the turns start again at its mode.
const (
	mostTurns  = 12
	leastPower = 0.1
)

// towards returns a region that covers the posterior with the given log density, up to a constant,
// in several turns:
//
//   - Each turn takes n points of the current region r, and makes a new region that covers
//     r^(1−β)·posterior^β.
//   - The power β is the largest for which at least n/3 of the weighted points are effective.
//   - While β is below 1, the new region is not widened. Otherwise regions of six or more spreads
//     would never get smaller.
//   - The last turn has β = 1, and starts from a region that was widened.
//
// towards calls turned for each new region, which it may change.
func (r Region) towards(n int, log func(r *Region, z []float64) (float64, error), turned func(r *Region) error) (Region, error) {
	logs, wide := make([]float64, n), true
	for turn := range mostTurns {
		points := r.points(n, 0)
		for i, point := range points {
			l, err := log(&r, point.z)
			if err != nil {
				return r, err
			}
			logs[i] = l - point.log
		}
		beta := power(logs, float64(n)/3)
		weights, err := normalised(logs, beta)
		if err != nil {
			return r, err
		}
		by, last := 1.0, beta == 1 && wide
		if wide = beta == 1; wide {
			by = wider(len(r.mean))
		}
		next := r.around(points, weights, by)
		if turn == 0 && beta < leastPower {
			next, wide = r.climbed(func(z []float64) (float64, error) { return log(&r, z) }), true
		}
		if err := turned(&next); err != nil {
			return r, err
		}
		if r = next; last {
			break
		}
	}
	return r, nil
}

// power returns the largest β among 1, .7, .7², ... for which weights proportional to exp(β·logs)
// have an effective number of at least least points, and is never below 1e-12.
func power(logs []float64, least float64) float64 {
	for beta := 1.0; beta > 1e-12; beta *= .7 {
		if w, err := normalised(logs, beta); err == nil && 1/squares(w) >= least {
			return beta
		}
	}
	return 1e-12
}

// normalised returns weights proportional to exp(beta·logs) with sum 1, or ErrNotFinite if the
// largest of logs is not finite.
func normalised(logs []float64, beta float64) ([]float64, error) {
	largest := slices.Max(logs)
	if math.IsInf(largest, 0) || math.IsNaN(largest) {
		return nil, ErrNotFinite
	}
	weights := make([]float64, len(logs))
	var total float64
	for i, l := range logs {
		weights[i] = math.Exp(beta * (l - largest))
		total += weights[i]
	}
	for i := range weights {
		weights[i] /= total
	}
	return weights, nil
}

// honest returns weights proportional to exp(logs) if their effective number is at least 2(k + 1)
// points for k spreads, or a third of the points. With fewer, their covariance would be too small,
// so the weights then represent a wider distribution.
func honest(logs []float64, k int) ([]float64, error) {
	return normalised(logs, power(logs, min(float64(len(logs))/3, 2*float64(k+1))))
}

// leastShrink limits how much a turn shrinks the variance of a coordinate. Otherwise a region could
// have no width in some direction.
const leastShrink = 1e-4

// around returns a region with the mean of the weighted points and stretch times their sds, or r if
// their covariance is not positive definite.
func (r Region) around(points []point, weights []float64, stretch float64) Region {
	n := len(r.mean)
	mean, cov := make([]float64, n), mat.NewSymDense(n, nil)
	for i, w := range weights {
		for j, x := range points[i].z {
			mean[j] += w * x
		}
	}
	for i, w := range weights {
		move := make([]float64, n)
		for j, x := range points[i].z {
			move[j] = stretch * (x - mean[j])
		}
		cov.SymRankOne(cov, w, mat.NewVecDense(n, move))
	}
	for i := range n {
		cov.SetSym(i, i, cov.At(i, i)+leastShrink*squares(r.root[i]))
	}
	next := Region{mean: mean, sites: r.sites}
	if !next.setRoot(cov) {
		return r
	}
	return next
}

// setRoot stores the root of cov, or returns false if cov is not positive definite.
func (r *Region) setRoot(cov *mat.SymDense) bool {
	var c mat.Cholesky
	if !c.Factorize(cov) {
		return false
	}
	var l mat.TriDense
	c.LTo(&l)
	r.root = make([][]float64, len(r.mean))
	for i := range r.root {
		r.root[i] = make([]float64, len(r.mean))
		for j := range i + 1 {
			r.root[i][j] = l.At(i, j)
		}
	}
	return true
}

// at returns the mean plus the root times x.
func (r *Region) at(x []float64) []float64 {
	z := slices.Clone(r.mean)
	for a, row := range r.root {
		for b := range a + 1 {
			z[a] += row[b] * x[b]
		}
	}
	return z
}

// A point is a value z with its region's log density, up to a constant.
type point struct {
	z   []float64
	log float64
}

// primes are the bases of the Halton sequence. Further coordinates reuse them with other shifts.
var primes = [...]int{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131}

// points returns n quasi-random points of the region, others for each shift.
func (r Region) points(n, shift int) []point {
	k := len(r.mean)
	out := make([]point, n)
	for i := range out {
		x := make([]float64, k)
		for j := range x {
			// A multiple of an irrational number shifts all points together.
			move := float64(shift) * math.Sqrt(float64(primes[j%len(primes)]))
			u := (float64(i) + fraction(.5+move)) / float64(n)
			if k > 1 {
				u = fraction(halton(i+1, primes[j%len(primes)]) + move + float64(j/len(primes))/math.Pi)
			}
			x[j] = math.Sqrt2 * math.Erfinv(2*min(max(u, 1e-9), 1-1e-9)-1)
		}
		out[i] = point{r.at(x), -squares(x) / 2}
	}
	return out
}

func fraction(x float64) float64 { return x - math.Floor(x) }

// halton returns the number whose digits after the point are those of i in reverse order.
func halton(i, base int) (u float64) {
	f := 1.0
	for ; i > 0; i /= base {
		f /= float64(base)
		u += f * float64(i%base)
	}
	return u
}

func squares(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}
