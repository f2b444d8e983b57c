package model

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
)

// Linear is Bayesian linear regression with known noise,
//
//	y_n = x_nᵀθ + e_n,  e_n ~ N(0, s²),  θ_j ~ N(m_j, v_j²) independently.
//
// It is conjugate. Up to a constant, the likelihood of record n is a Gaussian factor in θ with
// natural parameters (x_n y_n, x_n x_nᵀ)/s². The posterior is the product of the prior and the
// factors of all records.
type Linear struct {
	names []string
	prior []Normal
	noise float64 // s², the variance of the noise
}

// Normal is the normal distribution N(Mean, SD²).
type Normal struct{ Mean, SD float64 }

// NewLinear returns a model with the given coefficient names, priors and standard deviation of the
// noise. All numbers must be finite, and all standard deviations positive.
func NewLinear(names []string, prior []Normal, noiseSD float64) (*Linear, error) {
	if len(names) == 0 || len(names) != len(prior) {
		return nil, fmt.Errorf("linear model: %d coefficients with %d priors", len(names), len(prior))
	}
	if !(noiseSD > 0) || math.IsInf(noiseSD, 0) {
		return nil, fmt.Errorf("linear model: the standard deviation of the noise must be positive and finite, got %g", noiseSD)
	}
	for i, p := range prior {
		if !(p.SD > 0) || math.IsInf(p.SD, 0) || math.IsNaN(p.Mean) || math.IsInf(p.Mean, 0) {
			return nil, fmt.Errorf("linear model: the prior of %s is not a proper normal distribution: mean %g, sd %g", names[i], p.Mean, p.SD)
		}
	}
	return &Linear{names: names, prior: prior, noise: noiseSD * noiseSD}, nil
}

// Dim returns d, the number of coefficients.
func (m *Linear) Dim() int { return len(m.names) }

// Names returns the names of the coefficients. The slice is not a copy.
func (m *Linear) Names() []string { return m.names }

// Prior returns the natural parameters of the prior in the given family, whose dimension must be
// that of the model.
func (m *Linear) Prior(family gaussian.Family) ([]float64, error) {
	if family.Dim() != m.Dim() {
		return nil, errors.New("linear model: the family has another dimension")
	}
	mean := make([]float64, m.Dim())
	cov := mat.NewDiagDense(m.Dim(), nil)
	for i, p := range m.prior {
		mean[i] = p.Mean
		cov.SetDiag(i, p.SD*p.SD)
	}
	nat := make([]float64, family.Size())
	if err := family.FromMoments(nat, mean, cov); err != nil {
		return nil, fmt.Errorf("linear model: prior: %w", err)
	}
	return nat, nil
}

// StatisticsSize returns the number of sufficient statistics of a record.
func (m *Linear) StatisticsSize() int { return gaussian.Full(m.Dim()).Size() }

// AddStatistics adds the natural parameters of one record's likelihood to dst, in the layout of
// [gaussian.Full]. They are x·y/s² and the lower triangle of x·xᵀ/s², which are sufficient
// statistics of the record.
func (m *Linear) AddStatistics(dst, x []float64, y float64) {
	d := len(x)
	for i, xi := range x {
		scaled := xi / m.noise
		dst[i] += scaled * y
		row := dst[gaussian.Packed(d, i, 0):]
		for j := range i + 1 {
			row[j] += scaled * x[j]
		}
	}
}

// StatisticsBound returns an upper bound on the L2 norm of a record's sufficient statistics, given
// bounds on Σx², Σx⁴ and |y|. The squared norm of the lower triangle of x·xᵀ is ((Σx²)² + Σx⁴)/2.
func (m *Linear) StatisticsBound(squares, fourths, y float64) float64 {
	return math.Sqrt(squares*y*y+(squares*squares+fourths)/2) / m.noise
}
