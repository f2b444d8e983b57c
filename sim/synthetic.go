package sim

import (
	"fmt"
	"math"
	"math/rand/v2"

	"fedpvi/pvi"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// synthesise generates the records of a study's clients: the regressors as the study declares them,
// and the outcomes from the likelihood at the true coefficients.
func synthesise(st *study.Study, seed uint64) ([]Holder, error) {
	m, err := fit.New(st)
	if err != nil {
		return nil, err
	}
	truth, err := DrawTruth(m, variates(seed, purposeTruth))
	if err != nil {
		return nil, err
	}
	holders := make([]Holder, st.Simulation.Clients)
	for c := range holders {
		id := clientID(c, len(holders))
		records, err := synthesiseClient(m, id, truth, variates(seed, purposeData, uint64(c)))
		if err != nil {
			return nil, err
		}
		holders[c] = Holder{ID: id, Records: records}
	}
	return holders, nil
}

// truthOf returns the θ from which all records were generated, on the model's scale. It returns nil
// if the records come from a file, if clients differ in θ, if the columns are standardised, or if
// the model is not a regression.
func truthOf(st *study.Study, o Options) ([]float64, error) {
	syn := st.Simulation.Synthetic
	if syn == nil || o.DataFile != "" || syn.ClientSD > 0 || st.Standardisation != nil {
		return nil, nil
	}
	m, err := fit.New(st)
	if err != nil || m.General() {
		return nil, err
	}
	return DrawTruth(m, variates(o.Seed, purposeTruth))
}

// DrawTruth returns the true coefficients for made-up records. The study may give some of them, and
// the others are drawn from the prior.
func DrawTruth(m *fit.Model, r *rand.Rand) ([]float64, error) {
	var given map[string]float64
	if syn := m.Study.Simulation.Synthetic; syn != nil {
		given = syn.Truth
	}
	used := 0
	var truth []float64
	for i, p := range m.Parameters.All() {
		sd := p.Prior.SD
		if spread, ok := m.Spread(i); ok {
			sd = truth[spread]
		}
		// Draw a number even for a coefficient whose value the study gives, so that this value does
		// not affect the other draws.
		z := r.NormFloat64()
		theta := p.Prior.Mean + sd*z
		if p.HalfNormal > 0 {
			theta = p.HalfNormal * math.Abs(z)
		}
		if value, ok := given[p.Name]; ok {
			theta = value
			if p.Log {
				theta = math.Log(value)
			}
			if math.IsNaN(theta) || math.IsInf(theta, 0) {
				return nil, fmt.Errorf("study %s: simulation.synthetic.truth: %s must be positive, got %g", m.Study.Name, p.Name, value)
			}
			used++
		}
		truth = append(truth, theta)
	}
	if used < len(given) {
		return nil, fmt.Errorf("study %s: simulation.synthetic.truth names something that is not a parameter: the parameters are %q", m.Study.Name, m.Names())
	}
	return truth, nil
}

// synthesiseClient generates the records of a client. If the study protects persons, every person
// gets privacy.rows_per_person records, as many as the study uses.
func synthesiseClient(m *fit.Model, id pvi.ClientID, truth []float64, r *rand.Rand) (*shard.Records, error) {
	st := m.Study
	syn := st.Simulation.Synthetic
	local := make([]float64, len(truth))
	for i, theta := range truth {
		local[i] = theta + syn.ClientSD*r.NormFloat64()
	}
	records := new(shard.Records)
	row := make([]float64, len(st.Columns))
	for n := range syn.RecordsPerClient {
		for i := range st.Columns {
			row[i] = drawValue(&st.Columns[i], syn, r)
		}
		if st.Privacy.Unit == study.Person {
			records.AppendFor(fmt.Sprintf("%s-%d", id, n/st.Privacy.RowsPerPerson+1), row)
		} else {
			records.Append(row)
		}
	}
	if m.General() {
		return records, drawGeneral(m, records, local, r)
	}
	DrawOutcomes(m, records, local, r)
	return records, nil
}

// DrawOutcomes replaces the outcomes of records by draws from the likelihood of a regression at θ,
// in the unit of their column and within its bounds.
func DrawOutcomes(m *fit.Model, records *shard.Records, theta []float64, r *rand.Rand) {
	st := m.Study
	outcome := st.ColumnIndex(st.Model.Outcome)
	column := &st.Columns[outcome]
	design := shard.Design(st, records)
	for i := range records.Len() {
		y := m.Draw(design, i, theta, r)
		switch st.Model.Kind() {
		case study.Binary:
			y = binaryValue(st.Model.Positive, column, y == 1)
		case study.Measured:
			y = st.Unscale(column, y)
		}
		records.Row(i)[outcome] = min(max(y, column.Low), column.High)
	}
}

// binaryValue returns a value of the column. The event e happens for this value if positive is
// true, and does not otherwise.
func binaryValue(e *study.Event, column *study.Column, positive bool) float64 {
	if e.Of(column.Low) == positive {
		return column.Low
	}
	if e.Of(column.High) == positive {
		return column.High
	}
	return float64(e.Level) // a level for which the event happens, inside the column's bounds
}

// drawValue draws a value of a column. Levels have equal probabilities. A number is uniform within
// the bounds or, if the study declares it, normal. A normal number is drawn again while it is
// outside the bounds. After too many draws it becomes the nearest bound. A date is rounded to a
// whole day, because record files contain days.
func drawValue(c *study.Column, syn *study.Synthetic, r *rand.Rand) float64 {
	x := drawNumber(c, syn, r)
	if c.Dated {
		return c.Years(c.Day(x))
	}
	return x
}

func drawNumber(c *study.Column, syn *study.Synthetic, r *rand.Rand) float64 {
	if c.Type != study.Numeric {
		return float64(r.IntN(len(c.Levels)))
	}
	normal, ok := syn.Columns[c.Name]
	if !ok {
		return c.Low + (c.High-c.Low)*r.Float64()
	}
	// The probability of a value within the bounds may be tiny. After this many draws, the nearest
	// bound is used instead.
	const tries = 1000
	x := math.NaN()
	for range tries {
		if x = normal.Mean + normal.SD*r.NormFloat64(); c.Low <= x && x <= c.High {
			return x
		}
	}
	return min(max(x, c.Low), c.High)
}
