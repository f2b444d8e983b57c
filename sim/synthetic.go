package sim

import (
	"math"
	"math/rand/v2"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// synthesise draws records from the model: coefficients from the study's truth,
// or the prior where it names none; regressors as declared; outcomes with the
// model's noise.
func synthesise(st *study.Study, seed uint64) []Holder {
	truth := drawTruth(st, variates(seed, purposeTruth))
	holders := make([]Holder, st.Simulation.Clients)
	for m := range holders {
		holders[m] = Holder{
			ID:      clientID(m, len(holders)),
			Records: synthesiseClient(st, truth, variates(seed, purposeData, uint64(m))),
		}
	}
	return holders
}

func drawTruth(st *study.Study, r *rand.Rand) []float64 {
	var truth []float64
	for _, c := range st.Coefficients() {
		prior := st.Prior.For(c.Name)
		// Drawn even if the study gives it, so that one does not move another.
		theta := prior.Mean + prior.SD*r.NormFloat64()
		if given, ok := st.Simulation.Synthetic.Truth[c.Name]; ok {
			theta = given
		}
		truth = append(truth, theta)
	}
	return truth
}

func synthesiseClient(st *study.Study, truth []float64, r *rand.Rand) *shard.Records {
	syn := st.Simulation.Synthetic
	local := make([]float64, len(truth))
	for i, theta := range truth {
		local[i] = theta + syn.ClientSD*r.NormFloat64()
	}
	records := new(shard.Records)
	row := make([]float64, len(st.Columns))
	for range syn.RecordsPerClient {
		for i := range st.Columns {
			row[i] = drawValue(&st.Columns[i], syn, r)
		}
		records.Append(row)
	}
	outcome := st.ColumnIndex(st.Model.Outcome)
	column, unit := &st.Columns[outcome], st.OutcomeUnit()
	design := shard.Design(st, records)
	for i := range records.Len() {
		x, _ := design.Record(i)
		y := st.Unscale(column, dot(local, x)+st.Model.NoiseSD/unit*r.NormFloat64())
		records.Row(i)[outcome] = min(max(y, column.Low), column.High)
	}
	return records
}

// drawValue draws a value of a column: normal if the study says so, drawn again
// until it is within bounds, else uniform.
func drawValue(c *study.Column, syn *study.Synthetic, r *rand.Rand) float64 {
	if c.Type != study.Numeric {
		return float64(r.IntN(len(c.Levels)))
	}
	normal, ok := syn.Columns[c.Name]
	if !ok {
		return c.Low + (c.High-c.Low)*r.Float64()
	}
	// Bounds that leave hardly any mass must not stall: then the nearest bound.
	const tries = 1000
	x := math.NaN()
	for range tries {
		if x = normal.Mean + normal.SD*r.NormFloat64(); c.Low <= x && x <= c.High {
			return x
		}
	}
	return min(max(x, c.Low), c.High)
}

func dot(a, b []float64) float64 {
	var sum float64
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
