package descent

import (
	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/method/steps"
)

type batches struct{ *steps.Gradients }

// stated returns the number of records that the reported cost is computed for. This is the nominal
// number if batches have a fixed size, and the largest number if they do not.
func (b batches) stated() int {
	if b.Steps.Batch > 0 {
		return b.Study.Federation.NominalRecords
	}
	return b.Study.Federation.MaxRecords
}

// sampling returns how a client with the given number of records draws its batches.
//
// If batches have a fixed size, that is the same fraction of the records for every client, rounded
// down. The cost of a client is therefore at most the reported one. If the number of records is
// private, sampling uses the nominal number instead, which every client must have at least. The
// batches of a client without records are empty.
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

// rate returns the probability that a record is in a batch. It depends on the client's number of
// records only if that is public and batches have a fixed size.
func (b batches) rate(records int) float64 {
	if b.fixed() && !b.privateSize() {
		if size := b.size(records); size > 0 {
			return float64(size) / float64(records)
		}
	}
	return b.Steps.Rate
}

// fixed reports whether batches have a fixed size that is smaller than the number of records.
func (b batches) fixed() bool { return b.Steps.Batch > 0 && b.Steps.Rate < 1 }

// privateSize reports whether batches have a fixed size although the number of records is private.
// This happens only with the published sampling.
func (b batches) privateSize() bool {
	return b.fixed() && b.Study.Privacy.Adjacency != accountant.ReplaceOne
}
