package fit_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
)

// groupModels has models whose first group effect is sd·z, where z has a standard normal prior. sd,
// z and effect are the names of these quantities for level q.
var groupModels = map[string]struct {
	text          string
	sd, z, effect string
	unit          string
}{
	"family":  {"family = \"linear\"\noutcome = \"y\"\nterms = [\"x\"]\nnoise_sd = 1\ngroups = [\"1 + x | g\"]", "sd(g)", "z(g)[q]", "effect(g)[q]", "y"},
	"slope":   {"family = \"linear\"\noutcome = \"y\"\nterms = [\"x\"]\nnoise_sd = 1\ngroups = [\"1 + x | g\"]", "sd(g:x)", "z(g:x)[q]", "effect(g:x)[q]", "y per x"},
	"formula": {"formula = \"y ~ x + (1 + x | g)\"\nfamily = \"gaussian\"", "sd_g_Intercept", "z_g_Intercept[2]", "effect_g_Intercept[2]", ""},
}

func find[T any](t *testing.T, all []T, name func(T) string, want string) (int, T) {
	t.Helper()
	var names []string
	for i, one := range all {
		if name(one) == want {
			return i, one
		}
		names = append(names, name(one))
	}
	t.Fatalf("no %s among %s", want, strings.Join(names, ", "))
	panic("unreachable")
}

// With point estimates, a group effect in natural units is the estimate of sd times the estimate of
// z.
func TestEffectsOfGroupsAtAPoint(t *testing.T) {
	for name, c := range groupModels {
		m := parsed(t, programColumns+"[model]\n"+c.text+"\n")
		r := rand.New(rand.NewPCG(1, 2))
		theta := make([]float64, m.Dim())
		for i := range theta {
			theta[i] = r.NormFloat64()
		}
		all, err := m.QuantitiesAt(theta)
		if err != nil {
			t.Fatal(err)
		}
		estimate := func(name string) float64 {
			_, e := find(t, m.Estimates(theta), func(e fit.Estimate) string { return e.Name }, name)
			return e.Natural
		}
		_, q := find(t, all, func(q fit.Quantity) string { return q.Name }, c.effect)
		if want := estimate(c.sd) * estimate(c.z); math.Abs(*q.Estimate-want) > 1e-12 || q.Unit != c.unit {
			t.Errorf("%s: the effect is %g %s, not %g %s", name, *q.Estimate, q.Unit, want, c.unit)
		}
	}
}

// Suppose log s and z are jointly normal with means m and μ, variances v and w, and covariance c.
// Then the effect s·z has the moments E(s·z) = exp(m + v/2)·(μ + c) and E((s·z)²) = exp(2m +
// 2v)·((μ + 2c)² + w).
func TestEffectsOfGroupsHaveTheMomentsOfProducts(t *testing.T) {
	for name, c := range groupModels {
		m := parsed(t, programColumns+"[model]\n"+c.text+"\n")
		s, _ := find(t, m.Names(), func(n string) string { return n }, c.sd)
		z, _ := find(t, m.Names(), func(n string) string { return n }, c.z)
		mean, cov := make([]float64, m.Dim()), mat.NewSymDense(m.Dim(), nil)
		for i := range mean {
			cov.SetSym(i, i, .04)
		}
		mean[s], mean[z] = -.3, .8
		cov.SetSym(z, z, .09)
		cov.SetSym(s, z, -.02)
		family := gaussian.Full(m.Dim())
		natural := naturalOf(t, family, mean, cov)
		all, err := m.Quantities(family, natural)
		if err != nil {
			t.Fatal(err)
		}
		_, q := find(t, all, func(q fit.Quantity) string { return q.Name }, c.effect)
		shift := m.Units()[s].Shift
		want := math.Exp(shift-.3+.02) * (.8 - .02)
		square := math.Exp(2*(shift-.3)+.08) * ((.8-.04)*(.8-.04) + .09)
		sd := math.Sqrt(square - want*want)
		if math.Abs(q.Mean-want) > sd/16 || math.Abs(q.SD-sd) > sd/16 {
			t.Errorf("%s: the effect has mean %g and sd %g, not %g and %g", name, q.Mean, q.SD, want, sd)
		}
	}
}
