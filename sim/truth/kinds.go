package truth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// A kind is a kind of records that users have, with a study as they write it: public bounds, and no
// priors. Effects do not follow the default priors, and the outcomes of some kinds do not follow
// the fitted model. So these cells test the default priors too, unlike the cells of the designs.
type kind struct {
	name       string
	model      string // keys of [model] without the outcome and the terms
	outcome    string // keys of the outcome's column
	regressors []regressor
	intercept  float64
	draw       func(r *rand.Rand, eta float64, row []float64) float64 // draws an outcome; row has the regressors
}

// A regressor is a column with the effect of one unit of it, or of its second level.
type regressor struct {
	column string // keys of the column
	draw   func(r *rand.Rand) float64
	effect float64
}

// kindCells has the cells of every kind, without its name.
var kindCells = []Cell{
	{Records: 800, Clients: 5, Epsilon: .5, Unit: study.Record},
	{Records: 800, Clients: 5, Epsilon: 2, Unit: study.Record},
	{Records: 6000, Clients: 5, Epsilon: .5, Unit: study.Record},
	{Records: 6000, Clients: 5, Epsilon: 2, Unit: study.Record},
	{Records: 6000, Clients: 50, Epsilon: 2, Unit: study.Client},
	{Records: 6000, Clients: 50, Epsilon: 8, Unit: study.Client},
}

// within returns a regressor with values in [low, high]; values beyond the bounds count as the
// nearest bound.
func within(low, high float64, draw func(*rand.Rand) float64, effect float64) regressor {
	return regressor{fmt.Sprintf("type = \"numeric\"\nbounds = [%v, %v]", low, high), func(r *rand.Rand) float64 { return min(max(draw(r), low), high) }, effect}
}

// normals returns regressors that are normal within four sds, with the given effects.
func normals(effects ...float64) (all []regressor) {
	for _, e := range effects {
		all = append(all, within(-4, 4, normally(0, 1), e))
	}
	return all
}

func normally(mean, sd float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return mean + sd*r.NormFloat64() }
}

// logNormally draws a number whose logarithm has the given mean and sd.
func logNormally(mean, sd float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return math.Exp(mean + sd*r.NormFloat64()) }
}

// binary returns a categorical regressor whose second level has the probability p.
func binary(p, effect float64) regressor {
	return regressor{yesNo, func(r *rand.Rand) float64 { return float64(count(r.Float64() < p)) }, effect}
}

// mostlyZero returns a regressor that is 0 in nine of ten records.
func mostlyZero(effect float64) regressor {
	return within(0, 30, func(r *rand.Rand) float64 { return 3 * r.ExpFloat64() * float64(count(r.Float64() < .1)) }, effect)
}

func logisticOutcome(r *rand.Rand, eta float64, _ []float64) float64 {
	return float64(count(r.Float64() < 1/(1+math.Exp(-eta))))
}

func poissonOutcome(r *rand.Rand, eta float64, _ []float64) float64 {
	return distuv.Poisson{Lambda: math.Exp(eta), Src: r}.Rand()
}

// negativeBinomialOutcome draws a count with the given size: the inverse of the variance of the
// rate relative to its squared mean.
func negativeBinomialOutcome(size float64) func(*rand.Rand, float64, []float64) float64 {
	return func(r *rand.Rand, eta float64, row []float64) float64 {
		return poissonOutcome(r, eta+math.Log(distuv.Gamma{Alpha: size, Beta: size, Src: r}.Rand()), row)
	}
}

// studentOutcome draws an outcome whose deviation from η has a Student t distribution.
func studentOutcome(scale, freedom float64) func(*rand.Rand, float64, []float64) float64 {
	return func(r *rand.Rand, eta float64, _ []float64) float64 {
		return distuv.StudentsT{Mu: eta, Sigma: scale, Nu: freedom, Src: r}.Rand()
	}
}

const (
	logisticModel = "family = \"logistic\"\npositive = \"yes\"\n"
	learnedNoise  = "family = \"linear\"\nnoise_sd = \"learned\"\n"
	visits        = "type = \"numeric\"\nbounds = [0, 200]"
	pressure      = "type = \"numeric\"\nbounds = [60, 220]"
)

// patients are age, sex and the number of chronic illnesses, with effects on log rates.
var patients = []regressor{
	within(18, 100, func(r *rand.Rand) float64 { return 20 + 70*r.Float64() }, .02),
	binary(.5, .3),
	within(0, 15, func(r *rand.Rand) float64 { return distuv.Poisson{Lambda: 1.5, Src: r}.Rand() }, .25),
}

var kinds = []kind{
	{"binary-columns", logisticModel, yesNo, []regressor{binary(.5, .8), binary(.3, -.6), binary(.1, 1), binary(.05, -.9), binary(.02, .7), binary(.8, .2), binary(.95, -.4), binary(.5, 0)}, -.5, logisticOutcome},
	{"skewed-columns", logisticModel, yesNo, []regressor{
		within(0, 5e5, logNormally(10.3, .8), 2e-5), within(0, 2e6, logNormally(11, 1.5), 2e-6),
		within(18, 100, func(r *rand.Rand) float64 { return distuv.Gamma{Alpha: 8, Beta: 1. / 6, Src: r}.Rand() }, .03), within(10, 60, normally(26, 4.5), -.05),
	}, -1.6, logisticOutcome},
	{"mostly-zero", logisticModel, yesNo, []regressor{mostlyZero(.15), mostlyZero(-.1), mostlyZero(.3), mostlyZero(0), mostlyZero(.2), mostlyZero(-.2)}, -1, logisticOutcome},
	{"large-effects", logisticModel, yesNo, normals(2, -1.5, 1, 0, 0), 1, logisticOutcome},
	{"five-percent", logisticModel, yesNo, normals(.8, -.5, .3, 0), -3, logisticOutcome},
	{"constant-column", logisticModel, yesNo, []regressor{within(0, 10, normally(3, 0), 0), within(0, 10, normally(5, 1), .5)}, -2.5, logisticOutcome},
	{"laboratory", logisticModel, yesNo, []regressor{within(60, 160, normally(100, 5), .1), within(6.8, 7.8, normally(7.4, .05), -10), within(100, 180, normally(140, 4), .1)}, 50, logisticOutcome},
	{"25-columns", logisticModel, yesNo, normals(.4, -.3, .2, .1, 0, .4, -.3, .2, .1, 0, .4, -.3, .2, .1, 0, .4, -.3, .2, .1, 0, .4, -.3, .2, .1, 0), 0, logisticOutcome},
	{"visits", "family = \"poisson\"\n", visits, patients, -2, poissonOutcome},
	{"overdispersed-visits", "family = \"negative-binomial\"\n", visits, patients, -.5, negativeBinomialOutcome(.8)},
	{"visits-with-zeros", "family = \"negative-binomial\"\n", visits, normals(.4, -.3, .2, 0), .7, func(r *rand.Rand, eta float64, row []float64) float64 {
		return poissonOutcome(r, eta, row) * float64(count(r.Float64() < .6))
	}},
	{"pressure", learnedNoise, pressure, []regressor{within(0, 100, normally(50, 10), .8), within(0, 100, normally(50, 10), -.4), within(0, 100, normally(50, 10), .2), binary(.4, 5)}, 90, studentOutcome(10, 100)},
	{"outliers", learnedNoise, pressure, normals(8, -4, 2, 0), 120, studentOutcome(8, 2.5)},
	{"unequal-noise", learnedNoise, pressure, normals(5, 3, -2, 0), 120, func(r *rand.Rand, eta float64, row []float64) float64 {
		return eta + (5+3*math.Abs(row[0]))*r.NormFloat64()
	}},
	{"small-noise", learnedNoise, pressure, normals(8, -4, 2, 0), 120, studentOutcome(1, 100)},
	{"heavy-tails", "family = \"robust\"\n", pressure, normals(8, -4, 2, 0), 120, studentOutcome(6, 3)},
}

// ofKinds returns the cells of all kinds. A kind with many columns has none in which clients are
// protected.
func ofKinds() (cells []Cell) {
	for _, k := range kinds {
		for _, c := range kindCells {
			if c.Unit == study.Client && len(k.regressors) >= mostOfClient {
				continue
			}
			c.Set, c.Split = k.name, "balanced"
			cells = append(cells, c)
		}
	}
	return cells
}

// kind returns the kind with the name c.Set, if there is one.
func (c *Cell) kind() (k kind, ok bool) {
	for _, k := range kinds {
		if k.name == c.Set {
			return k, true
		}
	}
	return kind{}, false
}

// world returns the study of the kind with drawn records.
func (k *kind) world(c *Cell, r *rand.Rand, overrides ...study.Override) (*world, error) {
	var columns, terms strings.Builder
	for j, x := range k.regressors {
		fmt.Fprintf(&columns, "[[column]]\nname = \"x%d\"\n%s\n", j, x.column)
		fmt.Fprintf(&terms, "\"x%d\", ", j)
	}
	st, err := study.Parse("cell.toml", fmt.Appendf(nil, `[study]
version = %d
name = "cell"
%s[[column]]
name = "y"
%s
[model]
%soutcome = "y"
terms = [%s]
[privacy]
unit = %q
epsilon = %v
delta = 1e-5
[federation]
nominal_records = %d
`, study.Version, columns.String(), k.outcome, k.model, terms.String(), c.Unit, c.Epsilon, c.Records/c.Clients), overrides...)
	if err != nil {
		return nil, err
	}
	w := &world{study: st, test: k.records(heldOut, st, r), half: 1}
	if y := st.Columns[len(k.regressors)]; st.Model.Kind() == study.Measured {
		w.half = (y.High - y.Low) / 2
	}
	for m, n := range c.sizes() {
		w.holders = append(w.holders, sim.Holder{ID: pvi.ClientID(fmt.Sprintf("client-%03d", m+1)), Records: k.records(n, st, r)})
	}
	return w, nil
}

// records draws n records. An outcome beyond its bounds counts as the nearest bound.
func (k *kind) records(n int, st *study.Study, r *rand.Rand) *shard.Records {
	all, y := new(shard.Records), st.Columns[len(k.regressors)]
	for range n {
		row, eta := make([]float64, len(k.regressors)+1), k.intercept
		for j, x := range k.regressors {
			row[j] = x.draw(r)
			eta += x.effect * row[j]
		}
		outcome := k.draw(r, eta, row)
		if y.Type == study.Numeric {
			outcome = min(max(outcome, y.Low), y.High)
		}
		row[len(row)-1] = outcome
		all.Append(row)
	}
	return all
}
