package descent

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/method/steps"
)

type batches struct{ *steps.Gradients }

// stated returns the number of records for which the cost is stated: the nominal number if batches
// have a fixed size, and otherwise the largest.
func (b batches) stated() int {
	if b.Steps.Batch > 0 {
		return b.Study.Federation.NominalRecords
	}
	return b.Study.Federation.MaxRecords
}

// sampling returns how a client with the given number of records draws batches.
//
// A batch of a fixed size is the same share of every client's records, rounded down, so that no
// client's cost exceeds the stated one. If the number of records is private, the nominal number,
// which every client has at least, takes its place. A client without records has empty batches.
func (b batches) sampling(records int) dpmech.Sampling {
	switch {
	case b.Steps.Rate == 1:
		return dpmech.FullBatch{}
	case b.Steps.Batch > 0 && records > 0:
		return dpmech.WithoutReplacement{Batch: b.size(records)}
	}
	return dpmech.Poisson{Rate: b.Steps.Rate}
}

func (b batches) size(records int) int {
	if b.privateSize() {
		return b.Steps.Batch
	}
	return int(int64(records) * int64(b.Steps.Batch) / int64(b.Study.Federation.NominalRecords))
}

// rate returns the probability that a record is in a batch. It depends on the number of records
// only if this is public and batches have a fixed size.
func (b batches) rate(records int) float64 {
	if b.fixed() && !b.privateSize() {
		if size := b.size(records); size > 0 {
			return float64(size) / float64(records)
		}
	}
	return b.Steps.Rate
}

// fixed reports whether batches have a fixed size and do not contain all records.
func (b batches) fixed() bool { return b.Steps.Batch > 0 && b.Steps.Rate < 1 }

// privateSize reports whether batches have a fixed size although the number of records is private.
// Only the published sampling allows this.
func (b batches) privateSize() bool {
	return b.fixed() && b.Study.Privacy.Adjacency != accountant.ReplaceOne
}
