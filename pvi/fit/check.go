package fit

import (
	"cmp"
	"math"
	"slices"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Check compares a statistic of the observed outcomes with its distribution over outcomes that
// the model draws for the same records (Rubin 1984; Gelman, Meng and Stern 1996). It depends on the
// records, and must not leave the machine that has them.
type Check struct {
	Statistic string  `json:"statistic"`
	Observed  float64 `json:"observed"`
	Low       float64 `json:"low"` // the central 95 % of the drawn statistics are between Low and High
	High      float64 `json:"high"`
	// Above is the fraction of drawn statistics that are larger than the observed one. Ties count
	// half.
	Above float64 `json:"above"`
}

const (
	replications = 400
	mostChecked  = 5000 // largest number of records that a check uses
)

// Check compares statistics of the outcomes in s with those of outcomes drawn for the same records.
// For this purpose θ is drawn from the Gaussian posterior natural. If there are more than 5,000
// records, Check uses only every second one, or every third, and so on. Outcomes are in the units
// of their column. Check returns nil if there are no records, or if the model is not a regression
// (see [Model.General]).
func (m *Model) Check(s *shard.Shard, family gaussian.Family, natural []float64, r solver.Source) ([]Check, error) {
	if s.Len() == 0 || m.General() {
		return nil, nil
	}
	mean := make([]float64, m.Dim())
	if err := family.Mean(mean, natural); err != nil {
		return nil, err
	}
	sample, err := family.Sampler(natural)
	if err != nil {
		return nil, err
	}
	var records []int
	for i := 0; i < s.Len(); i += (s.Len() + mostChecked - 1) / mostChecked {
		records = append(records, i)
	}
	statistics := m.statistics(s, records, mean)
	y := make([]float64, len(records))
	for k, i := range records {
		_, y[k] = s.Record(i)
	}
	out := make([]Check, len(statistics))
	drawn := make([][]float64, len(statistics))
	column, _ := m.Study.Column(m.Study.Model.Outcome)
	for n, t := range statistics {
		out[n] = Check{Statistic: t.name, Observed: t.of(m.inUnits(column, y))}
	}
	theta, drawer := make([]float64, m.Dim()), m.newDrawer(s, records)
	for range replications {
		sample(theta, r.NormFloat64)
		drawer.draw(y, theta, r)
		units := m.inUnits(column, y)
		for n, t := range statistics {
			drawn[n] = append(drawn[n], t.of(units))
		}
	}
	for n := range out {
		out[n].place(drawn[n])
	}
	return out, nil
}

// place compares c.Observed with the statistics of drawn outcomes. It sorts these.
func (c *Check) place(drawn []float64) {
	slices.Sort(drawn)
	c.Low, c.High = drawn[replications/40], drawn[replications-1-replications/40]
	for _, x := range drawn {
		switch {
		case x > c.Observed:
			c.Above += 1. / replications
		case x == c.Observed:
			c.Above += .5 / replications
		}
	}
}

// inUnits converts outcomes from the model's scale to the units of their column, and limits them to
// its bounds.
func (m *Model) inUnits(column *study.Column, y []float64) []float64 {
	out := slices.Clone(y)
	kind := m.Study.Model.Kind()
	for k := range out {
		if kind == study.Measured {
			out[k] = m.Study.Unscale(column, out[k])
		}
		if kind == study.Measured || kind == study.Count {
			out[k] = min(max(out[k], column.Low), column.High)
		}
	}
	return out
}

// A statistic is a function of the outcomes of several records.
type statistic struct {
	name string
	of   func(y []float64) float64
}

func (m *Model) statistics(s *shard.Shard, records []int, mean []float64) []statistic {
	if m.Study.Model.Kind() == study.Class {
		c, _ := m.Study.Column(m.Study.Model.Outcome)
		var all []statistic
		for level, name := range c.Levels {
			all = append(all, statistic{"share of " + name, func(y []float64) float64 { return share(y, float64(level)) }})
		}
		return all
	}
	all := []statistic{{"mean", average}}
	// Comparing the thirds with the lowest and the highest predictions shows whether the columns have
	// as strong an effect as the model says.
	if n := len(records) / 3; n > 0 {
		order := m.byPredictor(s, records, mean)
		of := func(rows []int) func([]float64) float64 {
			return func(y []float64) (sum float64) {
				for _, k := range rows {
					sum += y[k] / float64(len(rows))
				}
				return sum
			}
		}
		all = append(all, statistic{"mean of the third with the lowest predictions", of(order[:n])},
			statistic{"mean of the third with the highest predictions", of(order[len(order)-n:])})
	}
	switch m.Study.Model.Kind() {
	case study.Count:
		all = append(all, statistic{"sd", deviation}, statistic{"share of zeros", func(y []float64) float64 { return share(y, 0) }}, statistic{"largest", slices.Max[[]float64]})
	case study.Measured:
		all = append(all, statistic{"sd", deviation}, statistic{"smallest", slices.Min[[]float64]}, statistic{"largest", slices.Max[[]float64]})
	}
	return all
}

// byPredictor sorts records by the predictor at θ = mean, and returns the indices of its elements
// in that order.
func (m *Model) byPredictor(s *shard.Shard, records []int, mean []float64) []int {
	eta, order := make([]float64, len(records)), make([]int, len(records))
	for k, i := range records {
		one := make([]float64, m.Locations())
		m.predict(one, s, i, mean)
		eta[k], order[k] = one[0], k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(eta[a], eta[b]) })
	return order
}

func average(y []float64) (sum float64) {
	for _, x := range y {
		sum += x / float64(len(y))
	}
	return sum
}

func deviation(y []float64) float64 {
	mean, squares := average(y), 0.0
	for _, x := range y {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares / float64(len(y)))
}

func share(y []float64, of float64) float64 {
	n := 0
	for _, x := range y {
		if x == of {
			n++
		}
	}
	return float64(n) / float64(len(y))
}
