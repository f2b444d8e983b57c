package pvi

import (
	"fmt"
	"math"

	"fedpvi/accountant"
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
		outside := View{"outside", "an outsider, or the coordinator, who sees opened sums only", p.minClients}
		trusted := View{"coordinator", "a coordinator who can open every client's message", 1}
		t := p.study.Federation.Colluders
		if t == 0 {
			return []View{outside, trusted}
		}
		who := fmt.Sprintf("%d colluding clients, with or without the coordinator, who see opened sums", t)
		return []View{{"coalition", who, p.minClients - t}, outside, trusted}
	}
}

// Adjacencies returns the adjacencies under which a study's cost is stated, its
// own first.
func (p *Protocol) Adjacencies() []accountant.Adjacency {
	own := p.study.Privacy.Adjacency
	switch {
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
	Mu        float64 // of the Gaussian release that they amount to
	Epsilon   float64 // at Delta
	Delta     float64
	Method    string // how it was computed
}

// Cost returns the cost of the given number of a client's releases, and of finding
// the scale before them if the study asks for it, as far as it can be proved. For
// published factors under a sum that alone is opened that is, against everybody,
// the cost of opening every message: the client's own noise is all that hides it
// then, and what it remembers of that noise was released. The study must make a
// promise.
func (p *Protocol) Cost(view View, adjacency accountant.Adjacency, releases int) (Cost, error) {
	if !p.Sound() {
		view.Shares = 1
	}
	return p.claim(view, adjacency, releases)
}

// claim is Cost as if a client remembered nothing of its noise.
func (p *Protocol) claim(view View, adjacency accountant.Adjacency, releases int) (Cost, error) {
	release, err := p.eventOf(view.Shares, adjacency)
	if err != nil {
		return Cost{}, err
	}
	profile, err := accountant.Account(p.withScaling(release, releases, view.Shares, adjacency))
	if err != nil {
		return Cost{}, err
	}
	delta := p.study.Privacy.Delta
	epsilon, err := profile.Epsilon(delta)
	return Cost{view, adjacency, profile.Mu(), epsilon.Upper, delta, string(epsilon.Method)}, err
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

// Sound reports whether what is accounted covers what is released. It does not
// for published factors under a sum that alone is opened.
func (p *Protocol) Sound() bool {
	return p.study.Privacy.Unit != study.Client || p.study.Inference.Factors != study.Published
}

// OutsideCosts returns three costs of the given number of rounds to an outsider
// (to anyone, if the unit is the record), under the study's own adjacency: the
// claimed one, of the opened sums; the true one; and the sound one, the least
// that can be proved. They are the same unless factors are published and only
// sums are opened. Then the true one is [PublishedMu]'s, if the fewest clients
// answer, as the claim has it too, and the sound one is that of [Protocol.Cost].
func (p *Protocol) OutsideCosts(rounds int) (claimed, truth, sound Cost, err error) {
	outside := p.Views()[0]
	for _, v := range p.Views() {
		if v.Name == "outside" {
			outside = v
		}
	}
	adjacency := p.study.Privacy.Adjacency
	if claimed, err = p.claim(outside, adjacency, rounds); err != nil || p.Sound() {
		return claimed, claimed, claimed, err
	}
	if sound, err = p.Cost(outside, adjacency, rounds); err != nil {
		return Cost{}, Cost{}, Cost{}, err
	}
	share := p.clients.Lattice().Float(p.clients.ShareSigma())
	sigma := share * math.Sqrt(float64(p.minClients)) / p.clients.Clip()
	truth = claimed
	truth.Mu = adjacency.Factor() * PublishedMu(p.minClients, rounds, sigma, p.study.Inference.Damping.At)
	if p.scaling != nil {
		scaling, err := accountant.Account(p.scaling.EventFor(outside.Shares, adjacency))
		if err != nil {
			return Cost{}, Cost{}, Cost{}, err
		}
		truth.Mu = math.Hypot(truth.Mu, scaling.Mu())
	}
	truth.Epsilon = accountant.GaussianEpsilon(truth.Mu, truth.Delta)
	truth.Method = "exact, for a client that saturates the clip in the linear model"
	return claimed, truth, sound, nil
}
