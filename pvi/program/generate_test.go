package program_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/pvi/program"
)

// cumulative has the distribution function of each random function. It comes from another library
// or is written by hand. a is 0.7, and c is 1.6.
var cumulative = map[string]func(x float64) float64{
	"normal_rng(a, c)":               distuv.Normal{Mu: .7, Sigma: 1.6}.CDF,
	"std_normal_rng()":               distuv.UnitNormal.CDF,
	"student_t_rng(3, a, c)":         distuv.StudentsT{Mu: .7, Sigma: 1.6, Nu: 3}.CDF,
	"cauchy_rng(a, c)":               distuv.StudentsT{Mu: .7, Sigma: 1.6, Nu: 1}.CDF,
	"double_exponential_rng(a, c)":   distuv.Laplace{Mu: .7, Scale: 1.6}.CDF,
	"logistic_rng(a, c)":             distuv.Logistic{Mu: .7, S: 1.6}.CDF,
	"gumbel_rng(a, c)":               distuv.GumbelRight{Mu: .7, Beta: 1.6}.CDF,
	"lognormal_rng(a, c)":            distuv.LogNormal{Mu: .7, Sigma: 1.6}.CDF,
	"gamma_rng(a, c)":                distuv.Gamma{Alpha: .7, Beta: 1.6}.CDF,
	"inv_gamma_rng(a, c)":            distuv.InverseGamma{Alpha: .7, Beta: 1.6}.CDF,
	"chi_square_rng(c)":              distuv.ChiSquared{K: 1.6}.CDF,
	"exponential_rng(c)":             distuv.Exponential{Rate: 1.6}.CDF,
	"weibull_rng(a, c)":              distuv.Weibull{K: .7, Lambda: 1.6}.CDF,
	"beta_rng(a, c)":                 distuv.Beta{Alpha: .7, Beta: 1.6}.CDF,
	"beta_proportion_rng(a, c)":      distuv.Beta{Alpha: .7 * 1.6, Beta: .3 * 1.6}.CDF,
	"uniform_rng(a, c)":              distuv.Uniform{Min: .7, Max: 1.6}.CDF,
	"bernoulli_rng(a)":               distuv.Bernoulli{P: .7}.CDF,
	"bernoulli_logit_rng(a)":         distuv.Bernoulli{P: 1 / (1 + math.Exp(-.7))}.CDF,
	"binomial_rng(9, a)":             distuv.Binomial{N: 9, P: .7}.CDF,
	"binomial_logit_rng(9, a)":       distuv.Binomial{N: 9, P: 1 / (1 + math.Exp(-.7))}.CDF,
	"poisson_rng(c)":                 distuv.Poisson{Lambda: 1.6}.CDF,
	"poisson_log_rng(a)":             distuv.Poisson{Lambda: math.Exp(.7)}.CDF,
	"beta_binomial_rng(9, a, c)":     sums(0, betaBinomial(9, .7, 1.6)),
	"neg_binomial_2_rng(a, c)":       sums(0, negBinomial(.7, 1.6)),
	"neg_binomial_2_log_rng(a, c)":   sums(0, negBinomial(math.Exp(.7), 1.6)),
	"categorical_rng([.2, .5, .3]')": sums(1, func(k float64) float64 { return []float64{0, .2, .5, .3}[int(k)] }),
	"categorical_logit_rng([a, c, 0]')": sums(1, func(k float64) float64 {
		return []float64{0, math.Exp(.7), math.Exp(1.6), 1}[int(k)] / (1 + math.Exp(.7) + math.Exp(1.6))
	}),
	"ordered_logistic_rng(a, [-1, c]')": cuts(distuv.Logistic{S: 1}.CDF, -1.7, .9),
	"ordered_probit_rng(a, [-1, c]')":   cuts(distuv.UnitNormal.CDF, -1.7, .9),
}

// sums returns the distribution function of a count. probability gives the probability of each
// value, beginning with first.
func sums(first float64, probability func(k float64) float64) func(x float64) float64 {
	return func(x float64) (sum float64) {
		for k := first; k <= x; k++ {
			sum += probability(k)
		}
		return sum
	}
}

func betaBinomial(n, a, b float64) func(k float64) float64 {
	return func(k float64) float64 {
		return math.Exp(-lbeta(n-k+1, k+1) - math.Log(n+1) + lbeta(k+a, n-k+b) - lbeta(a, b))
	}
}

func negBinomial(mean, size float64) func(k float64) float64 {
	return func(k float64) float64 {
		return math.Exp(lgamma(k+size) - lgamma(size) - lgamma(k+1) + size*math.Log(size/(size+mean)) + k*math.Log(mean/(size+mean)))
	}
}

func cuts(below func(float64) float64, first, second float64) func(x float64) float64 {
	return func(x float64) float64 {
		return []float64{0, below(first), below(second), 1}[max(0, min(3, int(x)))]
	}
}

// generated compiles a program that has the parameters a and c and the given generated quantities.
func generated(t testing.TB, quantities string) *program.Compiled {
	t.Helper()
	text := "data { int N; vector[N] z; } parameters { real a; real<lower=0> c; } model { a ~ normal(0, 1); c ~ normal(0, 1); z ~ logistic(a, c); }\n"
	if quantities != "" {
		text += "generated quantities { " + quantities + " }"
	}
	c, err := compileUsual(text, false)
	check(t, err)
	return c
}

// point holds the coordinates that correspond to a = 0.7 and c = 1.6.
var point = []float64{.7, math.Log(1.6)}

// Each random function draws from the distribution that its name says, according to a
// Kolmogorov–Smirnov test with 4000 draws.
func TestRandomNumbers(t *testing.T) {
	const n = 4000
	for call, cdf := range cumulative {
		g := generated(t, fmt.Sprintf("real x = %s;", call)).Quantities.Generator([32]byte{1})
		draws, one := make([]float64, n), make([]float64, 1)
		for k := range draws {
			g.Shared(one, point, k)
			draws[k] = one[0]
		}
		slices.Sort(draws)
		// The distance is largest at one of the draws. Equal draws make a single step in the empirical
		// distribution function.
		distance := 0.
		for k := 0; k < n; {
			next := k
			for next < n && draws[next] == draws[k] {
				next++
			}
			distance = max(distance, math.Abs(float64(next)/n-cdf(draws[k])))
			if draws[k] != math.Trunc(draws[k]) {
				distance = max(distance, math.Abs(float64(k)/n-cdf(draws[k])))
			}
			k = next
		}
		if s := distance * math.Sqrt(n); !(s < 1.95) { // by chance, the distance exceeds this limit with probability 0.001
			t.Errorf("%s: statistic %.2f", call, s)
		}
	}
}

// The elements of a random container are independent even if their arguments are equal, as in
// normal_rng([a, a]', c).
func TestRandomContainers(t *testing.T) {
	for _, call := range []string{"normal_rng([a, a]', c)", "student_t_rng(5, [0, 0]', c)", "neg_binomial_2_rng([2, 2]', c)", "bernoulli_rng([.4, .4]')"} {
		g := generated(t, fmt.Sprintf("vector[2] x = to_vector(%s);", call)).Quantities.Generator([32]byte{2})
		const n = 4000
		x := make([]float64, 2)
		var sum, squares, product [2]float64
		for k := range n {
			g.Shared(x, point, k)
			for i := range x {
				sum[i], squares[i], product[i] = sum[i]+x[i], squares[i]+x[i]*x[i], product[i]+x[0]*x[1]
			}
		}
		variance := func(i int) float64 { return squares[i]/n - sum[i]*sum[i]/n/n }
		if r := (product[0]/n - sum[0]*sum[1]/n/n) / math.Sqrt(variance(0)*variance(1)); math.Abs(r) > 4/math.Sqrt(n) {
			t.Errorf("%s: correlation %.3f", call, r)
		}
	}
}

// Generated quantities have the same values as the same formulas in Go. They leave the record
// program unchanged, and cannot see variables of the model block.
func TestQuantities(t *testing.T) {
	c := generated(t, `
    real ratio = exp(a) / c;
    vector[3] steps = cumulative_sum([a, c, 1]');
    matrix[2, 2] m;
    int<lower=0, upper=1> above = a > c || c >= 1.5;
    real kind = a < 0 ? 1 : (a < 1 ? 2 : 3);
    real larger;
    m[1] = [a, c];
    m[2] = [1, 2] * 2;
    if (a > c)
      larger = a;
    else
      larger = c;
    { real hidden = a; steps[3] += hidden; }
    for (k in 1:2) m[k, k] += k;
    vector[N] each = z * a;`)
	g := c.Quantities.Generator([32]byte{})
	a, b := .7, 1.6
	names := []string{"ratio", "steps[1]", "steps[2]", "steps[3]", "m[1,1]", "m[1,2]", "m[2,1]", "m[2,2]", "above", "kind", "larger"}
	want := []float64{math.Exp(a) / b, a, a + b, a + b + 1 + a, a + 1, b, 2, 6, 1, 2, b}
	got := make([]float64, len(names))
	g.Shared(got, point, 0)
	if !slices.Equal(g.Names(), names) {
		t.Fatal(g.Names())
	}
	for i, x := range got {
		if math.Abs(x-want[i]) > 1e-14 {
			t.Errorf("%s = %g, not %g", names[i], x, want[i])
		}
	}
	if slices.Contains(g.Random(), true) {
		t.Error("a quantity without random numbers is random")
	}
	c = generated(t, "vector[N] more; for (n in 1:N) more[n] = gumbel_lpdf(z[n] | a, c);")
	if plain := generated(t, "").Model; c.Model.Digest() != plain.Digest() || !maps.Equal(c.Model.Densities(), plain.Densities()) {
		t.Error("generated quantities change the record program")
	}
}

// If a program has no generated quantities, the compiler adds the log density of a record, the mean
// of its outcome, and a new outcome. This mean must agree with the average of many new outcomes.
func TestPredictionsOfDensities(t *testing.T) {
	for density, outcomes := range map[string][]string{
		"z ~ normal(a, c)":                                   {"z"},
		"z ~ student_t(4, a, c)":                             {"z"},
		"z ~ gumbel(a, c)":                                   {"z"},
		"y ~ bernoulli(inv_logit(a))":                        {"y"},
		"k ~ poisson(c)":                                     {"k"},
		"k ~ neg_binomial_2(c, 2)":                           {"k"},
		"k ~ binomial_logit(50, a)":                          {"k"},
		"k ~ beta_binomial(50, c, 2)":                        {"k"},
		"for (n in 1:N) k[n] ~ poisson_log(a)":               {"k"},
		"for (n in 1:N) if (z[n] > 0) k[n] ~ poisson_log(a)": nil,
		"z ~ normal(a, c); k ~ poisson(c)":                   nil,
	} {
		text := "data { int N; vector[N] z; array[N] int<lower=0> k; array[N] int<lower=0, upper=1> y; } parameters { real a; real<lower=0> c; } model { a ~ normal(0, 1); c ~ normal(0, 1); " + density + "; }"
		compiled, err := compileUsual(text, true)
		if err != nil {
			t.Fatal(density, err)
		}
		g := compiled.Quantities.Generator([32]byte{3})
		want := []string{"log_lik"}
		for _, y := range outcomes {
			want = append(want, y+"_expected", y+"_rep")
		}
		if !slices.Equal(g.RecordNames(), want) {
			t.Errorf("%s: %v", density, g.RecordNames())
		}
		if outcomes == nil {
			continue
		}
		r, err := g.Load(1, [][]float64{{.5}, {3}, {1}})
		check(t, err)
		const n = 4000
		one, sum, squares := make([]float64, 3), 0., 0.
		for k := range n {
			g.Shared(nil, point, k)
			r.Records(one, 0)
			sum, squares = sum+one[2], squares+one[2]*one[2]
		}
		if sd := math.Sqrt(squares/n - sum*sum/n/n); math.Abs(sum/n-one[1]) > 4*sd/math.Sqrt(n) {
			t.Errorf("%s: the mean is %g, and that of outcomes %g", density, one[1], sum/n)
		}
	}
}
