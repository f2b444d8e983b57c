package pvi

import (
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
)

// setStart makes the mechanism of the statistics from which clients start, if they do,
// beside gradients with a noise multiplier σ: T of them amount to about μ² = q²T/σ²
// ([accountant]: exactly so for full batches), to which the statistics add their share.
// Both are accounted as they are, and calibrated together.
func (p *Protocol) setStart(multiplier float64) (err error) {
	share := p.study.Inference.Descent.StartShare
	if share == 0 {
		return nil
	}
	d := p.descent
	muSquared := d.Rate * d.Rate * float64(d.Total) / (multiplier * multiplier)
	p.start, err = dpmech.NewGaussianSum(dpmech.Config{
		Dim:             p.model.Linear().StatisticsSize(),
		Clip:            p.recordBound() / 2,
		NoiseMultiplier: math.Sqrt((1 - share) / (share * muSquared)),
		Shares:          1,
		Terms:           p.study.Federation.MaxRecords,
		Releases:        1,
		Adjacency:       p.study.Privacy.Adjacency,
	})
	if err != nil {
		return fmt.Errorf("%w (a release is that of the statistics from which a client starts)", err)
	}
	return nil
}

// Start returns what hides the statistics from which clients start, nil if there are none.
func (p *Protocol) Start() *dpmech.GaussianSum { return p.start }

// releasedEvent is the cost of a client's first releases, and of finding the scale before
// them, with gradients accounted as a mechanism has it and so many shares of noise that
// an observer does not know.
func (p *Protocol) releasedEvent(gradients *dpmech.SampledSum, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	before := p.inRounds(releases)
	rounds, err := p.roundsEvent(gradients, shares, adjacency, before)
	if err != nil || before == releases {
		return rounds, err
	}
	return accountant.Composed{rounds, p.curvature.EventFor(shares, adjacency)}, nil
}

// roundsEvent is releasedEvent without the last round.
func (p *Protocol) roundsEvent(gradients *dpmech.SampledSum, shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	if gradients == nil {
		return p.withScaling(p.Mechanism().EventFor(shares, adjacency), releases, shares, adjacency), nil
	}
	step, err := gradients.SharedEventFor(1, shares, adjacency)
	if err != nil || p.start == nil || releases == 0 {
		return p.withScaling(step, releases, shares, adjacency), err
	}
	event := accountant.Composed{p.start.EventFor(1, adjacency), accountant.Repeated{Event: step, Times: releases - 1}}
	return p.withScaling(event, 1, shares, adjacency), nil
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
