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
// study. A release is either a message or a noisy sum that the client computes a message from. Each
// one costs privacy.
func (p *Protocol) Releases() int { return p.method.Releases() + len(p.after) }

// Views returns the observers whose privacy cost the study reports. The first one is the observer
// that the privacy target refers to. The list is empty for a study without a privacy guarantee.
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

// viewsOfSums returns the observers of a study in which only sums are opened. Any other participant
// counts as an observer, because it can subtract its own share of the noise.
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

// whoeverOpens returns the observers at the end of the list. The very last one is a coordinator who
// can open every message. Under secure aggregation, the largest coalition that cannot open messages
// comes before it, if it has more than t clients.
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

// Adjacencies returns the adjacencies that costs are reported for, beginning with the study's own.
func (p *Protocol) Adjacencies() []accountant.Adjacency { return p.method.Adjacencies() }

// Event returns the proved privacy cost for a client that has made the given number of releases,
// including those of the scale phase. The study must have a privacy guarantee. If a person may have
// records at several clients, Event covers only the releases of one of them, unlike
// [Protocol.Cost].
func (p *Protocol) Event(view method.View, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return p.eventOf(method.Method.Event, p.proved(view).Shares, adjacency, releases)
}

// proved returns the view, counting only noise shares that the privacy proof covers. Unless the
// method is unsound, the proof covers all of them.
func (p *Protocol) proved(view method.View) method.View {
	if m, ok := p.method.(method.Unsound); ok {
		view.Shares = m.Proved(view.Shares)
	}
	return view
}

// A costing computes the cost of releases for an observer who cannot subtract the given number of
// noise shares. [method.Method.Event] computes the cost that is proved, and [method.Claimed] the
// cost that the method's authors claim.
type costing func(m method.Method, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error)

// eventOf returns the combined cost of all phases of the study after the given number of releases.
// The function rounds computes the part that the rounds cost.
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

// Increment returns the cost that a ledger charges for the releases number after+1 to number last
// of the rounds. The first release is number 1. The charges for a whole study add up to at most the
// [Protocol.Event] of all releases. The study must have a privacy guarantee and be sound
// ([Protocol.Sound]).
func (p *Protocol) Increment(view method.View, adjacency accountant.Adjacency, after, last int) (accountant.Event, error) {
	if most := p.method.Releases(); after < 0 || after > last || last > most {
		return nil, fmt.Errorf("releases %d to %d: the rounds of the study have %d", after+1, last, most)
	}
	return p.method.Increment(view.Shares, adjacency, after, last)
}

// Cost returns the proved cost for a client that has made the given number of releases. Its ε is an
// upper bound. If a person may have records at several clients (privacy.people_across), the cost
// covers the releases of all those clients.
func (p *Protocol) Cost(view method.View, adjacency accountant.Adjacency, releases int) (method.Cost, error) {
	c, _, err := p.costOf(method.Method.Event, p.proved(view), adjacency, releases)
	return c, err
}

// costOf returns the cost, in which ε is an upper bound, and also a lower bound on ε.
func (p *Protocol) costOf(rounds costing, view method.View, adjacency accountant.Adjacency, releases int) (method.Cost, float64, error) {
	event, err := p.eventOf(rounds, view.Shares, adjacency, releases)
	if err != nil {
		return method.Cost{}, 0, err
	}
	return p.account(p.atHolders(event), view, adjacency)
}

// account converts an event to a cost, in which ε is an upper bound. It also returns a lower bound
// on ε.
func (p *Protocol) account(event accountant.Event, view method.View, adjacency accountant.Adjacency) (method.Cost, float64, error) {
	profile, err := accountant.Account(event)
	if err != nil {
		return method.Cost{}, 0, err
	}
	delta := p.study.Privacy.Delta
	epsilon, err := profile.EpsilonBy(accountant.Planned, delta)
	c := method.Cost{View: view, Adjacency: adjacency, Epsilon: epsilon.Upper, Delta: delta, Method: string(epsilon.Method)}
	if profile.Gaussian() {
		c.Mu = profile.Mu() // μ is defined only for a Gaussian profile
	}
	return c, epsilon.Lower, err
}

// Costs returns the cost of the given number of releases for every view and adjacency, beginning
// with the study's own.
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
// the claim holds. The name is [method.PublishedFactors] or [method.PublishedSampling].
func (p *Protocol) Published() string {
	if m, ok := p.method.(method.Unsound); ok {
		return m.Published()
	}
	return ""
}

// Sound reports whether the study's releases really cost no more than the study claims.
func (p *Protocol) Sound() bool { return p.Published() == "" }

// OutsideCosts returns three costs of the given number of releases: the cost that the method
// claims, the true cost, and the cost that we can prove. They differ only if the method is unsound
// ([method.Unsound]). The observer is an outsider, or a reader of messages if messages are not
// summed.
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
// parameters. The covariance includes the noise of the private steps. The method must be a
// [method.Stepped].
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

// OnDevice returns nil if the study's private steps can run on a device, and an error with the
// reason if they cannot. The result depends on public numbers only.
func (p *Protocol) OnDevice() error {
	if m, ok := p.method.(method.Device); ok {
		return m.OnDevice()
	}
	return fmt.Errorf("a device takes the steps of inference.solver = %q, not of %q", study.DPSVI, p.study.Inference.Solver)
}

// Work describes the computation of one client with the given number of records, so that its
// running time can be estimated. The number of steps is 0 if the method has no private steps.
func (p *Protocol) Work(records int) cuda.Work {
	w := cuda.Work{Visits: 1, Rounds: p.study.Inference.Rounds, Records: records, Dim: p.model.Dim()}
	if s, ok := method.StepsOf(p.method); ok {
		w.Steps, w.Batch = s.Round, s.Rate*float64(records)
	}
	return w
}

// ReleasesAfter returns the number of releases that a client has made after answering the given
// number of plans in full.
func (p *Protocol) ReleasesAfter(plans int) int {
	return p.method.ReleasesAfter(p.setting.Round(plans))
}
