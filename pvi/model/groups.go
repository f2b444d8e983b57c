package model

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/pvi/model/ir"
)

// Groups says that records belong to one of the named groups, which differ.
type Groups struct {
	// Column names the index of a record's group, 0..len(Names)−1.
	Column string
	Names  []string
	// Slopes are features whose coefficients differ between groups; the intercept
	// always does.
	Slopes []string
	// Scale is that of the half-normal priors of the standard deviations between
	// groups.
	Scale float64
}

// Family is the likelihood of a multilevel model.
type Family uint8

// The families.
const (
	GaussianFamily Family = iota // learned standard deviation
	LogisticFamily
	PoissonFamily
)

// Multilevel is a regression whose intercept and some slopes vary between groups,
// uncorrelated and non-centred: the coefficient of group g is β + τ·z_g with
// z_g ~ N(0, 1), so that a record's gradient touches β, τ and its own group's z.
// scale is that of the half-Cauchy prior of a Gaussian family's noise, most the
// largest count of a Poisson one.
func Multilevel(r Regression, g Groups, family Family, scale, most float64) (*Model, error) {
	if len(g.Names) == 0 || !(g.Scale > 0) {
		return nil, errors.New("multilevel regression: it needs groups and a positive scale between them")
	}
	b := NewBuilder("multilevel regression")
	y, err := family.outcome(b, r.Outcome, most)
	if err != nil {
		return nil, err
	}
	x, eta := r.predictor(b)
	index := b.Integer(g.Column, 0, float64(len(g.Names)-1))
	eta = b.Add(eta, g.vary(b, "intercept", index))
	for _, name := range g.Slopes {
		k := position(r.Features, name)
		if k < 0 {
			return nil, fmt.Errorf("multilevel regression: the varying slope %q is no feature", name)
		}
		eta = b.Add(eta, b.Mul(g.vary(b, name, index), b.Element(x, k)))
	}
	return family.build(b, y, eta, scale)
}

// vary is τ·z[g], the deviation of a record's group.
func (g *Groups) vary(b *Builder, name string, index Expr) Expr {
	tau := b.Scalar("sd_"+name, Positive, b.Normal(Normal{SD: g.Scale}))
	z := b.Vector("z_"+name, g.Names, Free, b.Normal(Normal{SD: 1}))
	return b.Gather(b.Mul(tau, z), index)
}

func position(list []string, name string) int {
	for k, s := range list {
		if s == name {
			return k
		}
	}
	return -1
}

func (f Family) outcome(b *Builder, name string, most float64) (Expr, error) {
	switch f {
	case GaussianFamily:
		return b.Real(name, math.Inf(-1), math.Inf(1)), nil
	case LogisticFamily:
		return b.Integer(name, 0, 1), nil
	case PoissonFamily:
		return b.Integer(name, 0, most), nil
	}
	return Expr{}, fmt.Errorf("there is no family %d", f)
}

// build finishes a model with linear predictor eta.
func (f Family) build(b *Builder, y, eta Expr, scale float64) (*Model, error) {
	switch f {
	case LogisticFamily:
		b.Predict(ir.Probability, y, b.Apply(ir.InvLogit, eta))
		return b.Build(b.LogDensity(ir.BernoulliLogit, y, eta))
	case PoissonFamily:
		b.Predict(ir.Mean, y, b.Apply(ir.Exp, eta))
		return b.Build(b.LogDensity(ir.PoissonLog, y, eta))
	}
	if err := scaled(scale); err != nil {
		return nil, err
	}
	sigma := b.Scalar("sigma", Positive, b.Of(ir.Cauchy, b.Number(0), b.Number(scale)))
	b.Predict(ir.Mean, y, eta)
	return b.Build(b.LogDensity(ir.Normal, y, eta, sigma))
}

// Characteristics is hierarchical logistic regression in which a group's
// coefficients follow from its public characteristics (the model of section 3.3 of
// Prediger et al., d3p, 2022): w_g = M c_g + η with elements of M and η normal, and
// a record of group g has log odds x·w_g.
//
// characteristics[g] are those of group g, all of one length; they are constants of
// the study.
func Characteristics(r Regression, g Groups, characteristics [][]float64, mixing Normal) (*Model, error) {
	if len(characteristics) == 0 || len(characteristics) != len(g.Names) {
		return nil, fmt.Errorf("hierarchical regression: %d groups with %d lists of characteristics", len(g.Names), len(characteristics))
	}
	k := len(characteristics[0])
	var flat []float64
	for _, c := range characteristics {
		if len(c) != k || k == 0 {
			return nil, errors.New("hierarchical regression: the groups need the same number of characteristics, at least one")
		}
		flat = append(flat, c...)
	}
	b := NewBuilder("hierarchical logistic regression")
	y := b.Integer(r.Outcome, 0, 1)
	x, eta := r.predictor(b)
	index := b.Integer(g.Column, 0, float64(len(g.Names)-1))
	c := b.GatherRow(b.Matrix(len(g.Names), k, flat), index)
	m := b.Parameter(ir.Parameter{Name: "M", Rows: len(r.Features), Cols: k}, b.Normal(mixing))
	eta = b.Add(eta, b.Bilinear(x, m, c))
	return LogisticFamily.build(b, y, eta, 0)
}
