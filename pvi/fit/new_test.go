package fit_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/internal/table"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
)

// someRecords are records for programColumns. The level of g on line 4 is unknown.
const someRecords = `x,s,g,y,k
1,a,p,2.5,3
-2,b,q,-1,0
2.5,b,?,1,4
0.5,a,r,0.25,7
`

// predicted holds the quantities of one record by name.
type predicted map[string]fit.Quantity

// predictNew predicts the quantities of the records in text, which is a CSV file. It also returns
// log predictive densities and row numbers.
func predictNew(t *testing.T, m *fit.Model, text string, q fit.Posterior) (p *fit.Predicted, each []predicted, densities []float64, rows []int) {
	t.Helper()
	rowsOf := newTable(t, m, text)
	records, _, err := shard.ReadNew("new.csv", rowsOf, m.Study)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = m.PredictNew(records, q); err != nil {
		t.Fatal(err)
	}
	err = p.Each(func(record int, quantities []fit.Quantity, density fit.LogDensity) error {
		one := predicted{}
		for _, quantity := range quantities {
			one[quantity.Name] = quantity
		}
		each, densities = append(each, one), append(densities, density.Value)
		return nil
	})
	if err != nil || len(each) != records.Len() {
		t.Fatal(len(each), err)
	}
	return p, each, densities, records.Rows
}

const newModel = programColumns + `
[model]
program = """
data { int N; vector[N] x; vector[N] y; array[N] int<lower=0> k; }
parameters { real a; real b; }
model { a ~ normal(0, 1); b ~ normal(0, 1); for (n in 1:N) { real eta = a + b * x[n]; %s } }
%s
"""
`

// A law is a distribution as another library defines it.
type law interface {
	LogProb(x float64) float64
	Mean() float64
	Quantile(p float64) float64
}

// If all draws of θ are equal, the quantities are the log density, the mean of the outcome, and
// outcomes drawn from the program's density.
func TestPredictionsAtAPoint(t *testing.T) {
	theta := []float64{.3, -.2}
	for density, of := range map[string]func(eta float64) law{
		"y[n] ~ normal(eta, 1.5);":           func(eta float64) law { return distuv.Normal{Mu: eta, Sigma: 1.5} },
		"y[n] ~ double_exponential(eta, 2);": func(eta float64) law { return distuv.Laplace{Mu: eta, Scale: 2} },
	} {
		m := parsed(t, fmt.Sprintf(newModel, density, ""))
		_, each, densities, rows := predictNew(t, m, someRecords, fit.At(theta))
		if !slices.Equal(rows, []int{2, 3, 5}) {
			t.Errorf("rows %v", rows)
		}
		x, y := []float64{1, -2, .5}, []float64{2.5, -1, .25}
		for i, one := range each {
			law := of(.3 - .2*x[i])
			log, expected, rep := one["log_lik"], one["y_expected"], one["y_rep"]
			if want := law.LogProb(y[i]); math.Abs(log.Mean-want) > 1e-12 || math.Abs(densities[i]-want) > 1e-12 || log.SD > 1e-12 {
				t.Errorf("%s record %d: %g and %g, not %g", density, i, log.Mean, densities[i], want)
			}
			if math.Abs(expected.Mean-law.Mean()) > 1e-12 {
				t.Errorf("%s record %d: mean %g, not %g", density, i, expected.Mean, law.Mean())
			}
			for p, got := range map[float64]float64{.025: rep.Lower, .5: rep.Q50, .975: rep.Upper} {
				if want := law.Quantile(p); math.Abs(got-want) > 5*rep.SD/math.Sqrt(fit.RecordDraws)/min(1, 8*p*(1-p)) {
					t.Errorf("%s record %d: quantile %g is %g, not %g", density, i, p, got, want)
				}
			}
		}
	}
}

// For a normal outcome, log predictive densities agree with the closed form.
func TestLogPredictiveDensity(t *testing.T) {
	m := parsed(t, fmt.Sprintf(newModel, "y[n] ~ normal(eta, 0.8);", ""))
	mean, cov := []float64{.3, -.2}, mat.NewSymDense(2, []float64{.09, .02, .02, .16})
	family := gaussian.Full(2)
	natural := naturalOf(t, family, mean, cov)
	_, each, densities, _ := predictNew(t, m, someRecords, m.Draws(family, natural))
	x, y := []float64{1, -2, .5}, []float64{2.5, -1, .25}
	for i := range each {
		sd := math.Sqrt(.64 + .09 + 2*.02*x[i] + .16*x[i]*x[i])
		want := distuv.Normal{Mu: .3 - .2*x[i], Sigma: sd}
		if math.Abs(densities[i]-want.LogProb(y[i])) > .1 {
			t.Errorf("record %d: log density %g, not %g", i, densities[i], want.LogProb(y[i]))
		}
		if rep := each[i]["y_rep"]; math.Abs(rep.Mean-want.Mu) > 4*sd/32 || math.Abs(rep.SD/sd-1) > .12 {
			t.Errorf("record %d: outcomes have mean %g and sd %g, not %g and %g", i, rep.Mean, rep.SD, want.Mu, sd)
		}
	}
}

// If a program generates quantities, these replace the default ones. If a file does not contain the
// outcome, PredictNew computes only quantities that do not depend on it.
func TestPredictionsWithoutOutcome(t *testing.T) {
	m := parsed(t, fmt.Sprintf(newModel, "k[n] ~ poisson_log(eta);", `
generated quantities {
  vector[N] mu = exp(a + b * x);
  vector[N] log_lik;
  array[N] int k_rep;
  matrix[N, 2] both;
  real shared = a + b;
  vector[N] constant = rep_vector(shared, N);
  for (n in 1:N) {
    log_lik[n] = poisson_lpmf(k[n] | mu[n]);
    k_rep[n] = poisson_rng(mu[n]);
    both[n] = [k_rep[n], x[n]];
  }
}`))
	theta := []float64{.3, -.2}
	lines := strings.Split(someRecords, "\n")
	for i, line := range lines {
		lines[i] = line[:max(0, strings.LastIndex(line, ","))]
	}
	with, all, densities, _ := predictNew(t, m, someRecords, fit.At(theta))
	without, some, none, _ := predictNew(t, m, strings.Join(lines, "\n"), fit.At(theta))
	if !slices.Equal(with.Quantities, []string{"mu", "log_lik", "k_rep", "both[1]", "both[2]", "constant"}) || with.LeftOut != nil {
		t.Fatal(with.Quantities, with.LeftOut)
	}
	if !slices.Equal(without.LeftOut, []string{"log_lik"}) || slices.Contains(without.Quantities, "log_lik") {
		t.Fatal(without.Quantities, without.LeftOut)
	}
	k, x := []float64{3, 0, 7}, []float64{1, -2, .5}
	for i := range all {
		law := distuv.Poisson{Lambda: math.Exp(.3 - .2*x[i])}
		if d := densities[i] - law.LogProb(k[i]); math.Abs(d) > 1e-12 || !math.IsNaN(none[i]) {
			t.Errorf("record %d: log density differs by %g", i, d)
		}
		if all[i]["mu"].Mean != some[i]["mu"].Mean || math.Abs(all[i]["mu"].Mean-law.Lambda) > 1e-12 {
			t.Errorf("record %d: mu %g, %g", i, all[i]["mu"].Mean, some[i]["mu"].Mean)
		}
		if *all[i]["k_rep"].Spread != *some[i]["k_rep"].Spread || *all[i]["k_rep"].Spread != *all[i]["both[1]"].Spread {
			t.Errorf("record %d: the same draws differ", i)
		}
		if all[i]["both[2]"].Mean != x[i] || math.Abs(all[i]["constant"].Mean-.1) > 1e-12 {
			t.Errorf("record %d: %g, %g", i, all[i]["both[2]"].Mean, all[i]["constant"].Mean)
		}
	}
}

// A family and the corresponding formula predict the same quantities.
func TestPredictionsOfFamilies(t *testing.T) {
	for _, f := range familiesAsFormulas {
		if strings.Contains(f.formula, "|") {
			continue
		}
		family := parsed(t, programColumns+fmt.Sprintf("[model]\nfamily = %q\nterms = [\"x\"]\nstandardise = \"none\"\n%s\n", f.family, f.keys))
		formula := parsed(t, programColumns+fmt.Sprintf("[model]\nformula = %q\nfamily = %q\n", f.formula, f.density))
		theta := []float64{.3, -.2, .1, .05}[:family.Dim()]
		_, one, first, _ := predictNew(t, family, someRecords, fit.At(theta))
		own := make([]float64, len(theta))
		for i, k := range f.order {
			own[i] = theta[k]
		}
		_, other, second, _ := predictNew(t, formula, someRecords, fit.At(own))
		found := 0
		for i := range one {
			if d := first[i] - second[i]; math.Abs(d) > 1e-10 {
				t.Errorf("%s record %d: log densities differ by %g", f.family, i, d)
			}
			for _, of := range []string{"_expected", "_rep"} {
				a, b := ending(one[i], of), ending(other[i], of)
				if a == nil || b == nil {
					continue // a class has no mean
				}
				found++
				if d := a.Mean - b.Mean; math.Abs(d) > 1e-10 && of != "_rep" || math.Abs(d) > .2*a.SD {
					t.Errorf("%s record %d: %s differs by %g", f.family, i, of, d)
				}
			}
		}
		if found < len(one) {
			t.Errorf("%s: %d quantities were compared", f.family, found)
		}
	}
}

// ending returns the quantity whose name ends in text, or nil.
func ending(all predicted, text string) *fit.Quantity {
	for name, q := range all {
		if strings.HasSuffix(name, text) {
			return &q
		}
	}
	return nil
}

func newTable(t *testing.T, m *fit.Model, text string) table.Reader {
	t.Helper()
	rows, err := table.NewCSV(strings.NewReader(text), shard.Format(m.Study))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// ReadNew leaves out records that do not fit, and numbers the others by their rows in the file.
// PredictNew refuses records in which a regressor is missing.
func TestReadNew(t *testing.T) {
	m := parsed(t, programColumns+"[model]\nfamily = \"linear\"\noutcome = \"y\"\nnoise_sd = 1\nterms = [\"x\"]\n")
	records, report, err := shard.ReadNew("new.csv", newTable(t, m, "x,s,g,k\n1,a,p,3\n9,a,p,3\n2,a,p,3\n"), m.Study)
	if err != nil || !slices.Equal(records.Rows, []int{2, 4}) || report.LeftOut() != 1 || !slices.Equal(records.Absent, []bool{false, false, false, true, false}) {
		t.Fatal(records, report, err)
	}
	records, _, err = shard.ReadNew("new.csv", newTable(t, m, "s,g,k\na,p,3\n"), m.Study)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.PredictNew(records, fit.At([]float64{0, 0})); err == nil || !strings.Contains(err.Error(), "lacks the column x") {
		t.Error(err)
	}
}

// A log density that is an average over draws must be called uncertain if few draws are close to
// the record. The test's model has a simplex, so that it has no linear predictors.
func TestUncertainDensity(t *testing.T) {
	for _, c := range []struct {
		sd   string
		want bool
	}{{"2", false}, {"0.001", true}} {
		m := parsed(t, programColumns+`
[model]
program = """
data { int N; vector[N] y; }
parameters { real a; simplex[2] w; }
model { a ~ normal(0, 1); w ~ dirichlet([1, 1]); for (n in 1:N) y[n] ~ normal(a + w[1], `+c.sd+`); }
"""
`)
		family := gaussian.Full(2)
		natural := naturalOf(t, family, []float64{0, 0}, mat.NewSymDense(2, []float64{1, 0, 0, 1}))
		records, _, err := shard.ReadNew("new.csv", newTable(t, m, someRecords), m.Study)
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.PredictNew(records, m.Draws(family, natural))
		if err != nil {
			t.Fatal(err)
		}
		err = p.Each(func(_ int, _ []fit.Quantity, density fit.LogDensity) error {
			if density.Uncertain() != c.want || !(density.Error > 0) {
				t.Errorf("sd %s: standard error %g", c.sd, density.Error)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The average over the posterior includes points where the density of a record is zero or infinite.
func TestDensityThatIsZero(t *testing.T) {
	m := parsed(t, programColumns+`
[model]
program = """
data { int N; vector[N] x; vector[N] y; }
parameters { real a; }
model { a ~ normal(0, 1); for (n in 1:N) target += x[n] * log(exp(-200 * square(y[n] - a))); }
"""
`)
	family := gaussian.Full(1)
	natural := naturalOf(t, family, []float64{0}, mat.NewSymDense(1, []float64{1}))
	infinite := math.Inf(1)
	// Up to a factor, exp(−200(y − a)²) is a normal density of a with variance 1/400. It underflows to
	// 0 if y and a are more than 1.94 apart, but the product with the posterior has its mode closer
	// than that.
	average := func(y float64) float64 {
		return math.Log(math.Sqrt(math.Pi/200)) + distuv.Normal{Sigma: math.Sqrt(1 + 1./400)}.LogProb(y)
	}
	records, want := new(shard.Records), []float64{average(-2), average(0), average(1.5), average(9), infinite, infinite}
	for _, record := range [][2]float64{{1, -2}, {1, 0}, {1, 1.5}, {1, 9}, {-1, 9}, {-1, 1.5}} {
		records.Append([]float64{record[0], 0, 0, record[1], 0})
	}
	got, err := m.Predict(shard.Design(m.Study, records), family, natural)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range got {
		if p.LogDensity != want[i] && !(math.Abs(p.LogDensity-want[i]) < .001) {
			t.Errorf("record %d: log density %g, want %g", i, p.LogDensity, want[i])
		}
	}
	natural = naturalOf(t, family, []float64{0}, mat.NewSymDense(1, []float64{.01}))
	if got, err = m.Predict(shard.Design(m.Study, records), family, natural); err != nil || got[3].LogDensity != -infinite {
		t.Errorf("60 sds away: log density %g, %v", got[3].LogDensity, err)
	}
}
