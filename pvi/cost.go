package pvi

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"fedpvi/accountant"
	"fedpvi/gpu/cuda"
	"fedpvi/pvi/method"
	"fedpvi/pvi/onestep"
	"fedpvi/pvi/study"
)

// Releases returns the number of releases that a client makes in the rounds and the last round of a
// study. A release is a message, or a noisy sum from which a message is computed. Each costs
// privacy.
func (p *Protocol) Releases() int { return p.method.Releases() + len(p.after) }

// Views returns the observers for which the protocol states a privacy cost, the one that the
// privacy target refers to first. The list is empty for a study without a privacy guarantee.
func (p *Protocol) Views() []method.View {
	switch {
	case p.study.Privacy.Unit == study.None:
		return nil
	case p.study.Federation.Opens == study.OpenMessages:
		return []method.View{{Name: "anyone", Who: "anyone who reads what the client sends", Shares: 1}}
	default:
		return p.viewsOfSums()
	}
}

// viewsOfSums returns the observers of a study in which only sums are opened. Even a single other
// participant is one, because it can subtract its own noise share.
func (p *Protocol) viewsOfSums() []method.View {
	const known = ", who knows its own noise"
	fewest, t := p.roster.Fewest, p.roster.Colluders
	together := method.View{Name: method.Coalition, Who: fmt.Sprintf("%d colluding clients, with or without the coordinator, who see opened sums", t), Shares: fewest - t}
	if t == 1 && p.study.Version > 1 { // in version 1, results keep their wording
		together.Who = "one other participant, with or without the coordinator" + known
	}
	another := method.View{Name: method.Participant, Who: "one other participant" + known, Shares: max(1, fewest-1)}
	outside := method.View{Name: method.Outsider, Who: "an outsider, or the coordinator, who sees opened sums only", Shares: fewest}
	opens := p.whoeverOpens(t)
	switch {
	case len(p.roster.Clients) == 1:
		return append([]method.View{outside}, opens...)
	case t == 0:
		return append([]method.View{outside, another}, opens...)
	case t == 1:
		return append([]method.View{together, outside}, opens...)
	}
	return append([]method.View{together, another, outside}, opens...)
}

// whoeverOpens returns the last observers of the list. The last can open every message. Under
// secure aggregation, the largest coalition that cannot comes before it, if it is larger than t.
func (p *Protocol) whoeverOpens(t int) []method.View {
	opens := method.View{Name: method.Coordinator, Who: "a coordinator who can open every client's message", Shares: 1}
	if p.study.Federation.Aggregation != study.Secure {
		return []method.View{opens}
	}
	opens.Who = fmt.Sprintf("the coordinator with more than %d of the clients, who can open every message", p.Hidden())
	// A coalition of all participants but one already knows as much as an observer who opens every
	// message.
	most := min(p.Hidden(), p.roster.Fewest-2)
	if most <= t {
		return []method.View{opens}
	}
	who := fmt.Sprintf("the coordinator with %d of the clients, who see opened sums", most)
	return []method.View{{Name: method.LargestCoalition, Who: who, Shares: p.roster.Fewest - most}, opens}
}

// Adjacencies returns the adjacencies for which a study states its cost, the study's own
// adjacency first.
func (p *Protocol) Adjacencies() []accountant.Adjacency { return p.method.Adjacencies() }

// Event returns the proved cost for a client that has made the given number of releases, including
// the scale phase. The study must have a privacy guarantee. If a person may have records at several
// clients, Event covers the releases of one client only, unlike [Protocol.Cost].
func (p *Protocol) Event(view method.View, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return p.eventOf(method.Method.Event, p.proved(view).Shares, adjacency, releases)
}

// proved returns the view with only the noise shares for which the privacy proof holds. Unless the
// method is unsound, these are all of them.
func (p *Protocol) proved(view method.View) method.View {
	if m, ok := p.method.(method.Unsound); ok {
		view.Shares = m.Proved(view.Shares)
	}
	return view
}

// A costing computes the cost of a number of releases for an observer who cannot subtract some
// noise shares. [method.Method.Event] computes the proved cost, [method.Claimed] the claimed one.
type costing func(m method.Method, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

// eventOf composes the costs of the study's phases after the given number of releases. rounds
// computes the cost of the rounds.
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

// Increment returns the cost that a ledger charges for the releases after+1 to last of the rounds,
// counted from 1. All charges of a study together cost at most [Protocol.Event] of all releases.
// The study must have a privacy guarantee and be sound ([Protocol.Sound]).
func (p *Protocol) Increment(view method.View, adjacency accountant.Adjacency, after, last int) (accountant.Event, error) {
	if most := p.method.Releases(); after < 0 || after > last || last > most {
		return nil, fmt.Errorf("releases %d to %d: the rounds of the study have %d", after+1, last, most)
	}
	return p.method.Increment(view.Shares, adjacency, after, last)
}

// Cost returns the proved cost for a client that has made the given number of releases, as an upper
// bound on ε. If a person may have records at several clients (privacy.people_across), it covers
// the releases of that many clients.
func (p *Protocol) Cost(view method.View, adjacency accountant.Adjacency, releases int) (method.Cost, error) {
	c, _, err := p.costOf(method.Method.Event, p.proved(view), adjacency, releases)
	return c, err
}

// costOf returns the cost, whose ε is an upper bound, and a lower bound on ε.
func (p *Protocol) costOf(rounds costing, view method.View, adjacency accountant.Adjacency, releases int) (method.Cost, float64, error) {
	event, err := p.eventOf(rounds, view.Shares, adjacency, releases)
	if err != nil {
		return method.Cost{}, 0, err
	}
	return p.account(p.atHolders(event), view, adjacency)
}

// account converts an event to a cost, whose ε is an upper bound, and a lower bound on ε.
func (p *Protocol) account(event accountant.Event, view method.View, adjacency accountant.Adjacency) (method.Cost, float64, error) {
	profile, err := accountant.Account(event)
	if err != nil {
		return method.Cost{}, 0, err
	}
	delta := p.study.Privacy.Delta
	epsilon, err := profile.EpsilonBy(accountant.Planned, delta)
	c := method.Cost{View: view, Adjacency: adjacency, Epsilon: epsilon.Upper, Delta: delta, Method: string(epsilon.Method)}
	if profile.Gaussian() {
		c.Mu = profile.Mu() // only a Gaussian profile has a μ
	}
	return c, epsilon.Lower, err
}

// Costs returns the cost for a client that has made the given number of releases, for every view
// and adjacency. The study's own view and adjacency come first.
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

// Published returns the name of the setting that makes the study's privacy claim wrong, or "" if
// the claim is right. The name is [method.PublishedFactors] or [method.PublishedSampling].
func (p *Protocol) Published() string {
	if m, ok := p.method.(method.Unsound); ok {
		return m.Published()
	}
	return ""
}

// Sound reports whether the study's releases really cost no more than the study claims.
func (p *Protocol) Sound() bool { return p.Published() == "" }

// OutsideCosts returns the claimed, the true and the proved cost of the given number of releases.
// The observer is an outsider, or anyone who reads messages if these are not summed. The costs are
// equal unless the method is unsound ([method.Unsound]).
func (p *Protocol) OutsideCosts(releases int) (claimed, truth, sound method.Cost, err error) {
	outside := p.Views()[0]
	for _, v := range p.Views() {
		if v.Name == method.Outsider {
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

// ClosedForm returns the mean and the covariance of the Gaussian q with the given natural
// parameters. It increases the variances to account for the noise of the private steps. The method
// must be a [method.Stepped].
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

// OnDevice returns nil if the study's private steps can run on a device, and otherwise the reason
// why not. The result depends on public numbers only.
func (p *Protocol) OnDevice() error {
	if m, ok := p.method.(method.Device); ok {
		return m.OnDevice()
	}
	return fmt.Errorf("a device takes the steps of inference.solver = %q, not of %q", study.DPSVI, p.study.Inference.Solver)
}

// Work describes the work of one client with the given number of records, to estimate its running
// time. The number of steps is 0 if the method has no private steps.
func (p *Protocol) Work(records int) cuda.Work {
	w := cuda.Work{Visits: 1, Rounds: p.study.Inference.Rounds, Records: records, Dim: p.model.Dim()}
	if s, ok := method.StepsOf(p.method); ok {
		w.Steps, w.Batch = s.Round, s.Rate*float64(records)
	}
	return w
}

// ReleasesAfter returns the number of releases that a client has made after the given number of
// plans, if it took all steps of each.
func (p *Protocol) ReleasesAfter(plans int) int {
	return p.method.ReleasesAfter(p.setting.Round(plans))
}
