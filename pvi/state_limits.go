package pvi

import (
	"strings"

	"fedpvi/pvi/study"
)

// A state is read only if it has no more elements than one of its protocol can have: a list of
// numbers with one digit each, in JSON, becomes several times as long in memory. What is counted is
// commas, of which there is at most one for each element and each in a name.

// stateFields is more than the fields of any state that is no list of the study's own length: a
// digest is a list of 32.
const stateFields = 256

// namesElements bounds the commas of a list of names.
func namesElements(names []ClientID) (n int) {
	for _, id := range names {
		n += 1 + strings.Count(string(id), ",")
	}
	return n
}

// serverElements bounds the commas of a Server's state.
func (p *Protocol) serverElements() int {
	const roundFields = 8
	names := namesElements(p.roster)
	rounds := 1
	if p.study.Inference.Schedule == study.Asynchronous {
		rounds = len(p.roster)
	}
	return stateFields + p.family.Size() + len(p.roster) + rounds*(roundFields+2*names+p.family.Dim()+p.messageSize())
}

// siteElements bounds the commas of a Site's state, one for each element of λ, its factors and what
// it proposed.
func (p *Protocol) siteElements() int {
	factors := 1 + p.study.Inference.Partitions.Count
	return stateFields + namesElements(p.roster) + p.family.Size() + p.family.Dim() + factors*(2+p.family.Size()+p.messageSize())
}

// elements bounds the commas of the states of a ScaleServer and a ScaleSite.
func (c *Scaling) elements() int {
	const columnFields = 32
	n := stateFields + 2*namesElements(c.roster)
	for _, column := range newScale(c).columns {
		n += columnFields + strings.Count(column.Column, ",")
	}
	largest := 0
	for pass := range c.Passes() {
		largest = max(largest, c.Size(pass+1))
	}
	return n + largest
}

// elements bounds the commas of the states of a OneStepServer and a OneStepSite.
func (o *OneStep) elements(roster []ClientID) int {
	return stateFields + 2*namesElements(roster) + o.Gradient.Dim() + o.Curvature.Dim()
}
