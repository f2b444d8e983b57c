package chain

import "gonum.org/v1/gonum/mat"

// moments accumulates the mean and the covariance of the states of a Markov chain.
type moments struct {
	n, moved float64
	mean     []float64
	products *mat.SymDense // sum of products of deviations from the mean, updated by Welford's recurrence
	apart    []float64
}

func newMoments(d int) *moments {
	return &moments{mean: make([]float64, d), products: mat.NewSymDense(d, nil), apart: make([]float64, d)}
}

func (m *moments) add(theta []float64, moved bool) {
	m.n++
	if moved {
		m.moved++
	}
	for i, x := range theta {
		m.apart[i] = x - m.mean[i]
		m.mean[i] += m.apart[i] / m.n
	}
	for i, x := range theta {
		for j := range i + 1 {
			m.products.SetSym(i, j, m.products.At(i, j)+(x-m.mean[i])*m.apart[j])
		}
	}
}

func (m *moments) covariance() *mat.SymDense {
	m.products.ScaleSym(1/(m.n-1), m.products)
	return m.products
}
