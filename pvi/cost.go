package pvi

import (
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/study"
)

// A View is an observer, by how many of a sum's noise shares he cannot subtract.
type View struct {
	Name   string // "coalition", "outside", "coordinator" or "anyone"
	Who    string // in words
	Shares int
}

// Views returns the observers against whom a study's cost is stated, the one
// that its target is about first. It is empty for a study that makes no promise.
func (p *Protocol) Views() []View {
	switch {
	case p.study.Privacy.Unit == study.None:
		return nil
	case p.study.Federation.Opens == study.OpenMessages:
		return []View{{"anyone", "anyone who reads what the client sends", 1}}
	default:
		outside := View{"outside", "an outsider, or the coordinator, who sees opened sums only", p.roster.Fewest}
		trusted := View{"coordinator", "a coordinator who can open every client's message", 1}
		t := p.study.Federation.Colluders
		if t == 0 {
			return []View{outside, trusted}
		}
		who := fmt.Sprintf("%d colluding clients, with or without the coordinator, who see opened sums", t)
		return []View{{"coalition", who, p.roster.Fewest - t}, outside, trusted}
	}
}

// Adjacencies returns the adjacencies under which a study's cost is stated, its
// own first. Where batches are a share of a client's records, their size and what their
// sums are divided by tell how many there are: under one that keeps that private they have
// no cost.
func (p *Protocol) Adjacencies() []accountant.Adjacency {
	own := p.study.Privacy.Adjacency
	switch {
	case p.fixedBatches() && !p.privateSize(), p.publishedPropagation():
		return []accountant.Adjacency{own}
	case p.descent != nil && p.descent.Epoch > 1:
		return []accountant.Adjacency{own} // random allocation has no bound of its own for replacing
	case own != accountant.ReplaceOne:
		return []accountant.Adjacency{own, accountant.ReplaceOne}
	case p.study.Privacy.Unit == study.Client:
		return []accountant.Adjacency{own, accountant.ZeroOut}
	default:
		return []accountant.Adjacency{own, accountant.AddRemove}
	}
}

// A Cost is what a client's releases give away to one observer under one
// adjacency.
type Cost struct {
	View      View
	Adjacency accountant.Adjacency
	Mu        float64 // of the Gaussian release that they amount to; 0 if they amount to none, as over random batches
	Epsilon   float64 // at Delta
	Delta     float64
	Method    string // how it was computed
}

// Cost returns the cost of the given number of a client's releases, and of finding
// the scale before them if the study asks for it, as far as it can be proved. For
// published factors under a sum that alone is opened that is, against everybody,
// the cost of opening every message: the client's own noise is all that hides it
// then, and what it remembers of that noise was released. For a published sampling it
// is the cost of the batches that are drawn. The study must make a promise.
func (p *Protocol) Cost(view View, adjacency accountant.Adjacency, releases int) (Cost, error) {
	if p.Published() == PublishedFactors {
		view.Shares = 1
	}
	c, _, err := p.costOf(p.sampled, view, adjacency, releases)
	return c, err
}

// costOf is a cost with gradients accounted as a mechanism has it, beside a lower bound
// on ε.
func (p *Protocol) costOf(gradients *dpmech.SampledSum, view View, adjacency accountant.Adjacency, releases int) (Cost, float64, error) {
	event, err := p.releasedEvent(gradients, view.Shares, adjacency, releases)
	if err != nil {
		return Cost{}, 0, err
	}
	profile, err := accountant.Account(event)
	if err != nil {
		return Cost{}, 0, err
	}
	delta := p.study.Privacy.Delta
	epsilon, err := profile.Epsilon(delta)
	c := Cost{View: view, Adjacency: adjacency, Epsilon: epsilon.Upper, Delta: delta, Method: string(epsilon.Method)}
	if profile.Gaussian() {
		c.Mu = profile.Mu() // otherwise that of a part
	}
	return c, epsilon.Lower, err
}

// Costs returns the cost of the given number of a client's releases under every
// view and adjacency, the study's own first.
func (p *Protocol) Costs(releases int) ([]Cost, error) {
	var costs []Cost
	for _, view := range p.Views() {
		for _, adjacency := range p.Adjacencies() {
			c, err := p.Cost(view, adjacency, releases)
			if err != nil {
				return nil, err
			}
			costs = append(costs, c)
		}
	}
	return costs, nil
}

// What of a study is done as published, though what is claimed for it does not hold.
const (
	PublishedFactors  = "factors"  // under a sum that alone is opened; see [study.Published]
	PublishedSampling = "sampling" // of batches; see [study.PublishedSampling]
)

// Published returns what of the study is not private as it is claimed to be:
// [PublishedFactors], [PublishedSampling], or nothing.
func (p *Protocol) Published() string {
	in := p.study.Inference
	switch {
	case p.study.Privacy.Unit == study.Client && in.Factors == study.Published:
		return PublishedFactors
	case p.descent != nil && p.descent.Rate < 1 && in.Descent.Sampling == study.PublishedSampling:
		return PublishedSampling
	}
	return ""
}

// Sound reports whether what is accounted covers what is released.
func (p *Protocol) Sound() bool { return p.Published() == "" }

// OutsideCosts returns three costs of the given number of releases to an outsider
// (to anyone, if the unit is the record), under the study's own adjacency: the
// claimed one; the true one; and the sound one, the least that can be proved, which is
// that of [Protocol.Cost]. They are the same unless the study does something as
// published.
//
// For published factors the claim is about the opened sums, and the true cost
// [PublishedMu]'s, if the fewest clients answer, as the claim has it too. For a
// published sampling the claim is that records come into batches independently; the true
// cost is a bound from below on that of the batches that are drawn.
func (p *Protocol) OutsideCosts(releases int) (claimed, truth, sound Cost, err error) {
	outside := p.Views()[0]
	for _, v := range p.Views() {
		if v.Name == "outside" {
			outside = v
		}
	}
	adjacency := p.study.Privacy.Adjacency
	if claimed, _, err = p.costOf(p.accounted, outside, adjacency, releases); err != nil || p.Sound() {
		return claimed, claimed, claimed, err
	}
	if sound, err = p.Cost(outside, adjacency, releases); err != nil {
		return Cost{}, Cost{}, Cost{}, err
	}
	if p.Published() == PublishedSampling {
		truth, err = p.leastCost(outside, adjacency, releases)
		return claimed, truth, sound, err
	}
	truth, err = p.publishedCost(claimed, outside, releases)
	return claimed, truth, sound, err
}

// leastCost is what the batches that are drawn cost at least.
func (p *Protocol) leastCost(view View, adjacency accountant.Adjacency, releases int) (Cost, error) {
	c, lower, err := p.costOf(p.sampled, view, adjacency, releases)
	c.Epsilon, c.Method = lower, "from below, for batches without replacement"
	if p.publishedPropagation() {
		c.Method = "from below, for a permutation of the records in every pass, without credit for its order"
	}
	return c, err
}

// publishedCost is what opened sums of published factors cost an outsider.
func (p *Protocol) publishedCost(claimed Cost, outside View, rounds int) (Cost, error) {
	truth := claimed
	share := p.clients.Lattice().Float(p.clients.ShareSigma())
	sigma := share * math.Sqrt(float64(p.roster.Fewest)) / p.clients.Clip()
	truth.Mu = claimed.Adjacency.Factor() * PublishedMu(p.roster.Fewest, rounds, sigma, p.study.Inference.Damping.At)
	for _, scaling := range p.before {
		cost, err := accountant.Account(scaling.EventFor(outside.Shares, claimed.Adjacency))
		if err != nil {
			return Cost{}, err
		}
		truth.Mu = math.Hypot(truth.Mu, cost.Mu())
	}
	truth.Epsilon = accountant.GaussianEpsilon(truth.Mu, truth.Delta)
	truth.Method = "exact, for a client that saturates the clip in the linear model"
	return truth, nil
}
