package sim

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
)

// A Reference is the posterior of the pooled records without privacy, which no
// federation could see. For a conjugate model it is exact.
type Reference struct {
	family  gaussian.Family
	Natural []float64 // in the layout of gaussian.Full
}

// NewReference computes the exact posterior of all records.
func NewReference(m *model.Linear, shards []*shard.Shard) (*Reference, error) {
	family := gaussian.Full(m.Dim())
	natural, err := m.Prior(family)
	if err != nil {
		return nil, err
	}
	for _, s := range shards {
		for i := range s.Len() {
			x, y := s.Record(i)
			m.AddStatistics(natural, x, y)
		}
	}
	if err := family.Check(natural); err != nil {
		return nil, fmt.Errorf("posterior of the pooled records: %w", err)
	}
	return &Reference{family, natural}, nil
}

// Moments returns mean and covariance of the reference.
func (r *Reference) Moments() (mean []float64, cov *mat.SymDense, err error) {
	return r.family.Moments(r.Natural)
}

// KL returns KL(q‖reference) for a q in the given family.
func (r *Reference) KL(family gaussian.Family, natural []float64) (float64, error) {
	return r.family.KL(widen(family, natural), r.Natural)
}

// In returns the natural parameters of the reference in a family: for a diagonal
// one those of the mean-field posterior, which has the reference's mean and the
// diagonal of its precision.
func (r *Reference) In(family gaussian.Family) []float64 {
	d := family.Dim()
	mean := make([]float64, d)
	if err := r.family.Mean(mean, r.Natural); err != nil {
		panic("sim: " + err.Error()) // unreachable: NewReference checked
	}
	in := make([]float64, family.Size())
	family.ProjectLikelihood(in, r.Natural, mean)
	return in
}
