package pvi

import (
	"fmt"
	"math"

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
