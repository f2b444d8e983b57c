package scoring_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"fedpvi/internal/special"
	"fedpvi/internal/testing/formulas"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// formulaWorld returns a world with five clients, which together have n records of a formula.
// Parameters that have no true value are NaN.
func formulaWorld(t testing.TB, f formulas.Formula, n int, multiplier float64, seed uint64) *world {
	t.Helper()
	st, err := study.Parse("f.toml", []byte(f.Study(fmt.Sprintf(
		"study = { version = 2, name = \"f\" }\nprivacy = { unit = \"record\", epsilon = 1.0, delta = 1e-5 }\ninference = {}\nfederation = { nominal_records = %d }\n", n/5))))
	check(t, err)
	w := newWorld(t, st, 5, multiplier, seed)
	truth, rows := f.Drawn(n, seed)
	for _, name := range w.model.Names() {
		x, ok := truth[name]
		if !ok {
			x = math.NaN()
		}
		delete(truth, name)
		w.truth = append(w.truth, x)
	}
	if len(truth) > 0 {
		t.Fatalf("no coordinates of %v among %v", truth, w.model.Names())
	}
	records := new(shard.Records)
	for _, row := range rows {
		records.Append(row)
	}
	w.records = shard.Design(st, records)
	return w
}

func formulaOf(name string) formulas.Formula {
	return formulas.Bank[slices.IndexFunc(formulas.Bank, func(f formulas.Formula) bool { return f.Name == name })]
}

// The program of a formula draws outcomes from the same distribution as the formula's own sampler.
// It does not draw censored times.
func TestOutcomesOfFormulasAreDrawn(t *testing.T) {
	const n = 1000
	for _, f := range formulas.Bank {
		t.Run(f.Name, func(t *testing.T) {
			w := formulaWorld(t, f, n, 1, 1)
			for i, x := range w.truth {
				if math.IsNaN(x) {
					w.truth[i] = 0
				}
			}
			before, after := w.Redraw(w.records, w.truth)
			if got := len(before); got != 1 {
				t.Fatalf("%d outcomes are drawn", got)
			}
			switch {
			case f.Name == "monotonic" || f.Name == "weights":
			case strings.Contains(f.Text, "cens("):
				_, rows := f.Drawn(n, 1)
				for i, y := range before[0] {
					if dead := rows[i][1] == 1; dead == (y == after[0][i]) {
						t.Fatalf("record %d, dead %t: the time %g is drawn as %g", i, dead, y, after[0][i])
					}
				}
			default:
				for _, y := range [][]float64{before[0], after[0]} {
					slices.Sort(y)
				}
				// The grid of outcomes changes their distribution slightly. If it did not, the distance would
				// be more than 0.087 with probability 0.001.
				if d := stat.KolmogorovSmirnov(before[0], nil, after[0], nil); d > 0.1 {
					t.Errorf("the distributions differ by %.3f", d)
				}
			}
		})
	}
}

// Outcomes are drawn from their density even if almost all of its probability is in a small part of
// the range between the bounds. They do not depend on other records.
func TestOutcomesFarBelowTheirBoundsAreDrawn(t *testing.T) {
	const n, most = 2000, 1e6
	for _, c := range []struct {
		family string
		below  func(y, x float64) float64 // distribution function of a record's outcome
		truth  map[string]float64
	}{
		{
			"lognormal", func(y, x float64) float64 { return distuv.LogNormal{Mu: 3 + 5*x, Sigma: 2}.CDF(y) },
			map[string]float64{"Intercept": 3, "b_x": 5, "sigma": math.Log(2)},
		},
		{
			"Gamma", func(y, x float64) float64 { return distuv.Gamma{Alpha: .6, Beta: .6 / math.Exp(4+5*x)}.CDF(y) },
			map[string]float64{"Intercept": 4, "b_x": 5, "shape": math.Log(.6)},
		},
	} {
		st, err := study.Parse("f.toml", fmt.Appendf(nil, `
study = { version = 3, name = "f" }
model = { formula = "y ~ x", family = %q }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation.nominal_records = 100
column = [
  { name = "x", type = "numeric", bounds = [-1, 1] },
  { name = "y", type = "numeric", bounds = [1e-6, %g] },
]`, c.family, most))
		check(t, err)
		w := newWorld(t, st, 1, 1, 1)
		var theta []float64
		for _, name := range w.model.Names() {
			x, ok := c.truth[name]
			if !ok {
				t.Fatalf("%s: no value of %s", c.family, name)
			}
			theta = append(theta, x)
		}
		all, first := new(shard.Records), new(shard.Records)
		for i := range n {
			all.Append([]float64{float64(i % 2), 1})
		}
		first.Append([]float64{0, 1})
		_, after := w.Redraw(shard.Design(st, all), theta)
		_, alone := w.Redraw(shard.Design(st, first), theta)
		if alone[0][0] != after[0][0] {
			t.Errorf("%s: the outcome of a record is %g, and %g beside other records", c.family, alone[0][0], after[0][0])
		}
		var u []float64 // uniform if outcomes are drawn from their density
		for i, y := range after[0] {
			x := float64(i % 2)
			u = append(u, c.below(y, x)/c.below(most, x))
		}
		slices.Sort(u)
		var apart float64
		for i, x := range u {
			apart = max(apart, math.Abs(x-(float64(i)+.5)/n))
		}
		// With exact draws, the distance would be more than 0.044 with probability 0.001 (Kolmogorov).
		if apart > 0.05 {
			t.Errorf("%s: the distributions differ by %.3f", c.family, apart)
		}
	}
}

var (
	studiesOfFormula = flag.Uint64("studies", 2, "with FEDPVI_LONG, number of studies of each formula of the bank")
	firstStudy       = flag.Uint64("first", 10_000, "seed of the first of these studies")
)

// A holding collects how good the 90 % intervals are in studies of one formula: for each study, the
// share of intervals that contain the true parameter, and the mean share of draws from the pooled
// posterior that they contain. The other numbers are sums over coordinates.
type holding struct {
	truths, draws        []float64
	coordinates, squares float64 // squares is the sum of ((mean − pooled mode)/sd)²
	width, pooled        float64 // pooled is the number of coordinates for which a pooled posterior is known
	astray               int     // number of studies whose rounds had not converged ([scoring.State.Arrived])
	warned               bool    // whether a warning says that intervals may be too narrow
}

// add runs a study of the formula.
func (h *holding) add(t *testing.T, f formulas.Formula, records int, seed uint64) {
	const multiplier, z90 = 3.73, 1.6448536 // the noise multiplier is for ε = 1 at δ = 1e-5
	w := formulaWorld(t, f, records, multiplier, seed)
	state := w.play(t, multiplier, seed)
	if !state.Arrived() {
		h.astray++
	}
	h.warned = w.model.Multiplies()
	mean, cov := state.Posterior()
	var held, total float64
	for i := range mean {
		if math.IsNaN(w.truth[i]) {
			continue
		}
		if total++; contains90(mean, cov, i, w.truth[i]) {
			held++
		}
	}
	h.truths, h.coordinates = append(h.truths, held/total), h.coordinates+total
	if strings.Contains(f.Text, "site") || strings.Contains(f.Text, "s(x") || strings.Contains(f.Text, "mo(") {
		return // the posterior of a spread or of a simplex is far from normal
	}
	mode, spread := w.programMode(t, w.truth)
	var draws float64
	for i, m := range mean {
		sd, own := math.Sqrt(cov.At(i, i)), math.Sqrt(spread.At(i, i))
		draws += (special.Phi((m+z90*sd-mode[i])/own) - special.Phi((m-z90*sd-mode[i])/own)) / float64(len(mean))
		h.squares += (m - mode[i]) * (m - mode[i]) / (sd * sd)
		h.width += math.Log(sd / own)
		h.pooled++
	}
	h.draws = append(h.draws, draws)
}

// below reports whether the 99 % confidence interval for the mean of shares lies below 0.8. shares
// has one element per study, because the coordinates of a study are not independent.
func below(shares []float64) bool {
	if len(shares) < 2 {
		return false
	}
	mean, sd := stat.MeanStdDev(shares, nil)
	n := float64(len(shares))
	return mean+distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.995)*sd/math.Sqrt(n) < 0.8
}

// For formulas with default priors, enough 90 % intervals contain the truth. If FEDPVI_LONG is set,
// the test runs the whole bank and prints a table. Formulas with a warning cannot fail then.
func TestFormulasHoldTheTruth(t *testing.T) {
	if os.Getenv("FEDPVI_LONG") == "" {
		if testing.Short() {
			t.Skip("seconds of statistics")
		}
		var h holding
		h.add(t, formulaOf("weibull"), 4000, 10_000)
		rms, width := math.Sqrt(h.squares/h.pooled), math.Exp(h.width/h.pooled)
		if rms > 2 || h.astray > 0 || h.truths[0] < 0.6 || width > 4 {
			t.Errorf("intervals of 90 %% hold %.2f of the truths, the rms of (mean − pooled mode)/sd is %.2f, sds are %.1f times those of the pooled records, and %d of 1 studies have not arrived", h.truths[0], rms, width, h.astray)
		}
		return
	}
	var mu sync.Mutex
	var truths, draws []float64
	t.Run("bank", func(t *testing.T) {
		for _, f := range formulas.Bank {
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				var h holding
				for k := range *studiesOfFormula {
					h.add(t, f, 4000, *firstStudy+k)
				}
				mu.Lock()
				defer mu.Unlock()
				drawn, rms, width := "–", "–", "–"
				if h.pooled > 0 {
					drawn, rms, width = fmt.Sprintf("%.2f", stat.Mean(h.draws, nil)), fmt.Sprintf("%.2f", math.Sqrt(h.squares/h.pooled)), fmt.Sprintf("%.1f", math.Exp(h.width/h.pooled))
				}
				fmt.Printf("| `%s` | `%s` | %.2f | %s | %s | %s | %d |\n", strings.ReplaceAll(f.Text, "|", `\|`), f.Family, stat.Mean(h.truths, nil), drawn, rms, width, h.astray)
				if h.warned {
					return
				}
				truths = append(truths, stat.Mean(h.truths, nil))
				if h.pooled > 0 {
					draws = append(draws, stat.Mean(h.draws, nil))
				}
				if below(h.truths) || below(h.draws) {
					t.Errorf("intervals of 90 %% hold %.2f of the truths and %s of draws of the pooled posterior", stat.Mean(h.truths, nil), drawn)
				}
			})
		}
	})
	for of, shares := range map[string][]float64{"truths": truths, "draws of pooled posteriors": draws} {
		if mean := stat.Mean(shares, nil); mean < 0.87 || mean > 0.95 {
			t.Errorf("intervals of 90 %% hold %.3f of %s, as a mean over %d formulas", mean, of, len(shares))
		} else {
			t.Logf("intervals of 90 %% hold %.3f of %s, as a mean over %d formulas", mean, of, len(shares))
		}
	}
}
