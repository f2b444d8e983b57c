package truth

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/pvi"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// A model describes how a cell's outcomes are drawn, and which regression is fitted to them.
type model struct {
	family study.Family
	keys   string       // additional keys in [model]
	drawn  study.Family // family from which outcomes are drawn, if it differs from the fitted family
	// keys of the outcome's column; empty for a number with the bounds [−bound, bound] or [0,
	// bound]
	outcome    string
	bound      float64
	effect     float64 // prior sd of the effect on the predictor when a column changes by one sd
	intercept  float64 // prior sd of the intercept
	rare       float64 // prior mean of the intercept if an outcome is rare; 0 if no outcome is
	predictors int
}

const (
	yesNo   = "type = \"categorical\"\nlevels = [\"no\", \"yes\"]\n"
	classes = "type = \"categorical\"\nlevels = [\"a\", \"b\", \"c\"]\n"
	yes     = "positive = \"yes\"\n"
)

// models has one model for each level of the property "family". In a logistic regression with many
// columns, the priors give the predictor an sd of about 1.5. A rare outcome has a probability or a
// mean of 1 %.
var models = map[string]model{
	"linear":                    {family: study.Linear, keys: "noise_sd = 1.0\n", bound: 8, effect: .4, intercept: 1, predictors: 1},
	"linear-learned":            {family: study.Linear, keys: "noise_sd = \"learned\"\n", bound: 12, effect: .4, intercept: 1, predictors: 1},
	"robust":                    {family: study.Robust, bound: 20, effect: .4, intercept: 1, predictors: 1},
	"logistic":                  {family: study.Logistic, keys: yes, outcome: yesNo, effect: .4, intercept: 1, rare: -4.6, predictors: 1},
	"probit":                    {family: study.Probit, keys: yes, outcome: yesNo, effect: .25, intercept: .6, rare: -2.33, predictors: 1},
	"softmax":                   {family: study.Softmax, outcome: classes, effect: .4, intercept: 1, rare: -4.6, predictors: 2},
	"poisson":                   {family: study.Poisson, bound: 200, effect: .2, intercept: .7, rare: -4.6, predictors: 1},
	"poisson-overdispersed":     {family: study.Poisson, drawn: study.NegativeBinomial, bound: 200, effect: .2, intercept: .7, rare: -4.6, predictors: 1},
	"negative-binomial":         {family: study.NegativeBinomial, bound: 200, effect: .2, intercept: .7, rare: -4.6, predictors: 1},
	"negative-binomial-poisson": {family: study.NegativeBinomial, drawn: study.Poisson, bound: 200, effect: .2, intercept: .7, rare: -4.6, predictors: 1},
}

func (c *Cell) model() model { return models[c.Family] }

func (m model) measured() bool { return m.family == study.Linear || m.family == study.Robust }

// A layout describes the columns of a cell with made-up records.
type layout struct {
	Cell
	numbers []number // numeric regressors
	levels  int      // number of levels of the categorical regressor; 0 if there is none
	bound   float64  // bound of the outcome, if it is a number
	half    float64  // length, in the outcome's unit, that equals 1 on the model's scale
}

// A number is a numeric column with values unit·(z + shift). z has mean 0 and variance 1 and stays
// within ±half.
type number struct{ unit, shift, half float64 }

// These constants describe columns.
const (
	wider   = 10  // how many times wider bounds are than the range of the values
	normal  = 3   // half of the range of a normal column, in sds
	heavy   = 12  // half of the range of a column with Student's t distribution, in sds
	freedom = 3   // degrees of freedom of Student's t distribution
	shared  = .95 // correlation of two columns in cells with correlated columns
	spread  = .5  // sd of the differences between the coefficients of heterogeneous clients, in prior sds
	// noise multiplier of cells with almost no noise; a study with a hundred noise shares hardly
	// allows less
	noiseOff  = 1e-2
	heldOut   = 500 // number of held-out records
	heavyMost = 20  // minimum bound of a continuous outcome if columns have Student's t distribution
)

// rawUnits are the units of columns that the study does not scale.
var rawUnits = []float64{1, 0.01, 100, 1000}

func (c *Cell) layout() *layout {
	m := c.model()
	p := &layout{Cell: *c, bound: m.bound, half: 1}
	columns, half := c.Coefficients-1, float64(normal)
	switch c.Columns {
	case "heavy":
		half = heavy
		if m.measured() {
			p.bound = max(p.bound, heavyMost)
		}
	case "levels":
		p.levels = (columns+1)/2 + 1
		columns -= p.levels - 1
	}
	if c.Groups > 0 {
		p.levels = c.Groups
	}
	if c.Bounds == "wide" {
		half *= wider
		p.bound *= wider
	}
	if c.Scale == "scaled" && m.measured() {
		p.half = p.bound
	}
	for j := range columns {
		n := number{unit: 1, half: half}
		if c.Scale == "raw" {
			n.unit = rawUnits[j%len(rawUnits)]
			if c.Columns != "rare" { // without this, the shift of many columns would make the outcome common
				n.shift = 1
			}
		}
		p.numbers = append(p.numbers, n)
	}
	return p
}

// study returns the study of the cell. family is the family of the fitted model, or the one from
// which records are drawn.
func (p *layout) study(family study.Family, overrides ...study.Override) (*study.Study, error) {
	m := p.model()
	var columns, terms, priors strings.Builder
	effect := m.effect * min(1, math.Sqrt(10/float64(p.Coefficients))) / p.half
	for j, n := range p.numbers {
		fmt.Fprintf(&columns, "[[column]]\nname = \"x%d\"\ntype = \"numeric\"\nbounds = [%v, %v]\n", j, n.unit*(n.shift-n.half), n.unit*(n.shift+n.half))
		fmt.Fprintf(&terms, "\"x%d\", ", j)
		sd := effect / n.unit
		if p.Scale == "scaled" {
			sd = effect * n.half
		}
		fmt.Fprintf(&priors, "x%d = { sd = %v }\n", j, sd)
	}
	if p.levels > 0 {
		columns.WriteString("[[column]]\nname = \"g\"\ntype = \"categorical\"\nlevels = [\"l0\"")
		for l := 1; l < p.levels; l++ {
			fmt.Fprintf(&columns, ", \"l%d\"", l)
			if p.Groups == 0 {
				fmt.Fprintf(&priors, "\"g[l%d]\" = { sd = %v }\n", l, 2*effect)
			}
		}
		columns.WriteString("]\n")
		if p.Groups == 0 {
			terms.WriteString(`"g"`)
		}
	}
	columns.WriteString("[[column]]\nname = \"y\"\n")
	switch {
	case m.outcome != "":
		columns.WriteString(m.outcome)
	case m.measured():
		fmt.Fprintf(&columns, "type = \"numeric\"\nbounds = [%v, %v]\n", -p.bound, p.bound)
	default:
		fmt.Fprintf(&columns, "type = \"numeric\"\nbounds = [0, %v]\n", p.bound)
	}
	mean, sd := 0.0, m.intercept/p.half
	if p.Columns == "rare" {
		mean, sd = m.rare, .3*sd
	}
	fmt.Fprintf(&priors, "%s = { mean = %v, sd = %v }\n", study.Intercept, mean, sd)
	switch {
	case family == study.NegativeBinomial:
		priors.WriteString("[prior.dispersion]\nmedian = 2.0\nfactor = 1.5\n")
	case m.measured() && p.Family != "linear":
		fmt.Fprintf(&priors, "[prior.scale]\nmedian = %v\nfactor = 1.5\n", 1/p.half)
	}
	groups, spread := "", ""
	if p.Groups > 0 && p.Spread == "prior" { // without these keys, the study has the default prior
		spread = fmt.Sprintf("spread = %v\n", m.intercept/p.half)
	}
	switch p.Varies {
	case "intercepts":
		groups = "groups = [\"g\"]\n"
	case "slopes":
		groups = "groups = [\"1 + x0 | g\"]\n"
	}
	standardise, budget := "none", fmt.Sprintf("epsilon = %v", p.Epsilon)
	if p.Scale == "scaled" {
		standardise = "bounds"
	}
	if p.Epsilon == 0 {
		budget = fmt.Sprintf("noise_multiplier = %v", noiseOff)
	}
	return study.Parse("cell.toml", fmt.Appendf(nil, `[study]
version = 2
name = "cell"
[model]
family = %q
%soutcome = "y"
terms = [%s]
%sstandardise = %q
[privacy]
unit = %q
%s
delta = %v
[federation]
nominal_records = %d
colluders = 0
%s[prior]
%s[prior.coefficients]
%s`, family, m.keys, terms.String(), groups, standardise, p.Unit, budget, min(1e-5, .2/float64(p.Records)), max(1, p.Records/p.Clients), columns.String(), spread, priors.String()), overrides...)
}

// A world is the study of a cell with records.
type world struct {
	study   *study.Study
	holders []sim.Holder
	test    *shard.Records // held out
	half    float64        // length in the predictor's unit that equals 1 on the model's scale

	// truth has the coordinates of the θ from which all records were drawn, and NaN for unknown
	// coordinates. It is nil if the records were drawn from several values of θ.
	truth []float64

	// between has the variance of each coordinate of θ between clients. It is nil if all clients
	// have the same θ.
	between []float64
}

// world returns the study of the cell and its records, which depend only on seed. It draws the true
// θ from the prior, and the records from the model at this θ. overrides change settings of the
// study.
func (c *Cell) world(seed uint64, overrides ...study.Override) (*world, error) {
	r := rand.New(rand.NewPCG(seed, uint64(c.Number)))
	if k, ok := c.kind(); ok {
		return k.world(c, r, overrides...)
	}
	if c.Set != "" {
		return c.open(r.Uint64(), overrides...)
	}
	p := c.layout()
	m := c.model()
	fitted, err := p.study(m.family, overrides...)
	if err != nil {
		return nil, err
	}
	drawn := fitted
	if m.drawn != "" {
		if drawn, err = p.study(m.drawn); err != nil {
			return nil, err
		}
	}
	from, err := fit.New(drawn)
	if err != nil {
		return nil, err
	}
	w := &world{study: fitted, test: new(shard.Records), half: p.half}
	truth, err := sim.DrawTruth(from, r)
	if err != nil {
		return nil, err
	}
	if c.Spread == "none" {
		for _, e := range from.Effects() {
			truth[e.Spread] = 0
			clear(truth[e.First : e.First+e.Levels])
		}
	}
	all := new(shard.Records)
	sizes := c.sizes()
	for m := range sizes {
		theta := slices.Clone(truth)
		if c.Split == "heterogeneous" {
			for i := range from.Width() * from.Locations() {
				theta[i] += spread * from.Parameters.Prior(i).SD * r.NormFloat64()
			}
		}
		p.draw(all, sizes[m], from, theta, r)
		p.draw(w.test, (m+1)*heldOut/len(sizes)-m*heldOut/len(sizes), from, theta, r)
	}
	if c.Split == "heterogeneous" {
		w.between = make([]float64, from.Dim())
		for i := range from.Width() * from.Locations() {
			sd := spread * from.Parameters.Prior(i).SD
			w.between[i] = sd * sd
		}
	}
	order := r.Perm(all.Len())
	switch c.Split {
	case "heterogeneous":
		slices.Sort(order)
	case "labels":
		sortHalf(all, order)
	case "groups":
		at := fitted.ColumnIndex("g")
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all.Row(a)[at], all.Row(b)[at]) })
	}
	for m, n := range sizes {
		w.holders = append(w.holders, sim.Holder{ID: pvi.ClientID(fmt.Sprintf("client-%03d", m+1)), Records: all.Select(order[:n])})
		order = order[n:]
	}
	return w, w.takeTruth(c, truth)
}

// takeTruth sets w.truth, the true values of the coordinates of the fitted model. Coordinates that
// have no true value, such as the dispersion of overdispersed counts, are NaN. If clients have
// different coefficients and the privacy unit is the client, the true values are the means over the
// population of clients. With other units, takeTruth then sets nothing, because the pooled records
// have no common coefficients.
func (w *world) takeTruth(c *Cell, truth []float64) error {
	if c.Split == "heterogeneous" && c.Unit == study.Record {
		return nil
	}
	m, err := fit.New(w.study)
	if err != nil {
		return err
	}
	for len(truth) < m.Dim() {
		truth = append(truth, math.NaN())
	}
	w.truth = truth[:m.Dim()]
	if w.between != nil {
		w.between = append(w.between, make([]float64, m.Dim())...)[:m.Dim()]
	}
	return nil
}

func (c *Cell) sizes() []int {
	sizes := make([]int, c.Clients)
	first, rest := 0, c.Records
	if c.Split == "one-large" {
		first, rest = 1, max(c.Records/10, c.Clients-1)
		sizes[0] = c.Records - rest
	}
	for m := first; m < c.Clients; m++ {
		others := c.Clients - first
		sizes[m] = (m-first+1)*rest/others - (m-first)*rest/others
	}
	return sizes
}

// sortHalf makes neighbouring records similar: it sorts every second record by outcome.
func sortHalf(records *shard.Records, order []int) {
	var half []int
	for i := 0; i < len(order); i += 2 {
		half = append(half, order[i])
	}
	slices.SortStableFunc(half, func(a, b int) int {
		x, y := records.Row(a), records.Row(b)
		return int(math.Copysign(1, x[len(x)-1]-y[len(y)-1])) * count(x[len(x)-1] != y[len(y)-1])
	})
	for i, row := range half {
		order[2*i] = row
	}
}

func (p *layout) draw(records *shard.Records, n int, m *fit.Model, theta []float64, r *rand.Rand) {
	fresh := new(shard.Records)
	row := make([]float64, len(m.Study.Columns))
	for range n {
		common, wide := r.NormFloat64(), 1.0
		if p.Columns == "heavy" {
			wide = math.Sqrt((freedom - 2) / distuv.ChiSquared{K: freedom, Src: r}.Rand())
		}
		for j, number := range p.numbers {
			z := r.NormFloat64() * wide
			if p.Columns == "correlated" {
				z = math.Sqrt(shared)*common + math.Sqrt(1-shared)*z
			}
			row[j] = number.unit * (number.shift + min(max(z, -number.half), number.half))
		}
		if p.levels > 0 {
			row[len(p.numbers)] = float64(zipf(p.levels, r))
		}
		fresh.Append(row)
	}
	sim.DrawOutcomes(m, fresh, theta, r)
	records.AppendAll(fresh)
}

// zipf draws a level k from 0 to n−1. Its probability is proportional to 1/(k + 1).
func zipf(n int, r *rand.Rand) int {
	var total float64
	for k := range n {
		total += 1 / float64(k+1)
	}
	u := r.Float64() * total
	for k := range n - 1 {
		if u -= 1 / float64(k+1); u < 0 {
			return k
		}
	}
	return n - 1
}
