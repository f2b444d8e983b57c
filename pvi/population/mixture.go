package population

import "gonum.org/v1/gonum/mat"

// A Mixture is a mixture of Gaussians with equal weights. It is immutable.
type Mixture struct {
	means       [][]float64
	covariances []*mat.SymDense
}

// from converts the mixture m from the given units to public units.
func (m *Mixture) from(units *Units) *Mixture {
	out := new(Mixture)
	for k, mean := range m.means {
		out.means = append(out.means, units.From(mean))
		out.covariances = append(out.covariances, units.Covariance(m.covariances[k]))
	}
	return out
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
