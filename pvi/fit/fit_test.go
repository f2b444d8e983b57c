package fit

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fedpvi/gpu"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

var models = map[string]string{
	"linear":            `{ family = "linear", outcome = "y", terms = ["u*v", "c"], noise_sd = "learned" }`,
	"known noise":       `{ family = "linear", outcome = "y", terms = ["u", "v"], noise_sd = 0.7, groups = ["c"] }`,
	"robust":            `{ family = "robust", outcome = "y", terms = ["u", "c"], degrees_of_freedom = 5 }`,
	"logistic":          `{ family = "logistic", outcome = "c", positive = "q", terms = ["u*v"] }`,
	"threshold":         `{ family = "logistic", outcome = "y", positive = "> 0.5", terms = ["u"], groups = ["1 + v + u | c"] }`,
	"probit":            `{ family = "probit", outcome = "c", positive = "r", terms = ["u", "v"] }`,
	"poisson":           `{ family = "poisson", outcome = "n", terms = ["u", "c"], coding = "one-hot" }`,
	"grouped counts":    `{ family = "poisson", outcome = "n", terms = ["u"], groups = ["0 + v | c"] }`,
	"negative binomial": `{ family = "negative-binomial", outcome = "n", terms = ["u", "v"], groups = ["c"] }`,
	"plain counts":      `{ family = "negative-binomial", outcome = "n", terms = ["u", "v"] }`,
	"centred counts":    `{ family = "negative-binomial", outcome = "n", terms = ["u", "v"], groups = ["1 + v | c"] }`,
	"centred":           `{ family = "logistic", outcome = "y", positive = "> 0.5", terms = ["u"], groups = ["0 + v | c"] }`,
	"softmax":           `{ family = "softmax", outcome = "c", terms = ["u", "v"] }`,
	"mixture":           `{ family = "mixture", columns = ["u", "y"], components = 3 }`,
	"network":           `{ family = "neural-network", outcome = "y", terms = ["u", "v"], hidden = 3 }`,
}

// plain lists the families that models lacks. init adds a simple model for each.
var plain = map[string]bool{}

func init() {
	rows := fmt.Sprint(models)
	for _, f := range study.Families() {
		if strings.Contains(rows, fmt.Sprintf("family = %q", f)) {
			continue
		}
		outcome := map[study.OutcomeKind]string{
			study.Measured: `"y"`, study.Binary: `"c", positive = "q"`, study.Count: `"n"`, study.Class: `"c"`,
		}[(&study.Model{Family: f}).Kind()]
		plain[string(f)] = true
		models[string(f)] = fmt.Sprintf(`{ family = %q, outcome = %s, terms = ["u", "v"] }`, f, outcome)
	}
}

func modelOf(t interface{ Fatal(...any) }, text string) *Model {
	st, err := study.Parse("t.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(st)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newModel(t testing.TB, name string) *Model {
	t.Helper()
	return modelOfCounts(t, name, 60)
}

// modelOfCounts returns the named model in which most is the upper bound on counts.
func modelOfCounts(t testing.TB, name string, most int) *Model {
	t.Helper()
	options := "inference.rounds = 1\nprivacy.unit = \"none\"\n"
	if strings.HasPrefix(name, "centred") {
		options = "inference.solver = \"scoring\"\nprivacy = { unit = \"record\", epsilon = 1.0, delta = 1e-5 }\nfederation.nominal_records = 100\n"
	}
	return modelOf(t, fmt.Sprintf(`
study = { version = 1, name = "s" }
%s
model = %s
column = [
  { name = "u", type = "numeric", bounds = [-1, 1] },
  { name = "v", type = "numeric", bounds = [0, 10] },
  { name = "y", type = "numeric", bounds = [-2, 2] },
  { name = "n", type = "numeric", bounds = [0, %d] },
  { name = "c", type = "categorical", levels = ["p", "q", "r"] },
]`, options, models[name], most))
}

func randomShard(m *Model, n int, r *rand.Rand) *shard.Shard {
	records := new(shard.Records)
	for range n {
		records.Append([]float64{2*r.Float64() - 1, 10 * r.Float64(), 4*r.Float64() - 2, float64(r.IntN(61)), float64(r.IntN(3))})
	}
	return shard.Design(m.Study, records)
}

// With the solver "scoring", group effects are coordinates of θ. They must not also be quantities.
func TestCentredModelsHaveNoFurtherEffects(t *testing.T) {
	m := newModel(t, "centred")
	if all, err := m.QuantitiesAt(make([]float64, m.Dim())); err != nil || all != nil || len(m.Effects()) == 0 {
		t.Errorf("%v, %v, %d effects", all, err, len(m.Effects()))
	}
}

// A regression and its record program have the same log likelihoods, gradients and Hessians.
func TestRegressionsAreTheirPrograms(t *testing.T) {
	for name := range models {
		m := newModel(t, name)
		if m.General() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			s := randomShard(m, 150, r)
			if m.Program().Dim() != m.Dim() {
				t.Fatalf("the program has %d coordinates, the model %d", m.Program().Dim(), m.Dim())
			}
			program, l := engineOf(t, m, s), likelihoodOf(t, m, s, 1)
			d := m.Dim()
			for range 5 {
				theta := make([]float64, d)
				for i := range theta {
					theta[i] = .7 * r.NormFloat64()
				}
				got, want := make([]float64, d), make([]float64, d)
				value := l.AddGradient(got, theta)
				total, err := program.Sum(want, &gpu.Query{Draws: [][]float64{theta}, Clip: math.Inf(1)})
				if err != nil {
					t.Fatal(err)
				}
				close(t, "log likelihood", []float64{value}, []float64{total.LogDensity}, 1e-10)
				close(t, "gradient", got, want, 1e-9)
				family := gaussian.Full(d)
				e := solver.NewExpected(family)
				l.AddExpected(e, &solver.Approximation{Family: family, Mean: theta, Point: true})
				hessian := make([]float64, d*(d+1)/2)
				if err := program.Hessian(hessian, theta); err != nil {
					t.Fatal(err)
				}
				close(t, "Hessian", e.Hessian, hessian, 1e-5)
			}
			checkPrior(t, m, r)
		})
	}
}

func checkPrior(t *testing.T, m *Model, r *rand.Rand) {
	t.Helper()
	family := gaussian.Diagonal(m.Dim())
	theta := make([]float64, m.Dim())
	for i := range theta {
		theta[i] = r.NormFloat64()
	}
	density, err := family.LogDensity(priorOf(t, m, family))
	if err != nil {
		t.Fatal(err)
	}
	want := density(theta)
	if m.Centred() { // a centred effect is normal given its spread
		normal := func(x, sd float64) float64 { return -x*x/(2*sd*sd) - math.Log(sd) }
		for _, e := range m.Effects() {
			spread, half := m.Parameters.Prior(e.Spread), m.Parameters.At(e.Spread).HalfNormal
			want += normal(theta[e.Spread], half) - normal(theta[e.Spread]-spread.Mean, spread.SD)
			for i := e.First; i < e.First+e.Levels; i++ {
				want += normal(theta[i], math.Abs(theta[e.Spread])) - normal(theta[i], m.Parameters.Prior(i).SD)
			}
		}
	}
	close(t, "log prior", []float64{m.Program().LogPrior(theta, nil)}, []float64{want}, 1e-10)
}

func close(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	var size float64 = 1
	for _, x := range want {
		size = math.Max(size, math.Abs(x))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tolerance*size) {
			t.Fatalf("%s %d is %.12g, the program has %.12g", what, i, got[i], want[i])
		}
	}
}

// A regression and its record program have the same parameters in the same order. The names are
// also the same, except for text that the program adds.
func TestNamesAgree(t *testing.T) {
	for name := range models {
		m := newModel(t, name)
		for i, p := range m.Parameters.All() {
			own := m.Program().Names()[i]
			_, inner, _ := strings.Cut(p.Name, "[")
			if !strings.Contains(own, strings.TrimSuffix(p.Name, "]")) && !strings.Contains(own, inner) {
				t.Errorf("%s: coordinate %d is %q, in the program %q", name, i, p.Name, own)
			}
		}
	}
}

// A program and a regression compute the same expected log likelihood, up to the integration error
// of the program's quasi-random points.
func TestExpectations(t *testing.T) {
	m := newModel(t, "logistic")
	r := rand.New(rand.NewPCG(3, 4))
	s := randomShard(m, 80, r)
	exact := likelihoodOf(t, m, s, 1)
	averaged, err := m.Records(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range []gaussian.Family{gaussian.Full(m.Dim()), gaussian.Diagonal(m.Dim())} {
		natural := priorOf(t, m, family)
		for i := range natural {
			natural[i] *= 20
		}
		q, err := solver.NewApproximation(family, natural)
		if err != nil {
			t.Fatal(err)
		}
		a, b := solver.NewExpected(family), solver.NewExpected(family)
		exact.AddExpected(a, q)
		averaged.AddExpected(b, q)
		close(t, "value", []float64{b.Value}, []float64{a.Value}, .01)
		close(t, "gradient", b.Gradient, a.Gradient, .02)
		close(t, "Hessian", b.Hessian, a.Hessian, .02)
	}
}

// If the prior is not Gaussian, its log ratio to a Gaussian base is divided among the likelihoods
// of all clients. Together with the base, these must add up to the log posterior, so the ratio
// counts exactly once. The Hessian must be the derivative of the gradient.
func TestPriorIsShared(t *testing.T) {
	for _, name := range []string{"mixture", "network"} {
		m := newModel(t, name)
		r := rand.New(rand.NewPCG(2, 7))
		d := m.Dim()
		theta := make([]float64, d)
		for i := range theta {
			theta[i] = .5 * r.NormFloat64()
		}
		s := randomShard(m, 30, r)
		want, got := make([]float64, d), make([]float64, d)
		if _, err := engineOf(t, m, s).Sum(want, &gpu.Query{Draws: [][]float64{theta}, Clip: math.Inf(1)}); err != nil {
			t.Fatal(err)
		}
		m.Program().LogPrior(theta, want)
		const clients = 3
		whole, rest := likelihoodOf(t, m, s, clients), likelihoodOf(t, m, randomShard(m, 0, r), clients)
		for _, l := range []solver.Likelihood{whole, rest, rest} {
			l.AddGradient(got, theta)
		}
		for i, p := range m.Parameters.All() {
			got[i] -= (theta[i] - p.Prior.Mean) / (p.Prior.SD * p.Prior.SD)
		}
		close(t, name+": gradient", got, want, 1e-10)
		family := gaussian.Full(d)
		e := solver.NewExpected(family)
		whole.AddExpected(e, &solver.Approximation{Family: family, Mean: theta, Point: true})
		for j := range theta {
			const step = 1e-5
			up, down := make([]float64, d), make([]float64, d)
			theta[j] += step
			whole.AddGradient(up, theta)
			theta[j] -= 2 * step
			whole.AddGradient(down, theta)
			theta[j] += step
			for i := range theta {
				row, column := max(i, j), min(i, j)
				close(t, name+": Hessian", []float64{e.Hessian[row*(row+1)/2+column]}, []float64{(up[i] - down[i]) / (2 * step)}, 1e-4)
			}
		}
	}
}

// NaturalPrior and CheckPrior look at one coordinate at a time, and must agree with Prior.
func TestPriorsByThemselves(t *testing.T) {
	for name := range models {
		m := newModel(t, name)
		family := gaussian.Diagonal(m.Dim())
		whole, err := m.Prior(family)
		if err != nil || m.CheckPrior() != nil {
			t.Fatal(err, m.CheckPrior())
		}
		for i := range m.Dim() {
			h, precision := m.NaturalPrior(i)
			if h != whole[i] || precision != whole[m.Dim()+i] {
				t.Errorf("%s: the prior of coordinate %d is %g and %g, of all %g and %g", name, i, h, precision, whole[i], whole[m.Dim()+i])
			}
			if m.Parameters.Prior(i) != m.Parameters.At(i).Prior {
				t.Errorf("%s: coordinate %d has two priors", name, i)
			}
		}
		for _, bad := range []study.Normal{{Mean: 1, SD: 0}, {Mean: 1e300, SD: 1e-10}, {SD: 1e-200}, {SD: 1e200}, {Mean: math.NaN(), SD: 1}} {
			var all []Parameter
			for _, p := range m.Parameters.All() {
				all = append(all, p)
			}
			all[m.Dim()/2].Prior = bad
			m := &Model{Parameters: parametersOf(all)}
			_, err := m.Prior(family)
			if own := m.CheckPrior(); err == nil || own == nil || own.Error() != err.Error() {
				t.Errorf("%s: with the prior %v it is %v, of all %v", name, bad, own, err)
			}
		}
	}
}

func parametersOf(all []Parameter) (p Parameters) {
	p.addAll(len(all), func(k int) Parameter { return all[k] }, func(k int) study.Normal { return all[k].Prior })
	return p
}

// The digest of a study's program stays the same in later versions of fedpvi. The test's programs
// contain no logarithms, because their last bit differs between machines.
func TestProgramsStayTheSame(t *testing.T) {
	for name, want := range map[string]string{
		"logistic": "b5255abf3f4c5d96",
		"poisson":  "b599465a7fdfd9fd",
		"probit":   "b71849c1118b5f79",
		"softmax":  "53064d48b14f3344",
	} {
		digest := newModel(t, name).Program().Digest()
		if got := hex.EncodeToString(digest[:8]); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
}
