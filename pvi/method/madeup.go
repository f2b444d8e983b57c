package method

import (
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// MadeUp returns count synthetic records, beginning with record number first. They depend only on
// public numbers. A number is uniform within its bounds on the model's scale or, if the study gives
// a centre and a spread, normal. All levels are equally likely. The outcome is always the lowest
// value of its column.
func MadeUp(st *study.Study, digest [32]byte, first, count int) *shard.Records {
	return MadeUpWithin(st, digest, first, count, 1)
}

// MadeUpWithin is like [MadeUp], but moves each number closer to the middle of its bounds: on the
// model's scale, it multiplies the distance by extent, which is in (0, 1].
func MadeUpWithin(st *study.Study, digest [32]byte, first, count int, extent float64) *shard.Records {
	records := new(shard.Records)
	normal, row := make([]float64, len(st.Columns)), make([]float64, len(st.Columns))
	outcome := st.ColumnIndex(st.Model.Outcome)
	for n := range count {
		dpmech.FillPublicNormal(normal, "made-up records", digest, first+n)
		for i := range row {
			row[i] = madeUpValue(st, &st.Columns[i], normal[i], extent)
		}
		if outcome >= 0 {
			row[outcome] = st.Columns[outcome].Low
		}
		records.Append(row)
	}
	return records
}

// madeUpValue returns the Φ(normal)-quantile of the distribution of column c, where Φ is the
// standard normal distribution function. For numbers, extent has the same meaning as in
// [MadeUpWithin].
func madeUpValue(st *study.Study, c *study.Column, normal, extent float64) float64 {
	evenly := math.Erfc(-normal/math.Sqrt2) / 2
	if c.Type != study.Numeric {
		return math.Min(math.Floor(evenly*float64(len(c.Levels))), float64(len(c.Levels)-1))
	}
	low, high := st.Scale(c, c.Low), st.Scale(c, c.High)
	scaled := low + (high-low)*evenly
	scaled += (1 - extent) * ((low+high)/2 - scaled)
	if st.Model.Standardise && c.Spread > 0 && c.Found == nil {
		scaled = math.Max(low, math.Min(extent*normal, high))
	}
	return st.Unscale(c, scaled)
}
