package descent

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/method"
)

// A published descent draws batches of a fixed size but claims the cost of Poisson batches, as the
// library d3p does.
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

// If batches contain all records, the claim is right.
func (p published) Published() string {
	if p.Steps().Rate < 1 {
		return method.PublishedSampling
	}
	return ""
}

func (p published) Claim(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return p.eventOf(p.claimed, shares, adjacency, releases)
}

func (p published) Proved(shares int) int { return shares }

// Truth returns a lower bound on the true cost of batches of a fixed size.
func (p published) Truth(e method.Estimates) method.Cost {
	truth := e.Proved
	truth.Epsilon, truth.Method = e.Lower, "from below, for batches without replacement"
	return truth
}
