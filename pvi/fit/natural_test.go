package fit

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

type rawColumn struct {
	name, text string
	transform  string
	low, high  float64
	zero, unit float64
}

func (c *rawColumn) of(x float64) float64 {
	switch c.transform {
	case "log":
		return math.Log(x)
	case "log1p":
		return math.Log(1 + x)
	}
	return x
}

func drawColumn(t *rapid.T, name string, standardised bool) *rawColumn {
	c := &rawColumn{name: name, transform: rapid.SampledFrom([]string{"", "log", "log1p"}).Draw(t, name+" transform")}
	c.low = rapid.Float64Range(.5, 3).Draw(t, name+" low")
	c.high = c.low + rapid.Float64Range(.5, 30).Draw(t, name+" width")
	if c.transform == "" && rapid.Bool().Draw(t, name+" symmetric") {
		c.low, c.high = -4, 4
	}
	c.text = fmt.Sprintf(`{ name = "%s", type = "numeric", bounds = [%g, %g], unit = "mm"`, name, c.low, c.high)
	if c.transform != "" {
		c.text += fmt.Sprintf(`, transform = "%s"`, c.transform)
	}
	c.zero, c.unit = (c.of(c.low)+c.of(c.high))/2, (c.of(c.high)-c.of(c.low))/2
	if rapid.Bool().Draw(t, name+" centred") {
		c.zero, c.unit = rapid.Float64Range(-2, 2).Draw(t, name+" centre"), rapid.Float64Range(.1, 4).Draw(t, name+" spread")
		c.text += fmt.Sprintf(`, centre = %g, spread = %g`, c.zero, c.unit)
	}
	c.text += " },\n"
	if !standardised {
		c.zero, c.unit = 0, 1
	}
	return c
}

// The predictor is the same whether it is computed from raw columns and coefficients in natural
// units, or from scaled columns and θ.
func TestNaturalUnitsPredictTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		standardised := rapid.Bool().Draw(t, "standardised")
		columns := map[string]*rawColumn{}
		text := ""
		for _, name := range []string{"u", "v", "y"} {
			columns[name] = drawColumn(t, name, standardised)
			text += columns[name].text
		}
		ordered := &rawColumn{zero: 1, unit: 1}
		if !standardised {
			ordered.zero = 0
		}
		columns["w"] = ordered
		terms := rapid.SliceOfN(rapid.SampledFrom([]string{`"u"`, `"v"`, `"w"`, `"c"`, `"u*v"`, `"v:u"`, `"u*c"`, `"c:v"`, `"v*w*u"`, `"u*c*v"`, `"w:u"`}), 1, 4).Draw(t, "terms")
		model := rapid.SampledFrom([]string{
			`family = "linear", outcome = "y", noise_sd = "learned"`, `family = "robust", outcome = "y", degrees_of_freedom = 4`,
			`family = "logistic", outcome = "o", positive = "b"`, `family = "softmax", outcome = "o"`, `family = "negative-binomial", outcome = "n"`,
		}).Draw(t, "model")
		if !standardised {
			model += `, standardise = "none"`
		}
		if rapid.Bool().Draw(t, "one-hot") {
			model += `, coding = "one-hot"`
		}
		if rapid.IntRange(0, 4).Draw(t, "intercept") == 0 {
			model += `, intercept = false`
		}
		softmax := strings.Contains(model, "softmax")
		if !softmax {
			model += `, groups = ["1 + v | c"]`
		}
		m := modelOf(t, fmt.Sprintf(`
study = { version = 1, name = "s" }
inference.rounds = 1
privacy.unit = "none"
model = { %s, terms = [%s] }
column = [ %s
  { name = "n", type = "numeric", bounds = [0, 60] },
  { name = "w", type = "ordered", levels = ["1", "2", "3"] },
  { name = "c", type = "categorical", levels = ["p", "q", "r"] },
  { name = "o", type = "categorical", levels = ["a", "b", "d"] },
]`, model, strings.Join(terms, ", "), text))
		theta := make([]float64, m.Dim())
		for i := range theta {
			theta[i] = rapid.Float64Range(-2, 2).Draw(t, "θ")
		}
		units := m.Units()
		natural := make([]float64, len(theta))
		units.Map(natural, theta)

		row := []float64{
			rapid.Float64Range(columns["u"].low, columns["u"].high).Draw(t, "u"), rapid.Float64Range(columns["v"].low, columns["v"].high).Draw(t, "v"),
			columns["y"].low, 3, float64(rapid.IntRange(0, 2).Draw(t, "w")), float64(rapid.IntRange(0, 2).Draw(t, "c")), 1,
		}
		records := new(shard.Records)
		records.Append(row)
		s := shard.Design(m.Study, records)
		x, _ := s.Record(0)
		classes := 1
		if softmax {
			classes = 2
		}
		for class := range classes {
			var got, want float64
			j := class * len(x)
			for c := range m.Study.Coefficients() {
				want += x[j-class*len(x)] * theta[j]
				scaled := strings.Contains(units[j].Unit, "on the model's scale")
				raw := natural[j]
				for _, p := range c.Parts {
					name := m.Study.Columns[p.Column].Name
					switch column := columns[name]; {
					case p.Level >= 0 && row[p.Column] != float64(p.Level):
						raw = 0
					case p.Level < 0 && scaled:
						raw *= (column.of(row[p.Column]) - column.zero) / column.unit
					case p.Level < 0:
						raw *= column.of(row[p.Column])
					}
				}
				got += raw
				j++
			}
			if !softmax {
				at, level, v := m.Effects(), int(row[5]), columns["v"]
				_, slopes := s.Groups(0)
				far := v.of(row[1]) - v.zero
				want += math.Exp(theta[at[0].Spread])*theta[at[0].First+level] + math.Exp(theta[at[1].Spread])*theta[at[1].First+level]*slopes[0]
				got += math.Exp(natural[at[0].Spread])*natural[at[0].First+level] + math.Exp(natural[at[1].Spread])*natural[at[1].First+level]*far
			}
			if strings.Contains(model, `"linear"`) || strings.Contains(model, `"robust"`) {
				y := columns["y"]
				want *= y.unit
				if !strings.Contains(model, "intercept = false") {
					want += y.zero
				}
				if sd := natural[m.layout.scale]; math.Abs(sd-theta[m.layout.scale]-math.Log(y.unit)) > 1e-12 {
					t.Fatalf("log noise sd %g becomes %g", theta[m.layout.scale], sd)
				}
			}
			if math.Abs(got-want) > 1e-9*(1+sizeOf(natural)) {
				t.Fatalf("predictor %g from raw columns, %g from scaled ones\n%s\n%v", got, want, model, terms)
			}
		}
		checkMoments(t, units)
	})
}

// sizeOf returns Σ|x·coefficient|, which bounds the rounding error of a predictor.
func sizeOf(x []float64) (size float64) {
	for _, v := range x {
		size += 1e3 * math.Abs(v)
	}
	return size
}

// checkMoments compares Units.Covariance with AΣAᵀ, and the variances of Marginals with its
// diagonal. It finds A by applying Map to unit vectors.
func checkMoments(t *rapid.T, units Units) {
	d := len(units)
	zero, shift, image, one := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	units.Map(shift, zero)
	a, root := mat.NewDense(d, d, nil), mat.NewDense(d, d, nil)
	for j := range d {
		one[j] = 1
		units.Map(image, one)
		one[j] = 0
		for i := range d {
			a.Set(i, j, image[i]-shift[i])
			root.Set(i, j, math.Sin(float64(1+3*i+7*j+i*j)))
		}
	}
	var sigma mat.SymDense
	sigma.SymOuterK(.1, root)
	var left, want mat.Dense
	left.Mul(a, &sigma)
	want.Mul(&left, a.T())
	got := units.Covariance(&sigma)
	if !mat.EqualApprox(got, &want, 1e-6*(1+mat.Max(&want))) {
		t.Fatalf("covariance\n%v\nwant\n%v", mat.Formatted(got), mat.Formatted(&want))
	}
	for i, n := range units.Marginals(zero, &sigma) {
		sd := math.Sqrt(got.At(i, i))
		low, high, mean := shift[i]-1.959963984540054*sd, shift[i]+1.959963984540054*sd, shift[i]
		if units[i].Log {
			low, high, mean = math.Exp(low), math.Exp(high), math.Exp(shift[i]+sd*sd/2)
		}
		if math.Abs(n.Low-low) > 1e-9*(1+math.Abs(low)) || math.Abs(n.High-high) > 1e-9*(1+math.Abs(high)) || math.Abs(n.Mean-mean) > 1e-9*(1+math.Abs(mean)) {
			t.Fatalf("coordinate %d: %+v, want %g [%g, %g]", i, n, mean, low, high)
		}
	}
}

// The unit of a parameter is put together from the units of the columns.
func TestUnitNames(t *testing.T) {
	for _, c := range []struct{ model, want string }{
		{
			`{ family = "linear", outcome = "y", terms = ["u*v", "c", "v:c"], noise_sd = "learned", groups = ["1 + v | c"] }`,
			"y [mmHg]; y [mmHg] per u [years]; y [mmHg] per log(v); y [mmHg] per u [years] per log(v); y [mmHg]; y [mmHg] per log(v); y [mmHg]; y [mmHg] at log(v) = 1; sds; sds; y [mmHg] per log(v); sds; sds",
		},
		{
			`{ family = "logistic", outcome = "c", positive = "q", terms = ["u:v"] }`,
			"log odds = odds; log odds on the model's scale: v is not a term",
		},
		{`{ family = "poisson", outcome = "y", terms = ["u"] }`, "log rate = rate; log rate per u [years] = rate ratio per u [years]"},
		{`{ family = "probit", outcome = "c", positive = "q", terms = ["u"] }`, "probits; probits per u [years]"},
		{`{ family = "probit", outcome = "c", positive = "q", terms = ["d"] }`, "probits; probits per year of d"},
		{`{ family = "linear", outcome = "d", terms = ["u"], noise_sd = 1 }`, "d [years since 2020-01-01]; d [years since 2020-01-01] per u [years]"},
		{`{ family = "mixture", columns = ["u", "y"], components = 2 }`, "; u [years]; u [years]; u [years]; u [years]; y [mmHg]; y [mmHg]; y [mmHg]; y [mmHg]"},
		{`{ family = "neural-network", outcome = "y", terms = ["u"], hidden = 1 }`, strings.Repeat("model's scale; ", 5) + "model's scale"},
	} {
		m := modelOf(t, fmt.Sprintf(`
study = { version = 1, name = "s" }
inference.rounds = 1
privacy.unit = "none"
model = %s
column = [
  { name = "u", type = "numeric", bounds = [0, 100], unit = "years" },
  { name = "v", type = "numeric", bounds = [1, 7.38905609893065], transform = "log" },
  { name = "y", type = "numeric", bounds = [0, 60], unit = "mmHg" },
  { name = "c", type = "categorical", levels = ["p", "q"] },
  { name = "d", type = "date", since = "2020-01-01", bounds = ["2019-01-01", "2024-12-31"] },
]`, c.model))
		var names []string
		for i, row := range m.Units() {
			name := row.Unit
			if row.Ratio != "" {
				name += " = " + row.Ratio
			}
			names = append(names, name)
			if p := m.Parameters.At(i); m.Study.Model.Family == study.Mixture && row.Unit != "" && !strings.Contains(p.Name, row.Unit[:1]+"[") {
				t.Errorf("the unit of %s is %s", p.Name, row.Unit)
			}
		}
		if got := strings.Join(names, "; "); got != c.want {
			t.Errorf("%s\n%s\nwant\n%s", c.model, got, c.want)
		}
	}
}

// A group effect in natural units changes the predictor in the same way as on the model's scale,
// where a slope multiplies the distance from the middle of its column.
func TestEffectsInNaturalUnits(t *testing.T) {
	for _, name := range []string{"centred counts", "centred"} {
		m := newModel(t, name)
		theta := make([]float64, m.Dim())
		for i := range theta {
			theta[i] = math.Sin(float64(i + 1))
		}
		rows, natural := m.Units(), make([]float64, m.Dim())
		rows.Map(natural, theta)
		for _, v := range []float64{0, 3, 10} {
			var raw, scaled float64
			for _, e := range m.Effects() {
				at := e.First + 1
				if e.Slope < 0 {
					raw, scaled = raw+natural[at], scaled+theta[at]
					continue
				}
				raw, scaled = raw+(v-5)*natural[at], scaled+(v-5)/5*theta[at]
				if got := rows[at].Unit; !strings.HasSuffix(got, " per v") {
					t.Errorf("%s: a slope has the unit %q", name, got)
				}
				if rows[at].Ratio == "" {
					t.Errorf("%s: the exponential of an effect has no name", name)
				}
			}
			if math.Abs(raw-scaled) > 1e-12 {
				t.Errorf("%s: the effects at v = %g add %g, want %g", name, v, raw, scaled)
			}
		}
	}
}
