package formulas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Formula is a regression formula in the bank, with a sampler that draws true parameters and the
// outcomes of records. The sampler is written by hand, so that it does not share errors with the
// formula's program.
type Formula struct {
	Name, Text, Family string
	columns            []formulaColumn // columns of the outcome; the covariates follow them
	// draw draws the true parameters and stores them in d.truth. It returns a function that draws
	// the outcome columns of one record, given the record's covariates. Levels are numbered from 0.
	draw func(d *drawer) func(c covariates) []float64
}

// A formulaColumn is a column of the study. Without levels, it is a number between low and high.
type formulaColumn struct {
	name      string
	low, high float64
	levels    []string
	keys      string // more lines about a numeric column, for the study file
}

// covariates are the values of a record in all columns except the outcome. They are drawn
// independently.
type covariates struct {
	x, z            float64 // normal, clamped to ±3
	arm, site, ward int     // have 3, 10 and 3 levels
}

const arms, sites, wards = 3, 10, 3

var covariateColumns = []formulaColumn{
	{name: "x", low: -3, high: 3, keys: "centre = 0\nspread = 1\n"},
	{name: "z", low: -3, high: 3, keys: "centre = 0\nspread = 1\n"},
	{name: "arm", levels: named("a", arms)},
	{name: "site", levels: named("s", sites)},
	{name: "ward", levels: named("w", wards)},
}

func named(prefix string, n int) (levels []string) {
	for i := range n {
		levels = append(levels, fmt.Sprint(prefix, i+1))
	}
	return levels
}

// A drawer draws the true parameters of a formula and stores them in truth. Its methods take the
// name of the parameter in the formula's program.
type drawer struct {
	*rand.Rand
	truth map[string]float64 // by name of the unconstrained coordinate
}

func (d *drawer) normal(name string, mean, sd float64) float64 {
	x := mean + sd*d.NormFloat64()
	d.truth[name] = x
	return x
}

// positive draws a positive parameter from a lognormal distribution. median is the median, and sd
// is the sd of the logarithm. truth gets the logarithm, which is the unconstrained coordinate.
func (d *drawer) positive(name string, median, sd float64) float64 {
	return math.Exp(d.normal(name, math.Log(median), sd))
}

// share draws a probability between 0.1 and high. Its coordinate is its log odds.
func (d *drawer) share(name string, high float64) float64 {
	p := 0.1 + (high-0.1)*d.Float64()
	d.truth["logit "+name] = math.Log(p / (1 - p))
	return p
}

// spread draws the sd of group effects from a half-normal distribution.
func (d *drawer) spread(name string, scale float64) float64 {
	s := scale * math.Abs(d.NormFloat64())
	d.truth[name] = math.Log(s)
	return s
}

func (d *drawer) effects(name string, n int, spread float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = d.normal(fmt.Sprintf("%s[%d]", name, i+1), 0, spread)
	}
	return out
}

// arm draws the coefficients of the levels of the column arm. The first level is the reference, so
// its coefficient is 0.
func (d *drawer) arm(sd float64) []float64 {
	return []float64{0, d.normal("b_arm_a2", 0, sd), d.normal("b_arm_a3", 0, sd)}
}

func (d *drawer) bernoulli(p float64) float64 {
	if d.Float64() < p {
		return 1
	}
	return 0
}

func (d *drawer) poisson(mean float64) float64 {
	return distuv.Poisson{Lambda: max(mean, 1e-12), Src: d}.Rand()
}

// gamma draws a number from the gamma distribution with the given shape and mean.
func (d *drawer) gamma(shape, mean float64) float64 {
	return distuv.Gamma{Alpha: shape, Beta: shape / mean, Src: d}.Rand()
}

// count draws a count with the variance mean + mean²/shape.
func (d *drawer) count(mean, shape float64) float64 { return d.poisson(d.gamma(shape, mean)) }

func (d *drawer) beta(mean, size float64) float64 {
	return distuv.Beta{Alpha: mean * size, Beta: (1 - mean) * size, Src: d}.Rand()
}

func (d *drawer) binomial(n, p float64) (hits float64) {
	for range int(n) {
		hits += d.bernoulli(p)
	}
	return hits
}

// student draws a number from Student's t distribution.
func (d *drawer) student(nu float64) float64 {
	return d.NormFloat64() / math.Sqrt(distuv.ChiSquared{K: nu, Src: d}.Rand()/nu)
}

// above calls y until the result is above least, and returns this result.
func above(least float64, y func() float64) float64 {
	for range 10_000 {
		if x := y(); x > least {
			return x
		}
	}
	return least + 1 // the mean is so small that no draw was above least
}

// grade returns the level of an ordered outcome, which is the number of cut points below the latent
// number.
func grade(latent float64, cuts []float64) (level float64) {
	for _, c := range cuts {
		if latent > c {
			level++
		}
	}
	return level
}

// cuts draws n cut points in increasing order. The unconstrained coordinates are the first cut
// point and the logarithms of the distances between neighbours.
func (d *drawer) cuts(first float64, n int) []float64 {
	out := []float64{d.normal("Intercept[1]", first, 0.3)}
	for i := 1; i < n; i++ {
		out = append(out, out[i-1]+d.positive(fmt.Sprintf("step Intercept[%d]", i+1), 1, 0.3))
	}
	return out
}

func (d *drawer) logistic() float64 {
	u := clamp(d.Float64(), 1e-12, 1-1e-12)
	return math.Log(u / (1 - u))
}

// Study returns a study file whose model is the formula. head has all sections except the columns
// and the model.
func (f Formula) Study(head string) string {
	var b strings.Builder
	b.WriteString(head)
	for _, c := range f.all() {
		fmt.Fprintf(&b, "[[column]]\nname = %q\n", c.name)
		if len(c.levels) > 0 {
			fmt.Fprintf(&b, "type = \"categorical\"\nlevels = [\"%s\"]\n", strings.Join(c.levels, `", "`))
			continue
		}
		fmt.Fprintf(&b, "type = \"numeric\"\nbounds = [%g, %g]\noutside = \"clamp\"\n%s", c.low, c.high, c.keys)
	}
	fmt.Fprintf(&b, "[model]\nformula = '%s'\nfamily = %q\n", f.Text, f.Family)
	return b.String()
}

func (f Formula) all() []formulaColumn {
	return slices.Concat(f.columns, covariateColumns)
}

// Drawn draws the true parameters and n records. truth has the true value of each unconstrained
// coordinate by name.
func (f Formula) Drawn(n int, seed uint64) (truth map[string]float64, records [][]float64) {
	d := &drawer{rand.New(rand.NewPCG(seed, 30)), map[string]float64{}}
	outcome := f.draw(d)
	all := f.all()
	for range n {
		c := covariates{clamp(d.NormFloat64(), -3, 3), clamp(d.NormFloat64(), -3, 3), d.IntN(arms), d.IntN(sites), d.IntN(wards)}
		row := append(outcome(c), c.x, c.z, float64(c.arm), float64(c.site), float64(c.ward))
		for j, column := range all {
			if column.levels == nil {
				row[j] = clamp(row[j], column.low, column.high)
			}
		}
		records = append(records, row)
	}
	return d.truth, records
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func clamp(x, low, high float64) float64 { return min(max(x, low), high) }
