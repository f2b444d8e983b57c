package pvi

import (
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/study"
)

// deriveBatch finds the size of batches that have a fixed one.
func (p *Protocol) deriveBatch(d *Descent) error {
	if p.study.Inference.Descent.Sampling == study.PoissonSampling {
		return nil
	}
	nominal := p.study.Federation.NominalRecords
	if most := p.study.Federation.MaxRecords; nominal > most {
		return fmt.Errorf("federation.nominal_records = %d is above federation.max_records = %d", nominal, most)
	}
	d.Batch = max(1, int(math.Round(d.Rate*float64(nominal))))
	d.Rate = float64(d.Batch) / float64(nominal)
	return nil
}

// samplingFor is how a client with so many records samples them.
//
// A batch of a fixed size is the same share of the records of every client, rounded
// down, so that it costs no client more than the study states. A client without any has
// empty batches by whatever name. Where the number of records is private the size is that
// for the nominal number, which every client has ([Protocol.checkShard]).
func (p *Protocol) samplingFor(records int) dpmech.Sampling {
	d := p.descent
	switch {
	case p.study.Inference.Solver == study.DPSEP:
		return p.propagationSampling()
	case d.Rate == 1:
		return dpmech.FullBatch{}
	case d.Batch > 0 && records > 0:
		return dpmech.WithoutReplacement{Batch: p.batchFor(records)}
	}
	return dpmech.Poisson{Rate: d.Rate}
}

// claimedSampling is the one for which a published form has an accountant: batches that
// come by chance, or one record that is drawn anew in every step.
func (p *Protocol) claimedSampling() dpmech.Sampling {
	if p.publishedPropagation() {
		return dpmech.WithoutReplacement{Batch: 1}
	}
	return dpmech.Poisson{Rate: float64(p.descent.Batch) / float64(p.stated())}
}

func (p *Protocol) batchFor(records int) int {
	if p.privateSize() {
		return p.descent.Batch
	}
	return int(int64(records) * int64(p.descent.Batch) / int64(p.study.Federation.NominalRecords))
}

// rateFor is the probability with which a record of a client with so many is in a batch.
// Only batches of a fixed size, where that number is public, make use of it.
func (p *Protocol) rateFor(records int) float64 {
	if p.fixedBatches() && !p.privateSize() {
		if batch := p.batchFor(records); batch > 0 {
			return float64(batch) / float64(records)
		}
	}
	return p.descent.Rate
}

// fixedBatches reports whether batches have a fixed size, below all records.
func (p *Protocol) fixedBatches() bool {
	return p.descent != nil && p.descent.Batch > 0 && p.descent.Rate < 1
}

// privateSize reports whether batches have a fixed size and the number of records is
// private, as for a sampling as published.
func (p *Protocol) privateSize() bool {
	return p.fixedBatches() && p.study.Privacy.Adjacency != accountant.ReplaceOne
}
