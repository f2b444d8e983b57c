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
	// Correlation, if positive, lets the intercept and the one slope of a group be
	// correlated, with a prior proportional to (1−r²)^(Correlation−1): that of
	// Lewandowski, Kurowicka and Joe (2009) for two dimensions. 0 means that they are
	// independent.
	Correlation float64
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
// non-centred: the coefficient of group g is β + τ·z_g with
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
	if g.Correlation != 0 {
		if eta, err = g.correlated(b, r.Features, x, eta, index); err != nil {
			return nil, err
		}
		return family.build(b, y, eta, scale)
	}
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

// correlated adds the deviations L z_g of intercept and slope, where L is the
// Cholesky factor of their covariance. The correlation is r = 2h − 1 with h beta
// distributed.
func (g *Groups) correlated(b *Builder, names []string, x, eta, index Expr) (Expr, error) {
	if len(g.Slopes) != 1 || !(g.Correlation > 0) {
		return Expr{}, errors.New("multilevel regression: a correlation needs exactly one varying slope and a positive parameter")
	}
	k := position(names, g.Slopes[0])
	if k < 0 {
		return Expr{}, fmt.Errorf("multilevel regression: the varying slope %q is no feature", g.Slopes[0])
	}
	one := b.Scalar("sd_intercept", Positive, b.Normal(Normal{SD: g.Scale}))
	two := b.Scalar("sd_"+g.Slopes[0], Positive, b.Normal(Normal{SD: g.Scale}))
	prior := b.Of(ir.Beta, b.Number(g.Correlation), b.Number(g.Correlation))
	h := b.Scalar("half_correlation", ir.Constraint{Kind: ir.Both, Upper: 1}, prior)
	z := b.Parameter(ir.Parameter{
		Name: "z", Rows: len(g.Names), Cols: 2, Entries: ir.NamesOf(pairs(g.Names, []string{"intercept", g.Slopes[0]})...),
	}, b.Normal(Normal{SD: 1}))
	correlation := b.Apply(ir.Sub, b.Mul(b.Number(2), h), b.Number(1))
	rest := b.Mul(b.Number(2), b.Apply(ir.Sqrt, b.Mul(h, b.Apply(ir.Sub, b.Number(1), h)))) // √(1−r²)
	l := b.Slice(b.Apply(ir.Stack, one, b.Number(0), b.Mul(two, correlation), b.Mul(two, rest)), 0, 2, 2)
	v := b.MatVec(l, b.GatherRow(z, index))
	return b.Add(eta, b.Element(v, 0), b.Mul(b.Element(v, 1), b.Element(x, k))), nil
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
