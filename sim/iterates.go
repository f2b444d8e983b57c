package sim

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// iterates computes the mean and variance of q's mean over the last outcomes of a study, for
// intervals of the kind [study.Iterates]. This costs no privacy, because outcomes are public.
type iterates struct {
	from    int // number of the first outcome that counts
	means   func(dst, natural []float64) error
	n       float64
	mean    []float64
	squares []float64 // Σ (x − mean)² for each coefficient, by Welford's recurrence
	now     []float64
}

// newIterates returns nil if the study does not ask for the variance of the iterates.
func newIterates(p *pvi.Protocol) *iterates {
	in := p.Study().Inference
	if in.NoiseAware != study.Iterates {
		return nil
	}
	window := max(2, int(math.Round(in.Descent.Average*float64(p.Plans()))))
	d := p.Family().Dim()
	return &iterates{
		from:    p.Plans() - window + 1,
		means:   p.Family().Means(),
		mean:    make([]float64, d),
		squares: make([]float64, d),
		now:     make([]float64, d),
	}
}

// add counts the mean of q after the outcome o, if o is among the last outcomes over which the
// study averages. natural holds the natural parameters of q.
func (it *iterates) add(o *pvi.Outcome, natural []float64) error {
	if it == nil || o.Sequence < it.from {
		return nil
	}
	if err := it.means(it.now, natural); err != nil {
		return err
	}
	it.n++
	for i, x := range it.now {
		delta := x - it.mean[i]
		it.mean[i] += delta / it.n
		it.squares[i] += delta * (x - it.mean[i])
	}
	return nil
}

// widen adds the variance of q's means over the outcomes so far to the diagonal of cov.
func (it *iterates) widen(cov *mat.SymDense) {
	for i, s := range it.squares {
		cov.SetSym(i, i, cov.At(i, i)+s/(it.n-1))
	}
}
