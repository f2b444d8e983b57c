package fit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fedpvi/pvi/fit"
)

// familiesAsFormulas has formulas that correspond to regression families. Coordinate i of the
// formula's θ is coordinate order[i] of the family's.
var familiesAsFormulas = []struct {
	family, keys     string
	formula, density string
	order            []int
}{
	{"linear", `outcome = "y"` + "\nnoise_sd = \"learned\"", "y ~ x", "gaussian", []int{0, 1, 2}},
	{"linear", `outcome = "y"` + "\nnoise_sd = \"learned\"\ngroups = [\"g\"]", "y ~ x + (1 | g)", "gaussian", []int{0, 1, 3, 4, 5, 6, 2}},
	{"logistic", `outcome = "s"` + "\npositive = \"b\"", "s ~ x", "bernoulli", []int{0, 1}},
	{"logistic", `outcome = "s"` + "\npositive = \"b\"\ngroups = [\"g\"]", "s ~ x + (1 | g)", "bernoulli", []int{0, 1, 2, 3, 4, 5}},
	{"logistic", `outcome = "s"` + "\npositive = \"b\"\ngroups = [\"1 + x | g\"]", "s ~ x + (1 + x || g)", "bernoulli", []int{0, 1, 2, 6, 3, 4, 5, 7, 8, 9}},
	{"probit", `outcome = "s"` + "\npositive = \"b\"", "s ~ x", "bernoulli(probit)", []int{0, 1}},
	{"poisson", `outcome = "k"`, "k ~ x", "poisson", []int{0, 1}},
	{"poisson", `outcome = "k"` + "\ngroups = [\"g\"]", "k ~ x + (1 | g)", "poisson", []int{0, 1, 2, 3, 4, 5}},
	{"negative-binomial", `outcome = "k"`, "k ~ x", "negbinomial", []int{0, 1, 2}},
	{"softmax", `outcome = "g"`, "g ~ x", "categorical", []int{0, 1, 2, 3}},
}

// A formula has the same log densities as the corresponding family, for records and for the prior.
func TestFormulasOfFamilies(t *testing.T) {
	priors := "[prior]\nb = \"normal(0, 1)\"\nIntercept = \"normal(0, 1)\"\n"
	scale := fmt.Sprintf("%q", fmt.Sprintf("lognormal(%.17g, %.17g)", math.Log(.5), math.Log(3)))
	for _, f := range familiesAsFormulas {
		t.Run(f.formula+" "+f.density, func(t *testing.T) {
			family := parsed(t, programColumns+fmt.Sprintf("[model]\nfamily = %q\nterms = [\"x\"]\nstandardise = \"none\"\n%s\n", f.family, f.keys))
			own := priors
			switch {
			case f.family == "linear":
				own += "sigma = " + scale + "\n"
			case f.family == "negative-binomial":
				own += fmt.Sprintf("shape = %q\n", fmt.Sprintf("lognormal(%.17g, %.17g)", math.Log(3), math.Log(5)))
			}
			if len(f.order) > 4 {
				own += "sd = " + scale + "\n"
			}
			formula := parsed(t, programColumns+fmt.Sprintf("[model]\nformula = %q\nfamily = %q\n%s", f.formula, f.density, own))
			if family.Dim() != len(f.order) || formula.Dim() != len(f.order) {
				t.Fatalf("coordinates %v and %v", family.Names(), formula.Names())
			}
			alike(t, family, formula, f.order)
		})
	}
}

func alike(t *testing.T, family, formula *fit.Model, order []int) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	records := someRows(r, 20)
	for range 3 {
		theta, moved := make([]float64, len(order)), make([]float64, len(order))
		for i := range theta {
			theta[i] = r.NormFloat64()
		}
		// The formula's coordinate is the effect itself, which is the spread times the family's
		// standardised effect. Its density is therefore divided by the spread.
		spreads := map[string]float64{}
		var logs float64
		for i, k := range order {
			moved[i] = theta[k]
			name := formula.Names()[i]
			if sd, ok := strings.CutPrefix(name, "sd_"); ok {
				spreads[sd] = theta[k]
			}
			effect, _, _ := strings.Cut(strings.TrimPrefix(name, "r_"), "[")
			if log, ok := spreads[effect]; ok && strings.HasPrefix(name, "r_") {
				moved[i] *= math.Exp(log)
				logs += log
			}
		}
		want, got := evaluate(t, family, records, theta), evaluate(t, formula, records, moved)
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-12*math.Max(1, math.Abs(want[i]))) {
				t.Errorf("record %d: %.16g, not %.16g", i, got[i], want[i])
			}
		}
		near(t, "prior", formula.Program().LogPrior(moved, nil)+logs, family.Program().LogPrior(theta, nil))
	}
}
