package fit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

const programColumns = `
[study]
version = 2
name = "programs"
[[column]]
name = "x"
type = "numeric"
bounds = [-3, 3]
[[column]]
name = "s"
type = "categorical"
levels = ["a", "b"]
[[column]]
name = "g"
type = "categorical"
levels = ["p", "q", "r"]
[[column]]
name = "y"
type = "numeric"
bounds = [-9, 9]
[[column]]
name = "k"
type = "numeric"
bounds = [0, 50]
[privacy]
unit = "none"
[inference]
solver = "natural-gradient"
rounds = 5
intervals = "none"
[federation]
nominal_records = 10
`

const programData = `data {
  int N;
  vector[N] x;
  vector[N] b;
  vector[N] y;
  array[N] int<lower=0> k;
  array[N] int<lower=0, upper=1> s;
  array[N] int<lower=1, upper=3> g;
}
`

// families has a program in the Stan language for each regression family. The order of the
// parameters is that of the family's θ.
var families = []struct{ name, keys, parameters, model string }{
	{"linear", "outcome = \"y\"\nnoise_sd = \"learned\"", "real l;", "l ~ normal(log(0.5), log(3)); y ~ normal(eta, exp(l));"},
	{"linear", "outcome = \"y\"\nnoise_sd = 1.5", "", "for (n in 1:N) target += normal_lpdf(y[n] | eta[n], 1.5);"},
	{"logistic", "outcome = \"s\"\npositive = \"b\"", "", "s ~ bernoulli_logit(eta);"},
	{"probit", "outcome = \"s\"\npositive = \"b\"", "", "for (n in 1:N) s[n] ~ bernoulli(Phi(eta[n]));"},
	{"poisson", "outcome = \"k\"", "", "k ~ poisson_log(eta);"},
	{"negative-binomial", "outcome = \"k\"", "real l;", "l ~ normal(log(3), log(5)); k ~ neg_binomial_2(exp(eta), exp(l));"},
	{"robust", "outcome = \"y\"", "real l;", "l ~ normal(log(0.5), log(3)); y ~ student_t(4, eta, exp(l));"},
	{
		"softmax", "outcome = \"g\"", "vector[2] d;",
		"d ~ std_normal(); for (n in 1:N) g[n] ~ categorical_logit([0, eta[n], d[1] + d[2] * x[n]]');",
	},
}

// Each regression family has the same log densities as its program, for records and for the prior,
// with and without a group.
func TestProgramsOfFamilies(t *testing.T) {
	for _, f := range families {
		for _, grouped := range []bool{false, true} {
			if grouped && f.name == "softmax" {
				continue
			}
			t.Run(fmt.Sprint(f.name, grouped), func(t *testing.T) {
				family := fmt.Sprintf("[model]\nfamily = %q\nterms = [\"x\"]\nstandardise = \"none\"\n%s\n", f.name, f.keys)
				parameters, model, eta := f.parameters, f.model, "c[1] + c[2] * x"
				if grouped {
					family += "groups = [\"g\"]\n"
					parameters += " real lt; vector[3] z;"
					model += " lt ~ normal(log(0.5), log(3)); z ~ std_normal();"
					eta += " + exp(lt) * z[g]"
				}
				text := fmt.Sprintf("%sparameters { vector[2] c; %s }\ntransformed parameters { vector[N] eta = %s; }\nmodel { c ~ normal(0, 1); %s }\n", programData, parameters, eta, model)
				same(t, parsed(t, programColumns+family), parsed(t, programColumns+"[model]\nprogram = '''\n"+text+"'''\n[model.data]\ns = { column = \"s\", is = \"b\" }\nb = { column = \"s\", is = \"b\" }\n"))
			})
		}
	}
}

func parsed(t *testing.T, text string) *fit.Model {
	t.Helper()
	st, err := study.Parse("test.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := fit.New(st)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func naturalOf(t *testing.T, family gaussian.Family, mean []float64, cov mat.Symmetric) []float64 {
	t.Helper()
	natural := make([]float64, family.Size())
	if err := family.FromMoments(natural, mean, cov); err != nil {
		t.Fatal(err)
	}
	return natural
}

// someRows returns n random records with the columns programColumns.
func someRows(r *rand.Rand, n int) *shard.Records {
	records := new(shard.Records)
	for range n {
		records.Append([]float64{6*r.Float64() - 3, float64(r.IntN(2)), float64(r.IntN(3)), 18*r.Float64() - 9, float64(r.IntN(51))})
	}
	return records
}

// same fails the test if the two models have different log densities at random points for random
// records.
func same(t *testing.T, family, program *fit.Model) {
	t.Helper()
	if family.Dim() != program.Dim() {
		t.Fatalf("%d and %d coordinates: %v, %v", family.Dim(), program.Dim(), family.Names(), program.Names())
	}
	r := rand.New(rand.NewPCG(1, 2))
	records := someRows(r, 20)
	for range 3 {
		theta := make([]float64, family.Dim())
		for i := range theta {
			theta[i] = r.NormFloat64()
		}
		want, got := evaluate(t, family, records, theta), evaluate(t, program, records, theta)
		for i := range want {
			near(t, fmt.Sprint("record ", i), got[i], want[i])
		}
		near(t, "prior", program.Program().LogPrior(theta, nil), family.Program().LogPrior(theta, nil))
	}
}

func evaluate(t *testing.T, m *fit.Model, records *shard.Records, theta []float64) []float64 {
	t.Helper()
	table, err := m.Load(shard.Design(m.Study, records))
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, records.Len())
	m.Program().LogDensities(dst, theta, table)
	return dst
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-11*math.Max(1, math.Abs(want))) {
		t.Errorf("%s: %.15g, not %.15g", what, got, want)
	}
}
