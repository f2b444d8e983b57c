package descent

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/method"
)

// A published descent draws batches of a fixed size, but claims the cost of Poisson batches, which
// include each record independently. The library d3p makes the same claim.
type published struct {
	*Method
	claimed *dpmech.SampledSum
}

func newPublished(m *Method) (method.Method, error) {
	stated := m.batches.stated()
	claimed, err := m.Claimed(dpmech.Poisson{Rate: float64(m.Steps().Batch) / float64(stated)})
	if err != nil {
		return nil, err
	}
	return published{m, claimed}, nil
}

// Published implements [method.Unsound]. It returns "" if every record is in every batch, because
// the claim holds in this case.
func (p published) Published() string {
	if p.Steps().Rate < 1 {
		return method.PublishedSampling
	}
	return ""
}

// Claim implements [method.Unsound].
func (p published) Claim(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return p.eventOf(p.claimed, shares, adjacency, releases)
}

// Proved implements [method.Unsound].
func (p published) Proved(shares int) int { return shares }

// Truth implements [method.Unsound]. It returns a lower bound on the cost of the fixed-size
// batches.
func (p published) Truth(e method.Estimates) method.Cost {
	truth := e.Proved
	truth.Epsilon, truth.Method = e.Lower, "from below, for batches without replacement"
	return truth
}
