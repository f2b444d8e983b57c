package descent

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/method/steps"
)

// batches says how clients sample their records.
type batches struct{ *steps.Gradients }

// stated returns the number of records for which the mechanism is stated.
func (b batches) stated() int {
	if b.Steps.Batch > 0 {
		return b.Study.Federation.NominalRecords
	}
	return b.Study.Federation.MaxRecords
}

// sampling returns how a client with so many records samples them.
//
// A batch of a fixed size is the same share of the records of every client, rounded
// down, so that it costs no client more than the study states. A client without records has
// empty batches. Where the number of records is private the size is that
// for the nominal number, which every client has (CheckShard).
func (b batches) sampling(records int) dpmech.Sampling {
	switch {
	case b.Steps.Rate == 1:
		return dpmech.FullBatch{}
	case b.Steps.Batch > 0 && records > 0:
		return dpmech.WithoutReplacement{Batch: b.size(records)}
	}
	return dpmech.Poisson{Rate: b.Steps.Rate}
}

// size returns the size of the batches of a client with so many records.
func (b batches) size(records int) int {
	if b.privateSize() {
		return b.Steps.Batch
	}
	return int(int64(records) * int64(b.Steps.Batch) / int64(b.Study.Federation.NominalRecords))
}

// rate returns the probability with which a record of a client with so many is in a batch.
// It depends on that number only if batches have a fixed size and the number is public.
func (b batches) rate(records int) float64 {
	if b.fixed() && !b.privateSize() {
		if size := b.size(records); size > 0 {
			return float64(size) / float64(records)
		}
	}
	return b.Steps.Rate
}

// fixed reports whether batches have a fixed size, below all records.
func (b batches) fixed() bool { return b.Steps.Batch > 0 && b.Steps.Rate < 1 }

// privateSize reports whether batches have a fixed size and the number of records is
// private, as for a sampling as published.
func (b batches) privateSize() bool {
	return b.fixed() && b.Study.Privacy.Adjacency != accountant.ReplaceOne
}
