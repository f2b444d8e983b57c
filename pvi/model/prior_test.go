package model_test

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// priorModel returns a model whose only parameter has the given prior.
func priorModel(t *testing.T, q ir.Parameter, d ir.Density, args ...float64) *model.Model {
	t.Helper()
	b := model.NewBuilder("prior")
	y := b.Real("y", -1, 1)
	var list []model.Expr
	for _, x := range args {
		list = append(list, b.Number(x))
	}
	q.Name = "q"
	p := b.Parameter(q, b.Of(d, list...))
	m, err := b.Build(b.LogDensity(ir.Normal, y, b.Apply(ir.Sum, p), b.Number(1)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var (
	positive = ir.Constraint{Kind: ir.Lower}
	interval = ir.Constraint{Kind: ir.Both, Lower: 0, Upper: 1}
)

func scalar(c ir.Constraint) ir.Parameter { return ir.Parameter{Rows: 1, Cols: 1, Constraint: c} }

// Together with its Jacobian, the prior density integrates over the unconstrained space to the
// prior probability of the allowed values.
func TestPriorsIntegrate(t *testing.T) {
	for _, c := range []struct {
		constraint ir.Constraint
		density    ir.Density
		args       []float64
		mass       float64
	}{
		{ir.Constraint{}, ir.Normal, []float64{.3, 1.7}, 1},
		{ir.Constraint{}, ir.StudentT, []float64{7, .3, 1.2}, 1},
		{positive, ir.Normal, []float64{0, 2}, .5},
		{positive, ir.Cauchy, []float64{0, 2}, .5},
		{positive, ir.StudentT, []float64{3, 0, 2}, .5},
		{positive, ir.Gamma, []float64{2.5, 1.5}, 1},
		{positive, ir.InvGamma, []float64{2.5, 1.5}, 1},
		{positive, ir.Exponential, []float64{1.5}, 1},
		{interval, ir.Beta, []float64{2, 3.5}, 1},
		{ir.Constraint{}, ir.Logistic, []float64{.3, 1.2}, 1},
		{positive, ir.DoubleExponential, []float64{0, 1.5}, .5},
		{positive, ir.LogNormal, []float64{.3, .8}, 1},
		{positive, ir.Weibull, []float64{1.7, 2}, 1},
		{ir.Constraint{Kind: ir.Both, Lower: -1, Upper: 2}, ir.Uniform, nil, 3},
		{ir.Constraint{Kind: ir.Upper, Upper: 1}, ir.Normal, []float64{1, 3}, .5},
		{ir.Constraint{Kind: ir.Both, Lower: -1, Upper: 1}, ir.Normal, []float64{0, 1}, math.Erf(1 / math.Sqrt2)},
		{ir.Constraint{Kind: ir.Lower, Lower: 1}, ir.Cauchy, []float64{0, 1}, .25},
	} {
		m := priorModel(t, scalar(c.constraint), c.density, c.args...)
		s := m.Shared()
		const h = .01
		total, u := 0., []float64{0}
		for u[0] = -60; u[0] < 60; u[0] += h {
			s.Set(u)
			total += h * math.Exp(s.LogPrior(nil))
		}
		if math.Abs(total-c.mass) > 1e-7 {
			t.Errorf("%s on %v integrates to %.9f, want %.9f", c.density, c.constraint, total, c.mass)
		}
	}
}

// A vector prior integrates to the probability of the allowed values. This is 1 for a Dirichlet
// density on a simplex, and 1/K! for K independent normal elements that must be in increasing
// order.
func TestVectorPriorsIntegrate(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	for _, c := range []struct {
		kind    ir.ConstraintKind
		rows    int
		density ir.Density
		args    []float64
		mass    float64
	}{
		{ir.Simplex, 3, ir.Dirichlet, []float64{1.7}, 1},
		{ir.Ordered, 2, ir.Normal, []float64{0, 1}, .5},
	} {
		m := priorModel(t, ir.Parameter{Rows: c.rows, Cols: 1, Constraint: ir.Constraint{Kind: c.kind}}, c.density, c.args...)
		s := m.Shared()
		const h = .05
		total, u := 0., []float64{0, 0}
		for u[0] = -25; u[0] < 25; u[0] += h {
			for u[1] = -25; u[1] < 25; u[1] += h {
				s.Set(u)
				total += h * h * math.Exp(s.LogPrior(nil))
			}
		}
		if math.Abs(total-c.mass) > 1e-6 {
			t.Errorf("%s integrates to %.9f, want %.9f", c.density, total, c.mass)
		}
	}
}

// Log Jacobians agree with numerical derivatives, and Unconstrain is the inverse of Constrain.
func TestJacobians(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for kind, q := range map[string]ir.Parameter{
		"lower":   {Rows: 3, Cols: 1, Constraint: ir.Constraint{Kind: ir.Lower, Lower: -2}},
		"upper":   {Rows: 3, Cols: 1, Constraint: ir.Constraint{Kind: ir.Upper, Upper: 5}},
		"both":    {Rows: 3, Cols: 1, Constraint: ir.Constraint{Kind: ir.Both, Lower: -2, Upper: 5}},
		"ordered": {Rows: 4, Cols: 1, Constraint: ir.Constraint{Kind: ir.Ordered}},
	} {
		m := priorModel(t, q, ir.Normal, 0, 1)
		checkJacobian(t, kind, m, q.Rows, rng, func(x []float64) (total float64) {
			for _, v := range x {
				total += logNormal(v, 0, 1)
			}
			return total
		})
	}
	m := priorModel(t, ir.Parameter{Rows: 5, Cols: 1, Constraint: ir.Constraint{Kind: ir.Simplex}}, ir.Dirichlet, 1)
	checkJacobian(t, "simplex", m, 5, rng, func([]float64) float64 { return lgamma(5) })
}

// checkJacobian computes the log Jacobian of a constraint in two ways and compares them. One is the
// log prior minus the log density at x, the other the log determinant of the numerical derivative
// ∂x/∂u.
func checkJacobian(t *testing.T, name string, m *model.Model, size int, rng *rand.Rand, density func(x []float64) float64) {
	t.Helper()
	d := m.Dim()
	for range 20 {
		u := make([]float64, d)
		for i := range u {
			u[i] = rng.NormFloat64()
		}
		x, up, down := make([]float64, size), make([]float64, size), make([]float64, size)
		m.Constrain(x, u)
		jacobian := mat.NewDense(d, d, nil)
		for j := range u {
			const h = 1e-5
			old := u[j]
			u[j] = old + h
			m.Constrain(up, u)
			u[j] = old - h
			m.Constrain(down, u)
			u[j] = old
			for i := range d {
				jacobian.Set(i, j, (up[i]-down[i])/(2*h))
			}
		}
		want, _ := mat.LogDet(jacobian)
		if got := m.LogPrior(u, nil) - density(x); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("%s: log Jacobian %g, the determinant gives %g", name, got, want)
		}
	}
}

// If the arguments of a prior are parameters, the gradient of the log joint density still agrees
// with finite differences.
func TestHierarchicalPriorGradients(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	for d, n := range map[ir.Density]int{
		ir.Normal: 2, ir.StudentT: 3, ir.Cauchy: 2, ir.Gamma: 2, ir.InvGamma: 2, ir.Exponential: 1, ir.Beta: 2, ir.Dirichlet: 1,
		ir.LogNormal: 2, ir.Logistic: 2, ir.DoubleExponential: 2, ir.Weibull: 2,
	} {
		b := model.NewBuilder("hierarchy")
		y := b.Real("y", -1, 1)
		var args []model.Expr
		for k := range n {
			q := ir.Parameter{Name: fmt.Sprint("a", k), Rows: 3, Cols: 1, Constraint: positive}
			args = append(args, b.Parameter(q, b.Of(ir.Gamma, b.Number(2), b.Number(1))))
		}
		q := ir.Parameter{Name: "q", Rows: 3, Cols: 1, Constraint: interval}
		if d == ir.Dirichlet {
			q.Constraint = ir.Constraint{Kind: ir.Simplex}
		}
		p := b.Parameter(q, b.Of(d, args...))
		m, err := b.Build(b.LogDensity(ir.Normal, y, b.Apply(ir.Sum, p), b.Number(1)))
		if err != nil {
			t.Fatal(err)
		}
		theta, _ := point(m, rng)
		gradient := make([]float64, m.Dim())
		m.LogPrior(theta, gradient)
		for i := range theta {
			const h = 1e-5
			old := theta[i]
			theta[i] = old + h
			up := m.LogPrior(theta, nil)
			theta[i] = old - h
			down := m.LogPrior(theta, nil)
			theta[i] = old
			if want := (up - down) / (2 * h); math.Abs(gradient[i]-want) > 1e-7*(1+math.Abs(want)) {
				t.Errorf("%s: gradient in %s is %g, differences give %g", d, m.Names()[i], gradient[i], want)
			}
		}
	}
}
