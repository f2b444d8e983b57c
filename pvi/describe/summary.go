package describe

import (
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Value is an estimate of a statistic of the records, with an interval for the privacy noise.
// There is no sampling error, because the tables describe only the records of the clients that
// answered.
type Value struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`

	// IntervalOnly is true if the noise leaves no useful estimate. Estimate is then some number in
	// the interval, not to be shown.
	IntervalOnly bool `json:"interval_only,omitempty"`
}

// A Summary holds the tables of a study.
type Summary struct {
	Level   float64  `json:"level"`    // level of the intervals
	Clients int      `json:"clients"`  // number of clients whose records are in the tables
	NoiseSD float64  `json:"noise_sd"` // sd of the noise of a released count
	By      string   `json:"by,omitempty"`
	Groups  []Group  `json:"groups"` // all records, then those of each level of By
	Columns []Column `json:"columns"`
}

// A Group is a set of records. The group of all records has no name.
type Group struct {
	Name    string `json:"name,omitempty"`
	Records Value  `json:"records"`
}

// A Column holds the tables of a column.
type Column struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit,omitempty"`
	Labels []string `json:"labels"` // levels, or bins such as "[20, 30)"
	Parts  []Part   `json:"parts"`  // one table for each group
}

// A Part is the table of a column for one group of records.
type Part struct {
	Counts    []Value `json:"counts"`              // number of records for each label
	Shares    []Value `json:"shares"`              // share of the group's records for each label
	Mean      *Value  `json:"mean,omitempty"`      // mean of a numeric column without missing values
	SD        *Value  `json:"sd,omitempty"`        // standard deviation of these values
	Quartiles []Value `json:"quartiles,omitempty"` // with intervals that include the error due to bins
}

// missingLabel is the name of the cell of missing values.
const missingLabel = "(missing)"

// Summary returns the tables from the sums of all records' vectors, with noise of the given sd in
// each element. Intervals hold with probability level, which is below 1.
//
// For normal noise, intervals of counts, shares and means are exact. Those of ratios follow Fieller
// (Journal of the Royal Statistical Society B 16, 1954). Those of sds are approximate, for noise
// that is small compared to the number of records. Those of quartiles hold with at least the
// probability level. All are cut off at the limits of the statistic.
func (l *Layout) Summary(sums []float64, sd float64, clients int, level float64) *Summary {
	s := &Summary{Level: level, Clients: clients, NoiseSD: sd}
	z := distuv.UnitNormal.Quantile((1 + level) / 2)
	parts := make([]*estimator, 0, l.groups+1)
	if l.by != nil {
		s.By = l.by.Name
	}
	if l.groups > 1 {
		parts = append(parts, l.estimator(sums, sd, z, 0, l.groups))
	}
	for g := range l.groups {
		parts = append(parts, l.estimator(sums, sd, z, g, g+1))
	}
	for k, e := range parts {
		group := Group{Records: e.count(e.records, e.recordsVar)}
		if k > 0 {
			group.Name = l.by.label(k - 1)
		}
		s.Groups = append(s.Groups, group)
	}
	for k := range l.columns {
		c := &l.columns[k]
		out := Column{Name: c.Name, Unit: c.Unit}
		for cell := range c.cells {
			out.Labels = append(out.Labels, c.label(cell))
		}
		for _, e := range parts {
			out.Parts = append(out.Parts, e.part(k))
		}
		s.Columns = append(s.Columns, out)
	}
	return s
}

// An estimator estimates the statistics of one group of records. All tables of a group count the
// same records, so together they estimate their number.
//
// The elements of the sums have independent noise with the same variance V. The total T of a table
// with K cells estimates the number of records n, with variance KV. The mean of all totals with
// weights 1/K estimates n with variance V/Σ(1/K). The estimate of a cell c is c + (n − T)/K, where
// c − T/K is independent of n.
type estimator struct {
	*Layout
	z                   float64
	variance            float64     // V
	cells               [][]float64 // estimates of the cells, by column
	moments             [][2]float64
	records, recordsVar float64 // n and its variance
}

// estimator returns an estimator for the groups in [from, to).
func (l *Layout) estimator(sums []float64, sd, z float64, from, to int) *estimator {
	e := &estimator{Layout: l, z: z, variance: sd * sd * float64(to-from)}
	totals := make([]float64, len(l.columns))
	var weights float64
	for k := range l.columns {
		c := &l.columns[k]
		cells, moments := make([]float64, c.cells), [2]float64{}
		for g := from; g < to; g++ {
			own := sums[c.first+g*c.width():][:c.width()]
			for i := range cells {
				cells[i] += own[i]
				totals[k] += own[i]
			}
			for i, x := range own[c.cells:] {
				moments[i] += x / moment
			}
		}
		weight := 1 / float64(c.cells)
		weights += weight
		e.records += weight * totals[k]
		e.cells, e.moments = append(e.cells, cells), append(e.moments, moments)
	}
	e.records /= weights
	e.recordsVar = e.variance / weights
	for k, cells := range e.cells {
		for i := range cells {
			cells[i] += (e.records - totals[k]) / float64(len(cells))
		}
	}
	return e
}

// sum adds up cells, out of the total cells of a column. It also returns the variance of the sum's
// noise, and its covariance with the noise of the number of records.
func (e *estimator) sum(cells []float64, total int) (sum, variance, covariance float64) {
	for _, x := range cells {
		sum += x
	}
	share := float64(len(cells)) / float64(total)
	return sum, e.variance*float64(len(cells))*(1-share) + share*share*e.recordsVar, share * e.recordsVar
}

// count returns a Value for an estimate x of a number of records, with the variance of its noise.
func (e *estimator) count(x, variance float64) Value {
	d := e.z * math.Sqrt(variance)
	return Value{Estimate: x, Low: x - d, High: x + d}.within(0, math.Inf(1))
}

// within moves the estimate and both ends of its interval into [low, high].
func (v Value) within(low, high float64) Value {
	in := func(x float64) float64 { return min(max(x, low), high) }
	return Value{in(v.Estimate), in(v.Low), in(v.High), v.IntervalOnly}
}

// ratio returns x/n with Fieller's interval: all r for which x − r·n is at most z of its own sds
// away from 0. xVar and nVar are variances of noise. If n may be 0, the interval is [low, 1].
func (e *estimator) ratio(x, xVar, n, nVar, covariance, low float64) Value {
	zz := e.z * e.z
	a, b, c := n*n-zz*nVar, x*n-zz*covariance, x*x-zz*xVar
	root := b*b - a*c
	if n <= 0 || a <= 0 || root < 0 {
		v := Value{Estimate: (low + 1) / 2, Low: low, High: 1, IntervalOnly: n <= 0}
		if n > 0 {
			v.Estimate = min(max(x/n, low), 1)
		}
		return v
	}
	root = math.Sqrt(root)
	return Value{Estimate: x / n, Low: (b - root) / a, High: (b + root) / a}.within(low, 1)
}

// part returns the counts and shares of column k for the group and, for a numeric column, the mean,
// the sd and the quartiles.
func (e *estimator) part(k int) Part {
	c, cells := &e.columns[k], e.cells[k]
	var p Part
	for i := range cells {
		x, variance, covariance := e.sum(cells[i:i+1], len(cells))
		p.Counts = append(p.Counts, e.count(x, variance))
		p.Shares = append(p.Shares, e.ratio(x, variance, e.records, e.recordsVar, covariance, 0))
	}
	if c.edges == nil {
		return p
	}
	known, knownVar, _ := e.sum(cells[:len(c.edges)-1], len(cells))
	mean, sd := e.mean(c, e.moments[k], known, knownVar), e.sd(c, e.moments[k], known, knownVar)
	p.Mean, p.SD = &mean, &sd
	for _, share := range []float64{.25, .5, .75} {
		p.Quartiles = append(p.Quartiles, e.quantile(c, cells, share))
	}
	return p
}

// mean returns the mean of a numeric column from the sums in moments. n estimates the number of
// values, with variance nVar and independent noise.
func (e *estimator) mean(c *column, moments [2]float64, n, nVar float64) Value {
	v := e.ratio(moments[0], e.momentVar(), n, nVar, 0, -1)
	at := func(x float64) float64 { return c.middle() + c.half()*x }
	return Value{at(v.Estimate), at(v.Low), at(v.High), v.IntervalOnly}
}

func (e *estimator) momentVar() float64 { return e.variance / (moment * moment) }

// leastKnown limits the sd of a column: fewer records than leastKnown times the sd of their noise
// give no estimate, because noise would dominate it.
const leastKnown = 8

func (e *estimator) sd(c *column, moments [2]float64, n, nVar float64) Value {
	v := e.spread(moments, n, nVar, e.momentVar(), e.momentVar())
	return Value{c.half() * v.Estimate, c.half() * v.Low, c.half() * v.High, v.IntervalOnly}
}

// spread estimates the sd of n values v in [−1, 1]. moments holds S, the sum of v, and U, the sum
// of 2v² − 1, with noise of variance sVar and uVar. With m = S/n and u = U/n, the variance of v is
// (u+1)/2 − m². An estimate that is not positive shows only that the sd is small.
func (e *estimator) spread(moments [2]float64, n, nVar, sVar, uVar float64) Value {
	if n < leastKnown*math.Sqrt(nVar) {
		return Value{Estimate: 0.5, High: 1, IntervalOnly: true}
	}
	m, u := moments[0]/n, moments[1]/n
	inN := u/2 - 2*m*m
	meanVar := (sVar + m*m*nVar) / (n * n)
	variance := (u+1)/2 - m*m + meanVar
	spread := e.z * math.Sqrt((uVar/4+4*m*m*sVar+inN*inN*nVar)/(n*n)+2*meanVar*meanVar)
	v := Value{Estimate: variance, Low: variance - spread, High: variance + spread, IntervalOnly: variance <= 0}.within(0, 1)
	v.Estimate, v.Low, v.High = math.Sqrt(v.Estimate), math.Sqrt(v.Low), math.Sqrt(v.High)
	return v
}

// quantile returns a quantile of a column's values, with an interval between two edges of bins. An
// edge is surely low if the share of values below it is less than share by more than noise can
// explain. The lower end is the last edge such that it and all edges below it are surely low. It is
// too high only if noise makes the first edge above the true quantile surely low. The upper end is
// found in the same way.
func (e *estimator) quantile(c *column, cells []float64, share float64) Value {
	bins := len(c.edges) - 1
	low, high, at := 0, bins, c.edges[bins]
	found, sure, total := false, true, 0.0
	for k := 1; k < bins; k++ {
		excess, sd := e.excess(cells, k, bins, share)
		if sure = sure && excess < -e.z*sd; sure {
			low = k
		}
	}
	for k := bins - 1; k > 0; k-- {
		if excess, sd := e.excess(cells, k, bins, share); excess <= e.z*sd {
			break
		}
		high = k
	}
	// Interpolate between edges. Negative cells count as empty.
	for _, x := range cells[:bins] {
		total += max(x, 0)
	}
	rest := share * total
	for k := range bins {
		x := max(cells[k], 0)
		if !found && x > 0 && rest <= x {
			at, found = c.edges[k]+(c.edges[k+1]-c.edges[k])*rest/x, true
		}
		rest -= x
	}
	return Value{Estimate: at, Low: min(c.edges[low], at), High: max(c.edges[max(high, low)], at)}
}

// excess compares the number of values in the first k bins with the given share of the values in
// all bins. It returns the difference and the sd of its noise.
func (e *estimator) excess(cells []float64, k, bins int, share float64) (excess, sd float64) {
	var variance, inRecords float64
	for i, x := range cells {
		weight := 0.0
		switch {
		case i < k:
			weight = 1 - share
		case i < bins:
			weight = -share
		}
		excess += weight * x
		variance += weight * weight
		inRecords += weight / float64(len(cells))
	}
	// An estimated cell is c + (n − T)/K, where c is the released cell, T the total of the K cells,
	// and n the number of records. The weighted sum of the cells is therefore Σ w·(c − T/K) + w̄·n,
	// where w̄ is the mean weight. The first term has the variance V·(Σw² − K·w̄²), where V is the
	// variance of the noise of a cell. The second has the variance w̄²·Var(n).
	variance = e.variance*(variance-float64(len(cells))*inRecords*inRecords) + inRecords*inRecords*e.recordsVar
	return excess, math.Sqrt(max(variance, 0))
}

func (c *column) label(cell int) string {
	switch {
	case cell == c.missing:
		return missingLabel
	case c.edges == nil:
		return c.Levels[cell]
	}
	end := ")"
	if cell == len(c.edges)-2 {
		end = "]"
	}
	return "[" + number(c.edges[cell]) + ", " + number(c.edges[cell+1]) + end
}

// number writes an edge with four digits.
func number(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil || math.Abs(rounded) >= 1e9 {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
