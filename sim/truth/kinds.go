package truth

import (
	"cmp"
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

// A kind is a kind of records that real users have, with a study as they would write it: public
// bounds, and no priors. The effects do not follow the default priors and, for some kinds, the
// outcomes do not follow the fitted model. So these cells test the default priors too, unlike the
// cells in the designs.
type kind struct {
	name       string
	model      string // keys of [model] without the outcome and the terms
	outcome    string // keys of the outcome's column
	regressors []regressor
	intercept  float64
	draw       func(r *rand.Rand, eta float64, row []float64) float64 // draws an outcome; row has the values of the regressors

	terms   string                      // terms of the model, if they are not simply the regressors
	further func(row []float64) float64 // what η has in addition to the effects of the regressors; may be nil

	// If smallest is not 0, clients have different numbers of records ([ranked]). The last client
	// has smallest records.
	smallest int
	clients  int // number of clients, if it differs from the cell's

	// If groups is not empty, it declares groups in the model. The study then has a column "site"
	// after the regressors. The level of this column is the client, and site is the part of η that
	// depends on the client.
	groups string
	site   func(client float64, row []float64) float64
}

// simple returns a kind whose terms are its regressors, and whose clients have equally many
// records.
func simple(name, model, outcome string, regressors []regressor, intercept float64, draw func(*rand.Rand, float64, []float64) float64) kind {
	return kind{name: name, model: model, outcome: outcome, regressors: regressors, intercept: intercept, draw: draw}
}

// A regressor is a column together with its effect: that of one unit, or of the second level.
type regressor struct {
	column string // keys of the column
	draw   func(r *rand.Rand) float64
	effect float64
}

// kindCells has the cells of every kind. The name of the kind is still missing in them.
var kindCells = []Cell{
	{Records: 800, Clients: 5, Epsilon: .5, Unit: study.Record},
	{Records: 800, Clients: 5, Epsilon: 2, Unit: study.Record},
	{Records: 6000, Clients: 5, Epsilon: .5, Unit: study.Record},
	{Records: 6000, Clients: 5, Epsilon: 2, Unit: study.Record},
	{Records: 6000, Clients: 50, Epsilon: 2, Unit: study.Client},
	{Records: 6000, Clients: 50, Epsilon: 8, Unit: study.Client},
}

// within returns a regressor with values in [low, high]. Draws outside count as the nearest bound.
func within(low, high float64, draw func(*rand.Rand) float64, effect float64) regressor {
	return regressor{fmt.Sprintf("type = \"numeric\"\nbounds = [%v, %v]", low, high), func(r *rand.Rand) float64 { return min(max(draw(r), low), high) }, effect}
}

// normals returns one normal regressor for each effect, limited to four sds.
func normals(effects ...float64) (all []regressor) {
	for _, e := range effects {
		all = append(all, within(-4, 4, normally(0, 1), e))
	}
	return all
}

func normally(mean, sd float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return mean + sd*r.NormFloat64() }
}

// logNormally returns a function that draws a number whose logarithm has the given mean and sd.
func logNormally(mean, sd float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return math.Exp(mean + sd*r.NormFloat64()) }
}

// binary returns a categorical regressor whose second level has the probability p.
func binary(p, effect float64) regressor {
	return regressor{yesNo, func(r *rand.Rand) float64 { return float64(count(r.Float64() < p)) }, effect}
}

// mostlyZero returns a regressor that is 0 in nine out of ten records.
func mostlyZero(effect float64) regressor {
	return within(0, 30, func(r *rand.Rand) float64 { return 3 * r.ExpFloat64() * float64(count(r.Float64() < .1)) }, effect)
}

func logisticOutcome(r *rand.Rand, eta float64, _ []float64) float64 {
	return float64(count(r.Float64() < 1/(1+math.Exp(-eta))))
}

func poissonOutcome(r *rand.Rand, eta float64, _ []float64) float64 {
	return distuv.Poisson{Lambda: math.Exp(eta), Src: r}.Rand()
}

// negativeBinomialOutcome returns a function that draws a count. size is the inverse of the
// variance of the rate, relative to the rate's squared mean.
func negativeBinomialOutcome(size float64) func(*rand.Rand, float64, []float64) float64 {
	return func(r *rand.Rand, eta float64, row []float64) float64 {
		return poissonOutcome(r, eta+math.Log(distuv.Gamma{Alpha: size, Beta: size, Src: r}.Rand()), row)
	}
}

// studentOutcome returns a function that draws an outcome. Its deviation from η has a Student t
// distribution.
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

// patients are the regressors age, sex and number of chronic illnesses, with effects on log rates.
var patients = []regressor{
	within(18, 100, func(r *rand.Rand) float64 { return 20 + 70*r.Float64() }, .02),
	binary(.5, .3),
	within(0, 15, func(r *rand.Rand) float64 { return distuv.Poisson{Lambda: 1.5, Src: r}.Rand() }, .25),
}

// people returns the regressors age, sex, number of chronic illnesses and body-mass index, with the
// given effects.
func people(age, sex, illness, bmi float64) []regressor {
	return []regressor{
		within(18, 100, func(r *rand.Rand) float64 { return distuv.Gamma{Alpha: 8, Beta: 1 / 6.5, Src: r}.Rand() }, age),
		binary(.45, sex),
		within(0, 15, func(r *rand.Rand) float64 {
			return distuv.Poisson{Lambda: 1.2, Src: r}.Rand() * float64(count(r.Float64() < .6))
		}, illness),
		within(10, 70, func(r *rand.Rand) float64 { return 26 + 4.5*r.NormFloat64() + 2*r.ExpFloat64() }, bmi),
	}
}

// probitOutcome draws a binary outcome that is 1 with probability Φ(η).
func probitOutcome(r *rand.Rand, eta float64, _ []float64) float64 {
	return float64(count(r.NormFloat64() < eta))
}

// rareClass draws one of three classes. η is the log odds of the second class against the first.
// About 2 % of the records are in the third class.
func rareClass(r *rand.Rand, eta float64, row []float64) float64 {
	second, third := math.Exp(eta), math.Exp(-5.7+.03*row[0]-.4*row[1]+.4*row[2])
	switch u := r.Float64() * (1 + second + third); {
	case u < 1:
		return 0
	case u < 1+second:
		return 1
	}
	return 2
}

// codes is the number of levels of the column of [ranks].
const codes = 20

// ranks returns a categorical regressor. The probability of level k, from 1, is proportional to
// 1/k.
func ranks() regressor {
	var levels []string
	var shares []float64
	for k := range codes {
		levels, shares = append(levels, fmt.Sprintf("\"c%d\"", k)), append(shares, 1/float64(k+1))
	}
	return regressor{
		fmt.Sprintf("type = \"categorical\"\nlevels = [%s]", strings.Join(levels, ", ")),
		func(r *rand.Rand) float64 { return distuv.NewCategorical(shares, r).Rand() }, 0,
	}
}

// ofLevel returns the effect of a level of [ranks]. The effects are in no particular order, and the
// first is 0.
func ofLevel(k float64) float64 { return 1.2 * math.Sin(1.7*k) }

// ofSite returns the effect of a client. The effects are in no particular order.
func ofSite(k float64) float64 { return .8 * math.Cos(2.3*k) }

var kinds = []kind{
	simple("binary-columns", logisticModel, yesNo, []regressor{binary(.5, .8), binary(.3, -.6), binary(.1, 1), binary(.05, -.9), binary(.02, .7), binary(.8, .2), binary(.95, -.4), binary(.5, 0)}, -.5, logisticOutcome),
	simple("skewed-columns", logisticModel, yesNo, []regressor{
		within(0, 5e5, logNormally(10.3, .8), 2e-5), within(0, 2e6, logNormally(11, 1.5), 2e-6),
		within(18, 100, func(r *rand.Rand) float64 { return distuv.Gamma{Alpha: 8, Beta: 1. / 6, Src: r}.Rand() }, .03), within(10, 60, normally(26, 4.5), -.05),
	}, -1.6, logisticOutcome),
	simple("mostly-zero", logisticModel, yesNo, []regressor{mostlyZero(.15), mostlyZero(-.1), mostlyZero(.3), mostlyZero(0), mostlyZero(.2), mostlyZero(-.2)}, -1, logisticOutcome),
	simple("large-effects", logisticModel, yesNo, normals(2, -1.5, 1, 0, 0), 1, logisticOutcome),
	simple("five-percent", logisticModel, yesNo, normals(.8, -.5, .3, 0), -3, logisticOutcome),
	simple("constant-column", logisticModel, yesNo, []regressor{within(0, 10, normally(3, 0), 0), within(0, 10, normally(5, 1), .5)}, -2.5, logisticOutcome),
	simple("laboratory", logisticModel, yesNo, []regressor{within(60, 160, normally(100, 5), .1), within(6.8, 7.8, normally(7.4, .05), -10), within(100, 180, normally(140, 4), .1)}, 50, logisticOutcome),
	simple("25-columns", logisticModel, yesNo, normals(.4, -.3, .2, .1, 0, .4, -.3, .2, .1, 0, .4, -.3, .2, .1, 0, .4, -.3, .2, .1, 0, .4, -.3, .2, .1, 0), 0, logisticOutcome),
	simple("visits", "family = \"poisson\"\n", visits, patients, -2, poissonOutcome),
	simple("overdispersed-visits", "family = \"negative-binomial\"\n", visits, patients, -.5, negativeBinomialOutcome(.8)),
	simple("visits-with-zeros", "family = \"negative-binomial\"\n", visits, normals(.4, -.3, .2, 0), .7, func(r *rand.Rand, eta float64, row []float64) float64 {
		return poissonOutcome(r, eta, row) * float64(count(r.Float64() < .6))
	}),
	simple("pressure", learnedNoise, pressure, []regressor{within(0, 100, normally(50, 10), .8), within(0, 100, normally(50, 10), -.4), within(0, 100, normally(50, 10), .2), binary(.4, 5)}, 90, studentOutcome(10, 100)),
	simple("outliers", learnedNoise, pressure, normals(8, -4, 2, 0), 120, studentOutcome(8, 2.5)),
	simple("unequal-noise", learnedNoise, pressure, normals(5, 3, -2, 0), 120, func(r *rand.Rand, eta float64, row []float64) float64 {
		return eta + (5+3*math.Abs(row[0]))*r.NormFloat64()
	}),
	simple("small-noise", learnedNoise, pressure, normals(8, -4, 2, 0), 120, studentOutcome(1, 100)),
	simple("heavy-tails", "family = \"robust\"\n", pressure, normals(8, -4, 2, 0), 120, studentOutcome(6, 3)),
	{
		name: "probit", model: "family = \"probit\"\npositive = \"yes\"\n", outcome: yesNo, regressors: people(.015, .3, .2, .03), intercept: -3.1,
		draw: probitOutcome, smallest: 10,
	},
	{name: "rare-class", model: "family = \"softmax\"\n", outcome: classes, regressors: people(.02, .5, 0, 0), intercept: -1.7, draw: rareClass, smallest: 10},
	{
		name: "noise-too-small", model: "family = \"linear\"\nnoise_sd = 6.0\n", outcome: pressure, regressors: people(.45, -4, 2, .8), intercept: 75,
		draw: studentOutcome(12, 100), smallest: 10,
	},
	{
		name: "hospitals", model: logisticModel, outcome: yesNo, regressors: people(.02, .4, .3, 0), intercept: -2.2, draw: logisticOutcome,
		clients: 8, smallest: 3, groups: `"site"`, site: func(m float64, _ []float64) float64 { return ofSite(m) },
	},
	{
		name: "hospital-slopes", model: logisticModel, outcome: yesNo, regressors: people(.02, .4, .3, 0), intercept: -2.2, draw: logisticOutcome,
		clients: 8, smallest: 3, groups: `"1 + x0 | site"`,
		site: func(m float64, row []float64) float64 { return ofSite(m) + .02*ofSite(m+8)*(row[0]-50) },
	},
	{
		name: "20-levels", model: logisticModel, outcome: yesNo, regressors: append(people(.02, .5, .3, 0)[:3], ranks()), intercept: -1.5, draw: logisticOutcome,
		smallest: 10, terms: `"x0*x1", "x2", "x3"`, further: func(row []float64) float64 { return .02*(row[0]-50)*row[1] + ofLevel(row[3]) },
	},
	{
		name: "100-clients", model: learnedNoise, outcome: pressure, regressors: people(.45, -4, 2, .8), intercept: 75, draw: studentOutcome(12, 100),
		clients: 100, smallest: 1,
	},
}

// ofKinds returns the cells of all kinds. If a kind has many columns, or clients of different
// sizes, no cell of it protects whole clients.
func ofKinds() (cells []Cell) {
	for _, k := range kinds {
		for _, c := range kindCells {
			if c.Unit == study.Client && (len(k.regressors) >= mostOfClient || k.smallest > 0) {
				continue
			}
			c.Set, c.Split = k.name, "balanced"
			if k.clients > 0 {
				c.Clients = k.clients
			}
			cells = append(cells, c)
		}
	}
	return cells
}

// kind returns the kind whose name is c.Set, if there is one.
func (c *Cell) kind() (k kind, ok bool) {
	for _, k := range kinds {
		if k.name == c.Set {
			return k, true
		}
	}
	return kind{}, false
}

// world returns the study of the kind, with records that it draws.
func (k *kind) world(c *Cell, r *rand.Rand, overrides ...study.Override) (*world, error) {
	var columns, terms strings.Builder
	for j, x := range k.regressors {
		fmt.Fprintf(&columns, "[[column]]\nname = \"x%d\"\n%s\n", j, x.column)
		fmt.Fprintf(&terms, "\"x%d\", ", j)
	}
	keys := fmt.Sprintf("terms = [%s]\n", cmp.Or(k.terms, terms.String()))
	if k.groups != "" {
		fmt.Fprintf(&columns, "[[column]]\nname = \"site\"\ntype = \"categorical\"\nlevels = [\"s0\"")
		for m := 1; m < c.Clients; m++ {
			fmt.Fprintf(&columns, ", \"s%d\"", m)
		}
		columns.WriteString("]\n")
		keys += fmt.Sprintf("groups = [%s]\n", k.groups)
	}
	st, err := study.Parse("cell.toml", fmt.Appendf(nil, `[study]
version = %d
name = "cell"
%s[[column]]
name = "y"
%s
[model]
%soutcome = "y"
%s[privacy]
unit = %q
epsilon = %v
delta = 1e-5
[federation]
nominal_records = %d
`, study.Version, columns.String(), k.outcome, k.model, keys, c.Unit, c.Epsilon, c.Records/c.Clients), overrides...)
	if err != nil {
		return nil, err
	}
	sizes := c.sizes()
	if k.smallest > 0 {
		sizes = ranked(c.Records, c.Clients, k.smallest)
	}
	w := &world{study: st, half: 1, test: new(shard.Records)}
	held := []int{heldOut}
	if k.groups != "" {
		held = ranked(heldOut, c.Clients, 0)
	}
	for m, n := range held {
		k.draws(w.test, n, m, st, r)
	}
	if y := st.Columns[len(st.Columns)-1]; st.Model.Kind() == study.Measured {
		w.half = (y.High - y.Low) / 2
	}
	for m, n := range sizes {
		records := new(shard.Records)
		k.draws(records, n, m, st, r)
		w.holders = append(w.holders, sim.Holder{ID: pvi.ClientID(fmt.Sprintf("client-%03d", m+1)), Records: records})
	}
	return w, nil
}

// ranked returns the number of records of each client. The last client has smallest records. The
// other numbers are proportional to 1/k, where k counts the clients from 1.
func ranked(records, clients, smallest int) (sizes []int) {
	var total, sum float64
	for k := 1; k < clients; k++ {
		total += 1 / float64(k)
	}
	before, others := 0, float64(records-smallest)
	for k := 1; k < clients; k++ {
		sum += 1 / float64(k)
		to := int(math.Round(others * sum / total))
		sizes, before = append(sizes, to-before), to
	}
	return append(sizes, smallest)
}

// draws appends n new records of a client to all. An outcome beyond its bounds becomes the nearest
// bound.
func (k *kind) draws(all *shard.Records, n, client int, st *study.Study, r *rand.Rand) {
	y := st.Columns[len(st.Columns)-1]
	for range n {
		row, eta := make([]float64, len(st.Columns)), k.intercept
		for j, x := range k.regressors {
			row[j] = x.draw(r)
			eta += x.effect * row[j]
		}
		if k.further != nil {
			eta += k.further(row)
		}
		if k.groups != "" {
			row[len(k.regressors)] = float64(client)
			eta += k.site(float64(client), row)
		}
		outcome := k.draw(r, eta, row)
		if y.Type == study.Numeric {
			outcome = min(max(outcome, y.Low), y.High)
		}
		row[len(row)-1] = outcome
		all.Append(row)
	}
}
