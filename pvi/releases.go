package pvi

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/study"
)

// How often a client releases something that costs privacy, and what that is to the
// accountant. A release is a message, or a noisy sum from which one is computed.

// Releases returns how often a client releases something that costs privacy.
func (p *Protocol) Releases() int { return p.roundReleases() + len(p.after) }

// roundReleases is Releases in the rounds alone.
func (p *Protocol) roundReleases() int {
	in := p.study.Inference
	switch p.study.Privacy.Unit {
	case study.Client:
		return in.Rounds
	case study.Record:
		if p.descent != nil {
			if p.study.Inference.Descent.StartShare > 0 {
				return p.descent.Total + 1
			}
			return p.descent.Total
		}
		if in.Partitions.Count > 0 || in.Factors == study.Published {
			return in.Rounds
		}
		return 1
	}
	return 0
}

// ReleasesAfter returns how often a client has released something that costs privacy when
// so many plans of the study are answered, all steps of which it took.
func (p *Protocol) ReleasesAfter(plans int) int {
	if plans == 0 {
		return 0
	}
	rounds := p.round(plans)
	if p.descent == nil {
		return min(rounds, p.Releases())
	}
	all := p.inRounds(p.Releases())
	return min(all-p.descent.Total+rounds*p.descent.Steps, all)
}

// inRounds returns how many of a client's first releases are made in rounds: all but
// that of the last round.
func (p *Protocol) inRounds(releases int) int { return min(releases, p.roundReleases()) }

// Event returns what [Protocol.Cost] is the cost of, to be added to that of other
// releases.
func (p *Protocol) Event(view View, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	if p.Published() == PublishedFactors {
		view.Shares = 1
	}
	return p.releasedEvent(p.sampled, view.Shares, adjacency, releases)
}

// releasedEvent is the cost of a client's first releases, and of finding the scale before
// them, with gradients accounted as a mechanism has it and so many shares of noise that
// an observer does not know.
func (p *Protocol) releasedEvent(gradients *dpmech.SampledSum, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	before := p.inRounds(releases)
	event, err := p.roundsEvent(gradients, shares, adjacency, before)
	if err != nil {
		return nil, err
	}
	for _, last := range p.after[:min(releases-before, len(p.after))] {
		event = accountant.Composed{event, last.EventFor(shares, adjacency)}
	}
	return event, nil
}

// roundsEvent is releasedEvent without the last round.
func (p *Protocol) roundsEvent(gradients *dpmech.SampledSum, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	if gradients == nil {
		return p.withScaling(p.Mechanism().EventFor(shares, adjacency), releases, shares, adjacency), nil
	}
	if gradients.Epoch() > 1 {
		return p.epochsEvent(gradients, shares, adjacency, releases)
	}
	step, err := gradients.SharedEventFor(1, shares, adjacency)
	if err != nil || p.start == nil || releases == 0 {
		return p.withScaling(step, releases, shares, adjacency), err
	}
	event := accountant.Composed{p.start.EventFor(1, adjacency), accountant.Repeated{Event: step, Times: releases - 1}}
	return p.withScaling(event, 1, shares, adjacency), nil
}

// epochsEvent is roundsEvent where batches are charged by epochs.
func (p *Protocol) epochsEvent(gradients *dpmech.SampledSum, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	if releases == 0 {
		return p.withScaling(accountant.Composed{}, 0, shares, adjacency), nil
	}
	steps, err := gradients.SharedEventFor(releases, shares, adjacency)
	return p.withScaling(steps, 1, shares, adjacency), err
}

// withScaling is a release that happens a number of times, after the releases that
// found the scale.
func (p *Protocol) withScaling(release accountant.Event, times, shares int, adjacency accountant.Adjacency) accountant.Event {
	var event accountant.Event = accountant.Repeated{Event: release, Times: times}
	for _, scaling := range p.before {
		event = accountant.Composed{scaling.EventFor(shares, adjacency), event}
	}
	return event
}

// promised is what a client spends in the whole study with mechanism m, against
// the observer that the study names. (For published factors under a sum that
// alone is opened it is the paper's claim, which is not true; see
// [Protocol.Cost].)
func (p *Protocol) promised(m *dpmech.GaussianSum) accountant.Event {
	return p.withScaling(m.Event(), p.Releases(), m.Shares(), p.study.Privacy.Adjacency)
}
