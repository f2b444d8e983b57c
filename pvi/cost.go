package pvi

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"fedpvi/accountant"
	"fedpvi/pvi/method"
	"fedpvi/pvi/onestep"
	"fedpvi/pvi/study"
)

// Releases returns the number of a client's releases that cost privacy in a whole study: all
// releases of the rounds, and one more if the study has a last round. A release is a message, or
// a noisy sum from which a message is computed.
func (p *Protocol) Releases() int { return p.method.Releases() + len(p.after) }

// Views returns the observers for which a study states its cost. The observer that the privacy
// target refers to comes first. The list is empty for a study without a privacy guarantee.
func (p *Protocol) Views() []method.View {
	switch {
	case p.study.Privacy.Unit == study.None:
		return nil
	case p.study.Federation.Opens == study.OpenMessages:
		return []method.View{{Name: "anyone", Who: "anyone who reads what the client sends", Shares: 1}}
	default:
		outside := method.View{Name: "outside", Who: "an outsider, or the coordinator, who sees opened sums only", Shares: p.roster.Fewest}
		trusted := method.View{Name: "coordinator", Who: "a coordinator who can open every client's message", Shares: 1}
		t := p.study.Federation.Colluders
		if t == 0 {
			return []method.View{outside, trusted}
		}
		who := fmt.Sprintf("%d colluding clients, with or without the coordinator, who see opened sums", t)
		return []method.View{{Name: "coalition", Who: who, Shares: p.roster.Fewest - t}, outside, trusted}
	}
}

// Adjacencies returns the adjacencies for which a study states its cost, the study's own
// adjacency first.
func (p *Protocol) Adjacencies() []accountant.Adjacency { return p.method.Adjacencies() }

// Event returns the proved cost of a client's first releases, given their number. It includes
// the cost of the scale phase if the study has one. The result can be composed with other
// events. The study must have a privacy guarantee.
func (p *Protocol) Event(view method.View, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return p.eventOf(method.Method.Event, p.proved(view).Shares, adjacency, releases)
}

// proved returns the view with a smaller number of noise shares if the method is unsound: the
// number for which it is proved that they hide a client's releases from this observer.
func (p *Protocol) proved(view method.View) method.View {
	if m, ok := p.method.(method.Unsound); ok {
		view.Shares = m.Proved(view.Shares)
	}
	return view
}

// A costing returns the cost of a client's first releases in the rounds, given their number.
// [method.Method.Event] returns the proved cost, and [method.Claimed] returns the claimed cost.
type costing func(m method.Method, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

// eventOf composes the costs of the scale phase, of the given number of releases in the rounds
// and of the last round. The function rounds returns the cost of the rounds.
func (p *Protocol) eventOf(rounds costing, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	inRounds := min(releases, p.method.Releases())
	event, err := rounds(p.method, shares, adjacency, inRounds)
	if err != nil {
		return nil, err
	}
	for _, scaling := range p.before {
		event = accountant.Composed{scaling.EventFor(shares, adjacency), event}
	}
	for _, last := range p.after[:min(releases-inRounds, len(p.after))] {
		event = accountant.Composed{event, last.EventFor(shares, adjacency)}
	}
	return event, nil
}

// Increment returns the cost of a client's releases from+1 to to in the rounds, for an observer
// and an adjacency. A ledger uses it to charge each release when it is made. The scale phase
// costs [scale.Scaling.EventFor], and the last round costs [lastround.Round.EventFor]. All
// charges of a study together cost at most [Protocol.Event] of all releases. The study must have
// a privacy guarantee and be sound ([Protocol.Sound]).
func (p *Protocol) Increment(view method.View, adjacency accountant.Adjacency, from, to int) (accountant.Event, error) {
	if most := p.method.Releases(); from < 0 || from > to || to > most {
		return nil, fmt.Errorf("releases %d to %d: the rounds of the study have %d", from+1, to, most)
	}
	return p.method.Increment(view.Shares, adjacency, from, to)
}

// Cost returns the proved cost of the given number of a client's releases, as an upper bound on
// ε. [Protocol.Event] returns the same cost as an event.
func (p *Protocol) Cost(view method.View, adjacency accountant.Adjacency, releases int) (method.Cost, error) {
	c, _, err := p.costOf(method.Method.Event, p.proved(view), adjacency, releases)
	return c, err
}

// costOf returns the cost of a client's first releases, with an upper bound on ε in the Cost and
// a lower bound on ε as the second result.
func (p *Protocol) costOf(rounds costing, view method.View, adjacency accountant.Adjacency, releases int) (method.Cost, float64, error) {
	event, err := p.eventOf(rounds, view.Shares, adjacency, releases)
	if err != nil {
		return method.Cost{}, 0, err
	}
	profile, err := accountant.Account(event)
	if err != nil {
		return method.Cost{}, 0, err
	}
	delta := p.study.Privacy.Delta
	epsilon, err := profile.Epsilon(delta)
	c := method.Cost{View: view, Adjacency: adjacency, Epsilon: epsilon.Upper, Delta: delta, Method: string(epsilon.Method)}
	if profile.Gaussian() {
		c.Mu = profile.Mu() // for a profile that is not Gaussian, Mu would be the μ of only a part of the cost
	}
	return c, epsilon.Lower, err
}

// Costs returns the cost of the given number of a client's releases for every view and
// adjacency. The first element is for the view of the study's target and the study's adjacency.
func (p *Protocol) Costs(releases int) ([]method.Cost, error) {
	var costs []method.Cost
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

// Published returns the setting that makes the study's privacy claim wrong,
// [method.PublishedFactors] or [method.PublishedSampling], or "" if the claim is right.
func (p *Protocol) Published() string {
	if m, ok := p.method.(method.Unsound); ok {
		return m.Published()
	}
	return ""
}

// Sound reports whether the releases cost at most the claimed cost.
func (p *Protocol) Sound() bool { return p.Published() == "" }

// OutsideCosts returns three costs of the given number of releases, under the study's own
// adjacency: the claimed cost, the true cost, and the proved cost that [Protocol.Cost] returns.
// The observer is an outsider, or anyone if the privacy unit is the record. The three costs are
// equal unless the method is unsound ([method.Unsound]).
func (p *Protocol) OutsideCosts(releases int) (claimed, truth, sound method.Cost, err error) {
	outside := p.Views()[0]
	for _, v := range p.Views() {
		if v.Name == "outside" {
			outside = v
		}
	}
	adjacency := p.study.Privacy.Adjacency
	if claimed, _, err = p.costOf(method.Claimed, outside, adjacency, releases); err != nil || p.Sound() {
		return claimed, claimed, claimed, err
	}
	sound, lower, err := p.costOf(method.Method.Event, p.proved(outside), adjacency, releases)
	if err != nil {
		return method.Cost{}, method.Cost{}, method.Cost{}, err
	}
	estimates := method.Estimates{Claimed: claimed, Proved: sound, Lower: lower, Releases: releases}
	for _, scaling := range p.before {
		cost, err := accountant.Account(scaling.EventFor(outside.Shares, adjacency))
		if err != nil {
			return method.Cost{}, method.Cost{}, method.Cost{}, err
		}
		estimates.Scale = cost.Mu()
	}
	return claimed, p.method.(method.Unsound).Truth(estimates), sound, nil
}

// ClosedForm returns the mean and the covariance of q with the given natural parameters. The
// variances are widened, because the noise of the private steps also moves the mean of q. The
// method must be a [method.Stepped].
func (p *Protocol) ClosedForm(natural []float64) (mean []float64, cov *mat.SymDense, err error) {
	mean, cov, err = p.family.Moments(natural)
	if err != nil {
		return nil, nil, err
	}
	tau := p.method.(method.Stepped).ClosedFormNoise()
	for i := range mean {
		cov.SetSym(i, i, onestep.Closed(1/cov.At(i, i), tau))
	}
	return mean, cov, nil
}

// OnDevice returns nil if the clients can take the study's private steps on a device, and
// otherwise an error with the reason. The result depends on public numbers only.
func (p *Protocol) OnDevice() error {
	if m, ok := p.method.(method.Device); ok {
		return m.OnDevice()
	}
	return fmt.Errorf("a device takes the steps of inference.solver = %q, not of %q", study.DPSVI, p.study.Inference.Solver)
}

// ReleasesAfter returns the number of releases that cost privacy for a client that answered the
// given number of plans and took all of their steps.
func (p *Protocol) ReleasesAfter(plans int) int {
	return p.method.ReleasesAfter(p.setting.Round(plans))
}
