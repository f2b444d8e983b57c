package population

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// A Mixture is a mixture of Gaussians with equal weights. It is immutable.
type Mixture struct {
	means       [][]float64
	covariances []*mat.SymDense
}

// Mean returns the mean of the mixture.
func (m *Mixture) Mean() []float64 {
	mean := make([]float64, len(m.means[0]))
	for _, x := range m.means {
		for i, v := range x {
			mean[i] += v / float64(len(m.means))
		}
	}
	return mean
}

// Covariance returns the covariance of the mixture.
func (m *Mixture) Covariance() *mat.SymDense {
	mean, each := m.Mean(), 1/float64(len(m.means))
	sum := mat.NewSymDense(len(mean), nil)
	for k, x := range m.means {
		gap := mat.NewVecDense(len(mean), nil)
		gap.SubVec(mat.NewVecDense(len(x), x), mat.NewVecDense(len(mean), mean))
		sum.SymRankOne(plus(sum, each, m.covariances[k]), each, gap)
	}
	return sum
}

// In converts a mixture in public units to a mixture in the coordinates of θ.
func (m *Mixture) In(u *Units) *Mixture {
	moved := new(Mixture)
	for k, x := range m.means {
		moved.means = append(moved.means, u.From(x))
		moved.covariances = append(moved.covariances, u.Covariance(m.covariances[k]))
	}
	return moved
}

// Quantile returns the number that coordinate i exceeds with probability 1 − p.
func (m *Mixture) Quantile(i int, p float64) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	const wide = 40 // number of sds at which the normal tail is 0 in double precision
	for k, x := range m.means {
		sd := math.Sqrt(m.covariances[k].At(i, i))
		low, high = math.Min(low, x[i]-wide*sd), math.Max(high, x[i]+wide*sd)
	}
	for {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			return middle
		}
		if m.below(i, middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
}

// below returns the probability that coordinate i is below x.
func (m *Mixture) below(i int, x float64) (p float64) {
	for k, mean := range m.means {
		p += math.Erfc((mean[i]-x)/math.Sqrt(2*m.covariances[k].At(i, i))) / 2
	}
	return p / float64(len(m.means))
}
