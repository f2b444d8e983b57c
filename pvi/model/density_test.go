package model_test

import (
	"math"
	"math/rand"
	"testing"

	"fedpvi/internal/testing/programs"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

var (
	unit       = model.Normal{SD: 1}
	regression = programs.Regression{
		Features: []string{"a", "b", "c"}, Bound: 50, Coefficients: unit, Intercept: &model.Normal{Mean: 1, SD: 2}, Most: 1e6,
	}
	grouped = func(correlation float64) programs.Regression {
		r := regression
		r.Groups = programs.Groups{Names: group, Slopes: []string{"b"}, Scale: 1, Correlation: correlation}
		return r
	}
	traits = [][]float64{{1, .2}, {-1, .5}, {.3, 2}}
)

// A row is a record: the values of all columns, by name.
type row map[string][]float64

// A truth is a program together with an independent implementation of its log density in package
// math. The implementation gets the constrained parameters by name.
type truth struct {
	build   func() (*model.Model, error)
	density func(p map[string]float64, r row) float64
	// probabilities are added up for counts up to top, and larger counts are too improbable to matter;
	// 0 for real outcomes, −1 if the outcome is not a single number
	top int
}

func predictor(p map[string]float64, r row) float64 {
	x := r["x"]
	return p["alpha"] + p["beta[a]"]*x[0] + p["beta[b]"]*x[1] + p["beta[c]"]*x[2]
}

func logNormal(y, mean, sd float64) float64 {
	return -.5*math.Pow((y-mean)/sd, 2) - math.Log(sd*math.Sqrt(2*math.Pi))
}

func logBernoulli(y, p float64) float64 {
	if y == 1 {
		return math.Log(p)
	}
	return math.Log(1 - p)
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

func logPoisson(k, mean float64) float64 { return k*math.Log(mean) - mean - lgamma(k+1) }

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

var group = []string{"p", "q", "r"}

func varying(p map[string]float64, r row) float64 {
	g := group[int(r["g"][0])]
	return predictor(p, r) + p["sd_intercept"]*p["z_intercept["+g+"]"] + p["sd_b"]*p["z_b["+g+"]"]*r["x"][1]
}

var truths = map[string]truth{
	"linear": {
		func() (*model.Model, error) { return regression.Build(programs.Linear) },
		func(p map[string]float64, r row) float64 { return logNormal(r["y"][0], predictor(p, r), p["sigma"]) }, 0,
	},
	"logistic": {
		func() (*model.Model, error) { return regression.Build(programs.Logistic) },
		func(p map[string]float64, r row) float64 { return logBernoulli(r["y"][0], logistic(predictor(p, r))) }, 1,
	},
	"probit": {
		func() (*model.Model, error) { return regression.Build(programs.Probit) },
		func(p map[string]float64, r row) float64 {
			sign := 1 - 2*r["y"][0]
			return math.Log(math.Erfc(sign*predictor(p, r)/math.Sqrt2) / 2)
		}, 1,
	},
	"poisson": {
		func() (*model.Model, error) { return regression.Build(programs.Poisson) },
		func(p map[string]float64, r row) float64 { return logPoisson(r["y"][0], math.Exp(predictor(p, r))) }, 1500,
	},
	"negbin": {
		func() (*model.Model, error) { return regression.Build(programs.NegativeBinomial) },
		func(p map[string]float64, r row) float64 {
			k, mu, phi := r["y"][0], math.Exp(predictor(p, r)), p["phi"]
			return lgamma(k+phi) - lgamma(phi) - lgamma(k+1) + phi*math.Log(phi/(mu+phi)) + k*math.Log(mu/(mu+phi))
		}, 20000,
	},
	"robust": {
		func() (*model.Model, error) { return regression.Build(programs.Robust) },
		func(p map[string]float64, r row) float64 {
			z := (r["y"][0] - predictor(p, r)) / p["sigma"]
			return math.Log(3. / 8 / p["sigma"] * math.Pow(1+z*z/4, -2.5)) // density of the t distribution with ν = 4
		}, 0,
	},
	"softmax": {
		func() (*model.Model, error) { return regression.Softmax([]string{"k", "l", "m"}) },
		func(p map[string]float64, r row) float64 {
			var weights [3]float64
			total := 0.
			for i, k := range []string{"k", "l", "m"} {
				eta := p["alpha["+k+"]"]
				for j, f := range []string{"a", "b", "c"} {
					eta += p["beta["+k+","+f+"]"] * r["x"][j]
				}
				weights[i] = math.Exp(eta)
				total += weights[i]
			}
			return math.Log(weights[int(r["y"][0])] / total)
		}, 2,
	},
	"multilevel": {
		func() (*model.Model, error) { return grouped(0).Build(programs.Linear) },
		func(p map[string]float64, r row) float64 { return logNormal(r["y"][0], varying(p, r), p["sigma"]) }, 0,
	},
	"correlated": {
		func() (*model.Model, error) { return grouped(2).Build(programs.Linear) },
		func(p map[string]float64, r row) float64 {
			g, c := group[int(r["g"][0])], 2*p["half_correlation"]-1
			one, two := p["z["+g+",intercept]"], p["z["+g+",b]"]
			slope := p["sd_b"] * (c*one + math.Sqrt(1-c*c)*two)
			return logNormal(r["y"][0], predictor(p, r)+p["sd_intercept"]*one+slope*r["x"][1], p["sigma"])
		}, 0,
	},
	"multilevel logistic": {
		func() (*model.Model, error) { return grouped(0).Build(programs.Logistic) },
		func(p map[string]float64, r row) float64 { return logBernoulli(r["y"][0], logistic(varying(p, r))) }, 1,
	},
	"multilevel poisson": {
		func() (*model.Model, error) { return grouped(0).Build(programs.Poisson) },
		func(p map[string]float64, r row) float64 { return logPoisson(r["y"][0], math.Exp(varying(p, r))) }, 1500,
	},
	"characteristics": {
		func() (*model.Model, error) { return regression.Characteristics(traits, unit) },
		func(p map[string]float64, r row) float64 {
			eta, c := predictor(p, r), traits[int(r["g"][0])]
			for i, x := range r["x"] {
				for j, t := range c {
					eta += x * p[[]string{"M[1", "M[2", "M[3"}[i]+[]string{",1]", ",2]"}[j]] * t
				}
			}
			return logBernoulli(r["y"][0], logistic(eta))
		}, 1,
	},
	"mixture": {
		func() (*model.Model, error) {
			return programs.Mixture{
				Components: 2, Variables: []string{"u"}, Concentration: 1.5, Means: model.Normal{SD: 3}, Shape: 2, Scale: 1,
			}.Build(1000)
		},
		func(p map[string]float64, r row) float64 {
			x := r["x"][0]
			one := p["weight[1]"] * math.Exp(logNormal(x, p["mean[1,1]"], math.Sqrt(p["variance[1,1]"])))
			two := p["weight[2]"] * math.Exp(logNormal(x, p["mean[1,2]"], math.Sqrt(p["variance[1,2]"])))
			return math.Log(one + two)
		}, -1,
	},
	"network": {
		func() (*model.Model, error) { return regression.Network(2, programs.Logistic) },
		func(p map[string]float64, r row) float64 {
			eta, x := p["c"], r["x"]
			for _, k := range []string{"1", "2"} {
				eta += p["v["+k+"]"] * math.Tanh(p["W["+k+",1]"]*x[0]+p["W["+k+",2]"]*x[1]+p["W["+k+",3]"]*x[2]+p["b["+k+"]"])
			}
			return logBernoulli(r["y"][0], logistic(eta))
		}, 1,
	},
}

func (f truth) model(t *testing.T) *model.Model {
	t.Helper()
	m, err := f.build()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func record(m *model.Model, rng *rand.Rand) row {
	r := row{}
	for _, c := range m.Columns() {
		for range c.Width() {
			v := rng.NormFloat64()
			if c.Integer {
				v = c.Lower + float64(rng.Intn(int(min(c.Upper, 5))+1))
			}
			r[c.Name] = append(r[c.Name], v)
		}
	}
	return r
}

func load(t *testing.T, m *model.Model, rows []row) *model.Table {
	t.Helper()
	var columns [][]float64
	for _, c := range m.Columns() {
		var values []float64
		for _, r := range rows {
			values = append(values, r[c.Name]...)
		}
		columns = append(columns, values)
	}
	table, err := m.Load(len(rows), columns)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func point(m *model.Model, rng *rand.Rand) (theta []float64, named map[string]float64) {
	theta = make([]float64, m.Dim())
	for i := range theta {
		theta[i] = .7 * rng.NormFloat64()
	}
	values := make([]float64, len(m.ConstrainedNames()))
	m.Constrain(values, theta)
	named = map[string]float64{}
	for i, name := range m.ConstrainedNames() {
		named[name] = values[i]
	}
	return theta, named
}

func TestDensityAgainstPlainCode(t *testing.T) {
	for name, f := range truths {
		t.Run(name, func(t *testing.T) {
			m := f.model(t)
			rng := rand.New(rand.NewSource(1))
			for range 30 {
				theta, named := point(m, rng)
				var rows []row
				for range 70 {
					rows = append(rows, record(m, rng))
				}
				got := make([]float64, len(rows))
				m.LogDensities(got, theta, load(t, m, rows))
				for i, r := range rows {
					if want := f.density(named, r); math.Abs(got[i]-want) > 1e-11*(1+math.Abs(want)) {
						t.Fatalf("log density %g, plain code gives %g", got[i], want)
					}
				}
			}
		})
	}
}

// The densities of one-dimensional outcomes integrate to 1. Predictions are the means and
// probabilities that these densities imply.
func TestOutcomesAreNormalised(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	for name, f := range truths {
		if f.top < 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m := f.model(t)
			rng := rand.New(rand.NewSource(3))
			for range 10 {
				theta, _ := point(m, rng)
				rows, weights := outcomes(f.top, record(m, rng))
				table := load(t, m, rows)
				density := make([]float64, len(rows))
				m.LogDensities(density, theta, table)
				kind, _, size := m.Outcomes()
				prediction := make([]float64, size*len(rows))
				m.Predict(prediction, theta, table)
				var total, mean float64
				for i, r := range rows {
					p := math.Exp(density[i]) * weights[i]
					total += p
					mean += p * r["y"][0]
					if kind == ir.Probabilities && math.Abs(p-prediction[i]) > 1e-12 {
						t.Errorf("class %d has probability %g, predicted %g", i, p, prediction[i])
					}
				}
				// The tails of the t distribution outside the grid have probability 1e-9.
				if math.Abs(total-1) > 1e-8 {
					t.Errorf("densities add up to %.10g", total)
				}
				if kind != ir.Probabilities && math.Abs(mean-prediction[0]) > 1e-6*(1+math.Abs(mean)) {
					t.Errorf("mean %g, predicted %g", mean, prediction[0])
				}
			}
		})
	}
}

// outcomes returns copies of r with different outcomes, and weights for them. The weighted
// densities add up to about 1. Counts run from 0 to top and have weight 1. Real outcomes are
// sinh(t) on a grid of t, and have the weights of the trapezoid rule in t.
func outcomes(top int, r row) (rows []row, weights []float64) {
	with := func(y, weight float64) {
		c := row{}
		for name, v := range r {
			c[name] = v
		}
		c["y"] = []float64{y}
		rows, weights = append(rows, c), append(weights, weight)
	}
	for k := range top + 1 {
		if top > 0 {
			with(float64(k), 1)
		}
	}
	if top == 0 {
		const h = .002
		for t := -9.; t <= 9; t += h {
			with(math.Sinh(t), h*math.Cosh(t))
		}
	}
	return rows, weights
}
