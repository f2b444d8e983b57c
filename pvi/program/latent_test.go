package program_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program"
	"fedpvi/pvi/program/syntax"
)

// closedForms has programs whose integral over the latents has a closed form. exact computes the
// log density of a record, given the record's numbers y.
var closedForms = map[string]struct {
	columns    []ir.Column
	text       string
	parameters []float64 // values on the unconstrained scale
	records    [][]float64
	exact      func(y []float64) float64
	tolerance  float64
}{
	"normal, normal": {
		columns: []ir.Column{{Name: "y", Lower: -50, Upper: 50}},
		text: `data { int N; vector[N] y; }
parameters { real a; real<lower=0> s; real<lower=0> tau; vector[N] eps; }
model { a ~ normal(0, 1); s ~ normal(0, 1); tau ~ normal(0, 1); eps ~ normal(a, tau); y ~ normal(eps, s); }`,
		parameters: []float64{.3, math.Log(.7), math.Log(1.6)},
		records:    [][]float64{{-4}, {0}, {.2}, {3}, {9}},
		exact:      func(y []float64) float64 { return normalLog(y[0], .3, math.Hypot(.7, 1.6)) },
		tolerance:  1e-9,
	},
	"two latents": {
		columns: []ir.Column{{Name: "y", Lower: -50, Upper: 50, Entries: ir.NamesOf("a", "b")}},
		text: `data { int N; array[N] vector[2] y; }
parameters { real<lower=0> s; real<lower=0> tau; array[N] vector[2] u; }
model {
  s ~ normal(0, 1); tau ~ normal(0, 1);
  for (n in 1:N) {
    u[n, 1] ~ normal(0, tau);
    u[n, 2] ~ normal(u[n, 1], 1);
    y[n] ~ normal(u[n], s);
  }
}`,
		parameters: []float64{math.Log(.8), math.Log(1.2)},
		records:    [][]float64{{0, 0}, {1, 2.5}, {-2, 1}, {3, 3}},
		exact: func(y []float64) float64 {
			v := 1.2 * 1.2
			n, ok := distmv.NewNormal([]float64{0, 0}, mat.NewSymDense(2, []float64{v + .64, v, v, v + 1 + .64}), nil)
			if !ok {
				return math.NaN()
			}
			return n.LogProb(y)
		},
		tolerance: 1e-9,
	},
	"beta, binomial": {
		columns: []ir.Column{{Name: "y", Upper: 40, Integer: true}, {Name: "trials", Upper: 40, Integer: true}},
		text: `data { int N; array[N] int<lower=0> y; array[N] int<lower=0> trials; }
parameters { real<lower=0> a; real<lower=0> b; vector<lower=0, upper=1>[N] p; }
model { a ~ gamma(2, 1); b ~ gamma(2, 1); p ~ beta(a, b); y ~ binomial(trials, p); }`,
		parameters: []float64{math.Log(2.5), math.Log(4)},
		records:    [][]float64{{0, 3}, {2, 9}, {9, 9}, {1, 30}, {20, 40}},
		exact: func(y []float64) float64 {
			return choices(y[1], y[0]) + lbeta(2.5+y[0], 4+y[1]-y[0]) - lbeta(2.5, 4)
		},
		tolerance: 2e-3,
	},
	"gamma, Poisson": {
		columns: []ir.Column{{Name: "y", Upper: 500, Integer: true}},
		text: `data { int N; array[N] int<lower=0> y; }
parameters { real mu; real<lower=0> phi; vector<lower=0>[N] u; }
model { mu ~ normal(0, 1); phi ~ gamma(2, 1); u ~ gamma(phi, phi); y ~ poisson(exp(mu) * u); }`,
		parameters: []float64{1.1, math.Log(3)},
		records:    [][]float64{{0}, {1}, {4}, {25}, {100}},
		exact: func(y []float64) float64 {
			m := math.Exp(1.1)
			return lgamma(y[0]+3) - lgamma(3) - lgamma(y[0]+1) + 3*math.Log(3/(3+m)) + y[0]*math.Log(m/(3+m))
		},
		tolerance: 2e-3,
	},
}

func TestLatentsWithClosedForms(t *testing.T) {
	for name, c := range closedForms {
		t.Run(name, func(t *testing.T) {
			data := program.Data{Name: "latent", Records: "N", Columns: map[string]ir.Column{}}
			columns := make([][]float64, len(c.columns))
			for k, column := range c.columns {
				data.Columns[column.Name] = column
				for _, y := range c.records {
					if len(c.columns) == 1 {
						columns[k] = append(columns[k], y...)
					} else {
						columns[k] = append(columns[k], y[k])
					}
				}
			}
			m := compiled(t, c.text, data)
			if m.Dim() != len(c.parameters) {
				t.Fatalf("%d coordinates: a latent is one of them", m.Dim())
			}
			table, err := m.Load(len(c.records), columns)
			check(t, err)
			logs := make([]float64, len(c.records))
			m.LogDensities(logs, c.parameters, table)
			for i, y := range c.records {
				if want := c.exact(y); !(math.Abs(logs[i]-want) < c.tolerance) {
					t.Errorf("record %v: %g, want %g", y, logs[i], want)
				}
			}
		})
	}
}

const overdispersed = `data { int N; array[N] int<lower=0> k; vector[N] x; }
parameters { real a; real b; real<lower=0> s; vector[N] e; }
model { a ~ normal(0, 1); b ~ normal(0, 1); s ~ normal(0, 1); e ~ normal(0, s); k ~ poisson_log(a + b * x + e); }
`

func TestLatentInWords(t *testing.T) {
	c, err := compileUsual(overdispersed, false)
	check(t, err)
	if record := c.Model.Describe().Record; !strings.Contains(record, "log of the integral over e of exp(log poisson_log(k |") || !strings.Contains(record, "e ~ normal(0, s)") {
		t.Error(record)
	}
	if len(c.Notes) != 1 || c.Notes[0].Code != "W506" || !strings.Contains(c.Notes[0].Text, "15 points") {
		t.Error(c.Notes)
	}
}

// If a record has a latent, log_lik is the log density of the record, no matter whether the program
// or the compiler defines log_lik.
func TestLogLikelihoodOfLatents(t *testing.T) {
	text := overdispersed + "generated quantities { vector[N] log_lik; for (n in 1:N) log_lik[n] = poisson_log_lpmf(k[n] | a + b * x[n] + e[n]); }"
	for predict, text := range map[bool]string{false: text, true: overdispersed} {
		c, err := compileUsual(text, predict)
		check(t, err)
		columns, theta := [][]float64{{0, 3, 20}, {-1, 0, 2}}, []float64{.3, .5, -.2}
		table, err := c.Model.Load(3, columns)
		check(t, err)
		want, got := make([]float64, 3), make([]float64, 3)
		c.Model.LogDensities(want, theta, table)
		g := c.Quantities.Generator([32]byte{})
		if names := g.RecordNames(); len(names) != 1 || names[0] != "log_lik" {
			t.Fatal(names)
		}
		records, err := g.Load(3, columns)
		check(t, err)
		g.Shared(nil, theta, 0)
		records.Records(got, 0)
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9 {
				t.Errorf("record %d: log_lik is %g, the log density %g", i, got[i], want[i])
			}
		}
	}
}

func TestMessagesAboutLatents(t *testing.T) {
	const head = "data { int N; vector[N] x; array[N] int<lower=1> g; }\nparameters { real a; real<lower=0> s; "
	const tail = "}\nmodel { a ~ normal(0, 1); s ~ normal(0, 1); "
	for text, want := range map[string]string{
		"vector[N] e;" + tail + "x ~ normal(a + e, s); }":                                                                                                                                              "e has no proper density. Write e ~ normal(0, sigma);",
		"array[N] vector[3] e;" + tail + "}":                                                                                                                                                           "at most 2 are possible",
		"vector[N] e;" + tail + "e ~ normal(0, 1); for (n in 1:N) x[n] ~ normal(a + e[g[n]], s); }":                                                                                                    "make them one record",
		"vector[N] e;" + tail + "e ~ double_exponential(0, s); x ~ normal(a + e, s); }":                                                                                                                "is no density for that",
		"vector[N] e;" + tail + "e ~ normal(0, s); for (n in 1:N) { real v = e[n]; for (i in 1:5000) v = v + v * a; x[n] ~ normal(v, s); } }":                                                          "and is computed 27 times",
		"vector[N] e;" + tail + "e ~ normal(0, s); for (n in 1:N) { real v = e[n]; for (i in 1:365) v = v + v * a; x[n] ~ normal(v, s); } }":                                                           "too many operations",
		"vector[N] e;" + tail + "e ~ normal(0, s); x ~ normal(e, s); } generated quantities { vector[N] log_lik; for (n in 1:N) { real v = e[n]; for (i in 1:5000) v = v + v * a; log_lik[n] = v; } }": "and is computed 27 times",
		"vector[N] e; vector[N] f;" + tail + "e ~ normal(f, 1); f ~ normal(e, 1); x ~ normal(a + f, s); }":                                                                                             "the other way round",
	} {
		_, err := compileUsual(head+text, false)
		var found *syntax.Errors
		if !errors.As(err, &found) || !strings.Contains(found.Messages[0].Text, want) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
	}
}

// integral returns the integral of f by the midpoint rule. If low is 0, the grid is logarithmic.
func integral(low, high float64, f func(u float64) float64) (sum float64) {
	const n = 20_000
	from, to := low, high
	if low == 0 {
		from, to = -40, math.Log(high)
	}
	step := (to - from) / n
	for k := range n {
		u, slope := from+step*(float64(k)+.5), 1.
		if low == 0 {
			u = math.Exp(u)
			slope = u
		}
		sum += step * slope * f(u)
	}
	return sum
}

// laws has the densities that a latent may have. log is the log density, which the test integrates
// on a grid from low to high.
var laws = map[string]struct {
	declared  string
	low, high float64
	log       func(u float64) float64
	tolerance float64
}{
	"student_t(5, 0.5, 1.5)": {"vector[N] u;", -400, 400, func(u float64) float64 { return distuv.StudentsT{Mu: .5, Sigma: 1.5, Nu: 5}.LogProb(u) }, 2e-3},
	"logistic(0.5, 0.7)":     {"vector[N] u;", -40, 40, func(u float64) float64 { return math.Log(distuv.Logistic{Mu: .5, S: .7}.Prob(u)) }, 2e-3},
	"lognormal(0.5, 0.7)":    {"vector<lower=0>[N] u;", 0, 60, func(u float64) float64 { return distuv.LogNormal{Mu: .5, Sigma: .7}.LogProb(u) }, 2e-3},
	"normal(0.5, 1)":         {"vector<lower=0>[N] u;", 0, 12, func(u float64) float64 { return distuv.Normal{Mu: .5, Sigma: 1}.LogProb(u) }, 5e-3},
	"gamma(0.7, 0.5)":        {"vector<lower=0>[N] u;", 0, 100, func(u float64) float64 { return distuv.Gamma{Alpha: .7, Beta: .5}.LogProb(u) }, 1e-2},
	"inv_gamma(3, 2)":        {"vector<lower=0>[N] u;", 0, 200, func(u float64) float64 { return distuv.InverseGamma{Alpha: 3, Beta: 2}.LogProb(u) }, 5e-3},
	"exponential(0.5)":       {"vector<lower=0>[N] u;", 0, 80, func(u float64) float64 { return distuv.Exponential{Rate: .5}.LogProb(u) }, 5e-3},
	"weibull(1.5, 2)":        {"vector<lower=0>[N] u;", 0, 30, func(u float64) float64 { return distuv.Weibull{K: 1.5, Lambda: 2}.LogProb(u) }, 5e-3},
	"beta(0.8, 2)":           {"vector<lower=0, upper=1>[N] u;", 0, 1, func(u float64) float64 { return distuv.Beta{Alpha: .8, Beta: 2}.LogProb(u) }, 5e-3},
}

func TestLawsOfLatents(t *testing.T) {
	outcomes := []float64{-2, -.5, .3, 1, 4}
	for name, c := range laws {
		text := fmt.Sprintf("data { int N; vector[N] y; }\nparameters { real<lower=0> s; %s }\nmodel { s ~ normal(0, 1); u ~ %s; y ~ normal(u, s); }", c.declared, name)
		m := compiled(t, text, program.Data{Name: "law", Records: "N", Columns: map[string]ir.Column{"y": {Name: "y", Lower: -9, Upper: 9}}})
		table, err := m.Load(len(outcomes), [][]float64{outcomes})
		check(t, err)
		for _, s := range []float64{.4, 2} {
			logs := make([]float64, len(outcomes))
			m.LogDensities(logs, []float64{math.Log(s)}, table)
			for i, y := range outcomes {
				want := integral(c.low, c.high, func(u float64) float64 { return math.Exp(c.log(u) + normalLog(y, u, s)) })
				if d := logs[i] - math.Log(want); !(math.Abs(d) < c.tolerance) {
					t.Errorf("%s, y = %g, s = %g: the error is %.2g", name, y, s, d)
				}
			}
		}
	}
}
