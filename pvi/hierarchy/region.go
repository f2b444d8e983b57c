package hierarchy

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// A Region is a normal distribution that covers the posterior of the standardised spreads. The
// spread τ of an effect is the quantile of its prior at the probability Φ(z), where z is the
// standardised spread.
type Region struct {
	mean []float64
	root [][]float64 // lower Cholesky root of the covariance, by rows

	sites []site // normal factors of the coordinates of a Joint that are not among the hyperparameters u
}

// wider is the ratio of a region's sds to the sds of the posterior that it covers. If it were 1,
// the weights of points in the tails would vary much.
const wider = 1.5

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

// Points returns the number of points with which [Prior.Region] covers the spreads. Using more
// points changes the posterior by less than a hundredth of an sd.
func (p *Prior) Points() int {
	switch len(p.Effects) {
	case 0:
		return 1
	case 1:
		return 24
	}
	return 96
}

// mostTurns is the largest number of distributions between the prior and the posterior that
// Region covers in turn.
const mostTurns = 12

// Region returns a region that covers the posterior given a likelihood. It approaches the
// posterior in several turns. In each turn it covers the distribution prior^(1−β)·posterior^β
// with the points of the last region. β is the largest power for which the effective number of
// points is at least a third of their number.
func (p *Prior) Region(l *Likelihood) (Region, error) {
	r := p.before()
	if len(p.Effects) == 0 {
		return r, nil
	}
	n := p.Points()
	logs := make([]float64, n)
	for range mostTurns {
		points := r.points(n, 0)
		for i, point := range points {
			c, err := p.given(l, point.z)
			if err != nil {
				return r, err
			}
			logs[i] = c.evidence - squares(point.z)/2 - point.log
		}
		beta := power(logs, float64(n)/3)
		weights := normalised(logs, beta)
		r = around(points, weights)
		if beta == 1 {
			break
		}
	}
	return r, nil
}

// power returns the largest of the numbers 1, .7, .7², ... for which the weights that are
// proportional to exp(number·logs) have at least the given effective number of points.
func power(logs []float64, least float64) float64 {
	for beta := 1.0; beta > 1e-6; beta *= .7 {
		if w := normalised(logs, beta); 1/squares(w) >= least {
			return beta
		}
	}
	return 1e-6
}

// normalised returns weights that are proportional to exp(beta·logs) and add up to 1.
func normalised(logs []float64, beta float64) []float64 {
	largest := slices.Max(logs)
	weights := make([]float64, len(logs))
	var total float64
	for i, l := range logs {
		weights[i] = math.Exp(beta * (l - largest))
		total += weights[i]
	}
	for i := range weights {
		weights[i] /= total
	}
	return weights
}

// around returns a region with the mean of weighted points, and with larger sds than the points
// have.
func around(points []point, weights []float64) Region {
	n := len(points[0].z)
	mean, cov := make([]float64, n), mat.NewSymDense(n, nil)
	for i, w := range weights {
		for j, x := range points[i].z {
			mean[j] += w * x
		}
	}
	for i, w := range weights {
		move := make([]float64, n)
		for j, x := range points[i].z {
			move[j] = wider * (x - mean[j])
		}
		cov.SymRankOne(cov, w, mat.NewVecDense(n, move))
	}
	r := Region{mean: mean, root: make([][]float64, n)}
	// The added variance keeps the region from having no width in a direction in which the points
	// do not vary.
	for i := range n {
		cov.SetSym(i, i, cov.At(i, i)+1e-6)
	}
	var c mat.Cholesky
	c.Factorize(cov)
	var l mat.TriDense
	c.LTo(&l)
	for i := range n {
		r.root[i] = make([]float64, n)
		for j := range i + 1 {
			r.root[i][j] = l.At(i, j)
		}
	}
	return r
}

// A point has standardised spreads, and the log density of its region there, up to a constant.
type point struct {
	z   []float64
	log float64
}

// primes are the bases of the Halton sequence, one for each effect. If there are more effects than
// bases, the bases are used again with another shift.
var primes = [...]int{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}

// points returns n quasi-random points of the region. Another value of shift gives other points.
func (r Region) points(n, shift int) []point {
	k := len(r.mean)
	out := make([]point, n)
	for i := range out {
		x := make([]float64, k)
		for j := range x {
			// A shift by a multiple of an irrational number moves all points together.
			move := float64(shift) * math.Sqrt(float64(primes[j%len(primes)]))
			u := (float64(i) + fraction(.5+move)) / float64(n)
			if k > 1 {
				u = fraction(halton(i+1, primes[j%len(primes)]) + move + float64(j/len(primes))/math.Pi)
			}
			x[j] = math.Sqrt2 * math.Erfinv(2*min(max(u, 1e-9), 1-1e-9)-1)
		}
		z := slices.Clone(r.mean)
		for a, row := range r.root {
			for b := range a + 1 {
				z[a] += row[b] * x[b]
			}
		}
		out[i] = point{z, -squares(x) / 2}
	}
	return out
}

func fraction(x float64) float64 { return x - math.Floor(x) }

// halton returns the number between 0 and 1 whose digits after the point, in the given base, are
// the digits of i in reverse order.
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
