package scoring_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A scripted describes a study whose model is a program, and draws its records.
type scripted struct {
	columns string // columns of the study
	data    string // keys of model.data, without the braces
	program string
	// draw returns a truth, in unconstrained coordinates, and a function that draws a record.
	draw func(r *rand.Rand) (truth []float64, record func() []float64)
}

func numericColumn(name string, low, high float64) string {
	return fmt.Sprintf("[[column]]\nname = %q\ntype = \"numeric\"\nbounds = [%g, %g]\noutside = \"clamp\"\n", name, low, high)
}

func levelsColumn(name, kind string, n int) string {
	levels := make([]string, n)
	for i := range levels {
		levels[i] = fmt.Sprintf("\"l%02d\"", i)
	}
	return fmt.Sprintf("[[column]]\nname = %q\ntype = %q\nlevels = [%s]\n", name, kind, strings.Join(levels, ", "))
}

func bernoulli(r *rand.Rand, p float64) float64 {
	if r.Float64() < p {
		return 1
	}
	return 0
}

func count(r *rand.Rand, mean float64) float64 {
	return distuv.Poisson{Lambda: max(mean, 1e-9), Src: r}.Rand()
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func clamp(x, low, high float64) float64 { return min(max(x, low), high) }

var programs = map[string]scripted{
	"linear": {
		columns: numericColumn("y", -20, 20) + numericColumn("x", -3, 3) + numericColumn("z", -3, 3),
		program: `data { int N; vector[N] y; vector[N] x; vector[N] z; }
parameters { real a; real b; real c; real<lower=0> s; }
model { a ~ normal(0, 2); b ~ student_t(4, 0, 2); c ~ normal(0, 2); s ~ exponential(1); y ~ normal(a + b * x + c * z, s); }`,
		draw: func(r *rand.Rand) ([]float64, func() []float64) {
			truth := []float64{2 * r.NormFloat64(), 2 * r.NormFloat64(), 2 * r.NormFloat64(), math.Log(r.ExpFloat64())}
			return truth, func() []float64 {
				x, z := clamp(r.NormFloat64(), -3, 3), clamp(r.NormFloat64(), -3, 3)
				return []float64{clamp(truth[0]+truth[1]*x+truth[2]*z+math.Exp(truth[3])*r.NormFloat64(), -20, 20), x, z}
			}
		},
	},
	"laplace": {
		columns: numericColumn("y", -20, 20) + numericColumn("x", -3, 3),
		program: `data { int N; vector[N] y; vector[N] x; }
parameters { real a; real b; real<lower=0> s; }
model { a ~ normal(0, 2); b ~ normal(0, 1); s ~ exponential(1); y ~ double_exponential(a + b * x, s); }`,
		draw: func(r *rand.Rand) ([]float64, func() []float64) {
			truth := []float64{2 * r.NormFloat64(), r.NormFloat64(), math.Log(r.ExpFloat64())}
			return truth, func() []float64 {
				x, noise := clamp(r.NormFloat64(), -3, 3), math.Exp(truth[2])*(r.ExpFloat64()-r.ExpFloat64())
				return []float64{clamp(truth[0]+truth[1]*x+noise, -20, 20), x}
			}
		},
	},
	"raw": {
		columns: numericColumn("y", 0, 100) + numericColumn("year", 1990, 2020) + numericColumn("metres", 0, 9000),
		program: `data { int N; vector[N] y; vector[N] year; vector[N] metres; }
parameters { real a; real b; real c; real<lower=0> s; }
model { a ~ normal(0, 2000); b ~ normal(0, 1); c ~ normal(0, 0.01); s ~ exponential(0.1); y ~ normal(a + b * year + c * metres, s); }`,
		draw: func(r *rand.Rand) ([]float64, func() []float64) {
			b, c := 0.5*r.NormFloat64(), 0.002*r.NormFloat64()
			truth := []float64{50 + 5*r.NormFloat64() - 2005*b - 3000*c, b, c, math.Log(8)}
			return truth, func() []float64 {
				x, z := math.Floor(1990+31*r.Float64()), clamp(3000+1500*r.NormFloat64(), 0, 9000)
				return []float64{clamp(truth[0]+b*x+c*z+8*r.NormFloat64(), 0, 100), x, z}
			}
		},
	},
	"logistic": {
		columns: levelsColumn("y", "categorical", 2) + numericColumn("x", -3, 3) + levelsColumn("g", "categorical", 3),
		data:    `sick = { column = "y", is = "l01" }, b1 = { column = "g", is = "l01" }, b2 = { column = "g", is = "l02" }`,
		program: `data { int N; array[N] int<lower=0, upper=1> sick; vector[N] x; vector[N] b1; vector[N] b2; }
parameters { real a; real b; vector[2] c; }
model { a ~ normal(0, 1.5); b ~ normal(0, 1); c ~ normal(0, 1); sick ~ bernoulli_logit(a + b * x + c[1] * b1 + c[2] * b2); }`,
		draw: func(r *rand.Rand) ([]float64, func() []float64) {
			truth := []float64{1.5 * r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
			return truth, func() []float64 {
				x, g := clamp(r.NormFloat64(), -3, 3), float64(r.IntN(3))
				eta := truth[0] + truth[1]*x
				if g > 0 {
					eta += truth[1+int(g)]
				}
				return []float64{bernoulli(r, sigmoid(eta)), x, g}
			}
		},
	},
	"exposure": {
		columns: numericColumn("y", 0, 200) + numericColumn("x", -3, 3) + numericColumn("days", 1, 30),
		program: `data { int N; array[N] int<lower=0> y; vector[N] x; vector<lower=1>[N] days; }
parameters { real a; real b; }
model { a ~ normal(-2, 1); b ~ normal(0, 0.5); y ~ poisson_log(log(days) + a + b * x); }`,
		draw: func(r *rand.Rand) ([]float64, func() []float64) {
			truth := []float64{-2 + r.NormFloat64(), 0.5 * r.NormFloat64()}
			return truth, func() []float64 {
				x, days := clamp(r.NormFloat64(), -3, 3), 1+29*r.Float64()
				return []float64{min(count(r, days*math.Exp(truth[0]+truth[1]*x)), 200), x, days}
			}
		},
	},
	"ordered": {
		columns: levelsColumn("y", "ordered", 4) + numericColumn("x", -3, 3),
		program: `data { int N; array[N] int<lower=1, upper=4> y; vector[N] x; }
parameters { real b; ordered[3] cut; }
model { b ~ normal(0, 1); cut ~ normal(0, 2); for (n in 1:N) y[n] ~ ordered_logistic(b * x[n], cut); }`,
		draw: func(r *rand.Rand) ([]float64, func() []float64) {
			b, cut := r.NormFloat64(), []float64{-1.5 + 0.5*r.NormFloat64(), 0, 0}
			cut[1] = cut[0] + math.Exp(0.5*r.NormFloat64())
			cut[2] = cut[1] + math.Exp(0.5*r.NormFloat64())
			return []float64{b, cut[0], math.Log(cut[1] - cut[0]), math.Log(cut[2] - cut[1])}, func() []float64 {
				x := clamp(r.NormFloat64(), -3, 3)
				u, y := b*x+distuv.Logistic{Mu: 0, S: 1}.Quantile(min(max(r.Float64(), 1e-12), 1-1e-12)), 0.0
				for _, c := range cut {
					if u > c {
						y++
					}
				}
				return []float64{y, x}
			}
		},
	},
	"survival": {
		columns: numericColumn("time", 0, 10) + levelsColumn("died", "categorical", 2) + numericColumn("x", -3, 3),
		data:    `event = { column = "died", is = "l01" }`,
		program: `data { int N; vector<lower=0>[N] time; vector[N] event; vector[N] x; }
parameters { real a; real b; }
model { a ~ normal(-1, 1); b ~ normal(0, 0.5); target += sum(event .* (a + b * x) - time .* exp(a + b * x)); }`,
		draw: func(r *rand.Rand) ([]float64, func() []float64) {
			truth := []float64{-1 + r.NormFloat64(), 0.5 * r.NormFloat64()}
			return truth, func() []float64 {
				x := clamp(r.NormFloat64(), -3, 3)
				died, left := r.ExpFloat64()/math.Exp(truth[0]+truth[1]*x), 10*r.Float64()
				if died < left {
					return []float64{died, 1, x}
				}
				return []float64{left, 0, x}
			}
		},
	},
	"curve": {
		columns: numericColumn("y", -10, 30) + numericColumn("dose", 0, 10),
		program: `data { int N; vector[N] y; vector[N] dose; }
parameters { real<lower=0> top; real<lower=0> half; real<lower=0> s; }
model { top ~ lognormal(2, 0.5); half ~ lognormal(1, 0.5); s ~ lognormal(0, 0.5); y ~ normal(top * dose ./ (half + dose), s); }`,
		draw: func(r *rand.Rand) ([]float64, func() []float64) {
			truth := []float64{2 + 0.5*r.NormFloat64(), 1 + 0.5*r.NormFloat64(), 0.5 * r.NormFloat64()}
			return truth, func() []float64 {
				dose := 10 * r.Float64()
				mean := math.Exp(truth[0]) * dose / (math.Exp(truth[1]) + dose)
				return []float64{clamp(mean+math.Exp(truth[2])*r.NormFloat64(), -10, 30), dose}
			}
		},
	},
	"intercepts": {
		columns: levelsColumn("y", "categorical", 2) + numericColumn("x", -3, 3) + levelsColumn("site", "categorical", 12),
		data:    `sick = { column = "y", is = "l01" }, J = { levels = "site" }`,
		program: `data { int N; int J; array[N] int<lower=0, upper=1> sick; vector[N] x; array[N] int<lower=1, upper=J> site; }
parameters { real mu; real<lower=0> tau; vector[J] alpha; real b; }
model { mu ~ normal(0, 1); tau ~ normal(0, 1); alpha ~ normal(mu, tau); b ~ normal(0, 1); sick ~ bernoulli_logit(alpha[site] + b * x); }`,
		draw: func(r *rand.Rand) ([]float64, func() []float64) {
			truth := []float64{r.NormFloat64(), math.Log(math.Abs(r.NormFloat64()))}
			for range 12 {
				truth = append(truth, truth[0]+math.Exp(truth[1])*r.NormFloat64())
			}
			truth = append(truth, r.NormFloat64())
			return truth, func() []float64 {
				x, site := clamp(r.NormFloat64(), -3, 3), r.IntN(12)
				return []float64{bernoulli(r, sigmoid(truth[2+site]+truth[14]*x)), x, float64(site)}
			}
		},
	},
	"overdispersed": {
		columns: numericColumn("y", 0, 200) + numericColumn("x", -3, 3),
		program: `data { int N; array[N] int<lower=0> y; vector[N] x; }
parameters { real a; real b; real<lower=0> s; vector[N] e; }
model { a ~ normal(1, 1); b ~ normal(0, 0.5); s ~ lognormal(-0.5, 0.5); e ~ normal(0, s); y ~ poisson_log(a + b * x + e); }`,
		draw: func(r *rand.Rand) ([]float64, func() []float64) {
			truth := []float64{1 + 0.7*r.NormFloat64(), 0.5 * r.NormFloat64(), -0.5 + 0.5*r.NormFloat64()}
			return truth, func() []float64 {
				x := clamp(r.NormFloat64(), -3, 3)
				return []float64{min(count(r, math.Exp(truth[0]+truth[1]*x+math.Exp(truth[2])*r.NormFloat64())), 200), x}
			}
		},
	},
	"apart": {
		columns: levelsColumn("y", "categorical", 2) + numericColumn("x", -3, 3) + levelsColumn("site", "categorical", 12),
		data:    `sick = { column = "y", is = "l01" }, J = { levels = "site" }`,
		program: `data { int N; int J; array[N] int<lower=0, upper=1> sick; vector[N] x; array[N] int<lower=1, upper=J> site; }
parameters { real mu; real<lower=0> tau; vector[J] z; real b; }
model { mu ~ normal(0, 1); tau ~ normal(0, 1); z ~ std_normal(); b ~ normal(0, 1); sick ~ bernoulli_logit(mu + tau * z[site] + b * x); }`,
		draw: func(r *rand.Rand) ([]float64, func() []float64) {
			truth := []float64{r.NormFloat64(), math.Log(math.Abs(r.NormFloat64()))}
			for range 12 {
				truth = append(truth, r.NormFloat64())
			}
			truth = append(truth, r.NormFloat64())
			return truth, func() []float64 {
				x, site := clamp(r.NormFloat64(), -3, 3), r.IntN(12)
				eta := truth[0] + math.Exp(truth[1])*truth[2+site] + truth[14]*x
				return []float64{bernoulli(r, sigmoid(eta)), x, float64(site)}
			}
		},
	},
}

func (s scripted) study(t testing.TB, records int) *study.Study {
	t.Helper()
	text := fmt.Sprintf("study = { version = 2, name = \"p\" }\nprivacy = { unit = \"record\", epsilon = 1.0, delta = 1e-5 }\ninference = {}\nfederation = { nominal_records = %d }\n%s[model]\ndata = { %s }\nprogram = \"\"\"\n%s\n\"\"\"\n",
		records/5, s.columns, s.data, s.program)
	st, err := study.Parse("p.toml", []byte(text))
	check(t, err)
	return st
}

// world returns a study of five clients with n records.
func (s scripted) world(t testing.TB, n int, multiplier float64, seed uint64) *world {
	t.Helper()
	st := s.study(t, n)
	w := newWorld(t, st, 5, multiplier, seed)
	var record func() []float64
	w.truth, record = s.draw(rand.New(rand.NewPCG(seed, 11)))
	records := new(shard.Records)
	for range n {
		records.Append(record())
	}
	w.records = shard.Design(st, records)
	return w
}

// some returns the names or, with FEDPVI_LONG, those of all programs.
func some(names ...string) []string {
	if os.Getenv("FEDPVI_LONG") != "" {
		return slices.Sorted(maps.Keys(programs))
	}
	return names
}

// hostile returns n records. In each numeric column one value in eight is NaN, unless it has
// counts, and one is a bound.
func (s scripted) hostile(t testing.TB, st *study.Study, r *rand.Rand, n int) *shard.Shard {
	t.Helper()
	_, record := s.draw(r)
	records := new(shard.Records)
	for range n {
		row := record()
		for j := range row {
			c := &st.Columns[j]
			switch k := r.IntN(8); {
			case c.Type == study.Numeric && k == 0 && !st.Counts(j):
				row[j] = math.NaN()
			case c.Type == study.Numeric && k == 1:
				row[j] = []float64{c.Low, c.High}[r.IntN(2)]
			}
		}
		records.Append(row)
	}
	return shard.Design(st, records)
}
