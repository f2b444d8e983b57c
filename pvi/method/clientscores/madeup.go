package clientscores

import (
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// madeUpRecords is the number of made-up records from which units follow. Their information differs from its expectation by
// some 2 %.
const madeUpRecords = 4000

// madeUp returns made-up records number first to first+count−1, which follow from public numbers alone: numbers are uniform within their
// bounds on the model's scale, and levels are equally likely. A column whose centre and spread the
// study gives is normal within its bounds. The outcome is at its lowest value.
func madeUp(st *study.Study, digest [32]byte, first, count int) *shard.Records {
	records := new(shard.Records)
	normal, row := make([]float64, len(st.Columns)), make([]float64, len(st.Columns))
	outcome := st.ColumnIndex(st.Model.Outcome)
	for n := range count {
		dpmech.FillPublicNormal(normal, "made-up records", digest, first+n)
		for i := range row {
			row[i] = madeUpValue(st, &st.Columns[i], normal[i])
		}
		row[outcome] = st.Columns[outcome].Low
		records.Append(row)
	}
	return records
}

// madeUpValue returns the value of a column that a standard normal number stands for.
func madeUpValue(st *study.Study, c *study.Column, normal float64) float64 {
	evenly := math.Erfc(-normal/math.Sqrt2) / 2
	if c.Type != study.Numeric {
		return math.Min(math.Floor(evenly*float64(len(c.Levels))), float64(len(c.Levels)-1))
	}
	low, high := st.Scale(c, c.Low), st.Scale(c, c.High)
	scaled := low + (high-low)*evenly
	if st.Model.Standardise && c.Spread > 0 && c.Found == nil {
		scaled = math.Max(low, math.Min(normal, high))
	}
	return st.Unscale(c, scaled)
}
