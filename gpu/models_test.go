package gpu

import (
	"math"
	"math/rand"

	"fedpvi/internal/testing/programs"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// zoo has one model for each kind of likelihood, and models with other features, such as records
// that use a coordinate twice.
var zoo = map[string]func() (*model.Model, error){
	"logistic":   func() (*model.Model, error) { return regression.Build(programs.Logistic) },
	"plain":      func() (*model.Model, error) { return plain.Build(programs.Logistic) },
	"probit":     func() (*model.Model, error) { return regression.Build(programs.Probit) },
	"poisson":    func() (*model.Model, error) { return regression.Build(programs.Poisson) },
	"negbin":     func() (*model.Model, error) { return regression.Build(programs.NegativeBinomial) },
	"robust":     func() (*model.Model, error) { return regression.Build(programs.Robust) },
	"linear":     func() (*model.Model, error) { return regression.Build(programs.Linear) },
	"softmax":    func() (*model.Model, error) { return regression.Softmax([]string{"k", "l", "m"}) },
	"intercept":  func() (*model.Model, error) { return grouped(1000, 0).Build(programs.Linear) },
	"slopes":     func() (*model.Model, error) { return grouped(1000, 0, "b", "d").Build(programs.Logistic) },
	"counts":     func() (*model.Model, error) { return grouped(50, 0, "b", "d").Build(programs.Poisson) },
	"correlated": func() (*model.Model, error) { return grouped(1000, 2, "b").Build(programs.Logistic) },
	"characteristics": func() (*model.Model, error) {
		return regression.Characteristics([][]float64{{1, .2}, {-1, .5}, {.3, 2}}, unit)
	},
	"mixture": func() (*model.Model, error) {
		return programs.Mixture{
			Components: 3, Variables: []string{"u", "v"}, Concentration: 1.5, Means: model.Normal{SD: 3}, Shape: 2, Scale: 1,
		}.Build(50)
	},
	"network":  func() (*model.Model, error) { return regression.Network(5, programs.Logistic) },
	"netnoise": func() (*model.Model, error) { return regression.Network(3, programs.Linear) },
	"pairs":    pairs, "tangle": tangle, "ordered": cuts, "rows": gatherRows, "matrices": matrices,
	"everything": everything, "deep": deep,
	"twice": twice, "positive": positive,
}

var (
	unit       = model.Normal{SD: 1}
	regression = programs.Regression{
		Features: []string{"a", "b", "c", "d", "e"}, Bound: 50, Coefficients: unit, Intercept: &model.Normal{SD: 2}, Most: 1000,
	}
	plain = programs.Regression{Features: []string{"a", "b"}, Coefficients: unit}
)

// grouped returns a regression whose intercept and slopes vary between three groups.
func grouped(most, correlation float64, slopes ...string) programs.Regression {
	r := regression
	r.Most, r.Groups = most, programs.Groups{Names: []string{"p", "q", "r"}, Slopes: slopes, Scale: 1, Correlation: correlation}
	return r
}

// pairs returns a model of a match between two players. The strengths of both come from one table,
// and a player may play against itself.
func pairs() (*model.Model, error) {
	b := model.NewBuilder("pairs")
	y, i, j := b.Integer("y", 0, 1), b.Integer("i", 0, 2), b.Integer("j", 0, 2)
	s := b.Parameter(ir.Parameter{Name: "s", Rows: 3, Cols: 1, Constraint: model.Positive}, b.Normal(unit))
	first := b.Gather(s, i)
	// The second strength depends on the same coordinates as the first, but through a different
	// function.
	second := b.Gather(b.Apply(ir.Log, s), j)
	return b.Build(b.LogDensity(ir.BernoulliLogit, y, b.Apply(ir.Sub, first, b.Add(second, b.Gather(s, j)))))
}

// tangle returns a model that uses the vector s in three ways: it multiplies s by a row, it selects
// an element of s by an index, and it takes element 2 as the logarithm of a scale.
func tangle() (*model.Model, error) {
	b := model.NewBuilder("tangle")
	y, i := b.Real("y", -100, 100), b.Integer("i", 0, 3)
	x := b.Reals("x", []string{"a", "b", "c", "d"}, -50, 50)
	s := b.Vector("s", []string{"a", "b", "c", "d"}, model.Free, b.Normal(unit))
	eta := b.Add(b.Linear(x, s), b.Gather(s, i), b.Apply(ir.Dot, x, b.Apply(ir.Tanh, s)))
	return b.Build(b.LogDensity(ir.Normal, y, eta, b.Apply(ir.Exp, b.Element(s, 2))))
}

// cuts returns a model with an ordered vector and a simplex. An element of either depends on
// several coordinates.
func cuts() (*model.Model, error) {
	b := model.NewBuilder("ordered")
	y, i := b.Real("y", -100, 100), b.Integer("i", 0, 3)
	c := b.Parameter(ir.Parameter{Name: "c", Rows: 4, Cols: 1, Constraint: ir.Constraint{Kind: ir.Ordered}}, b.Normal(model.Normal{SD: 2}))
	w := b.Parameter(ir.Parameter{Name: "w", Rows: 4, Cols: 1, Constraint: ir.Constraint{Kind: ir.Simplex}}, b.Of(ir.Dirichlet, b.Number(2)))
	s := b.Scalar("s", ir.Constraint{Kind: ir.Both, Lower: .5, Upper: 3}, b.Normal(unit))
	mean := b.Add(b.Gather(c, i), b.Mul(b.Gather(w, i), b.Apply(ir.Dot, c, b.Apply(ir.Square, b.Apply(ir.Sub, b.Numbers(1, 2, 3, 4), y)))))
	return b.Build(b.LogDensity(ir.Normal, y, mean, s))
}

// gatherRows returns a model with a matrix of slopes, which has a row for each group. All slopes
// have a prior with the same scale, and this scale is a parameter.
func gatherRows() (*model.Model, error) {
	b := model.NewBuilder("rows")
	y, i, j := b.Integer("y", 0, 30), b.Integer("i", 0, 2), b.Integer("j", 0, 2)
	x := b.Reals("x", []string{"a", "b"}, -50, 50)
	tau := b.Scalar("tau", model.Positive, b.Of(ir.Exponential, b.Number(1)))
	m := b.Parameter(ir.Parameter{Name: "m", Rows: 3, Cols: 2}, b.Of(ir.StudentT, b.Number(4), b.Number(0), tau))
	eta := b.Add(b.Apply(ir.Dot, x, b.GatherRow(m, i)), b.Apply(ir.Dot, x, b.GatherRow(m, j)))
	return b.Build(b.LogDensity(ir.PoissonLog, y, b.Apply(ir.Min, eta, b.Number(3))))
}

// matrices returns a model that multiplies a gathered vector by a matrix of parameters, as a model
// with correlated slopes does.
func matrices() (*model.Model, error) {
	b := model.NewBuilder("matrices")
	y, i := b.Real("y", -100, 100), b.Integer("i", 0, 2)
	x := b.Reals("x", []string{"a", "b"}, -50, 50)
	sd := b.Parameter(ir.Parameter{Name: "sd", Rows: 2, Cols: 1, Constraint: model.Positive}, b.Of(ir.Gamma, b.Number(2), b.Number(2)))
	r := b.Scalar("r", ir.Constraint{Kind: ir.Both, Lower: -1, Upper: 1}, b.Normal(unit))
	one, two := b.Element(sd, 0), b.Element(sd, 1)
	rest := b.Apply(ir.Sqrt, b.Apply(ir.Sub, b.Number(1), b.Apply(ir.Square, r)))
	l := b.Slice(b.Apply(ir.Stack, one, b.Number(0), b.Mul(two, r), b.Mul(two, rest)), 0, 2, 2)
	z := b.Parameter(ir.Parameter{Name: "z", Rows: 3, Cols: 2}, b.Normal(unit))
	eta := b.Apply(ir.Dot, x, b.MatVec(l, b.GatherRow(z, i)))
	return b.Build(b.LogDensity(ir.Normal, y, eta, b.Number(1)))
}

// deep returns a neural network with two hidden layers. The second layer's matrix multiplies a
// vector that is computed for each record.
func deep() (*model.Model, error) {
	b := model.NewBuilder("deep")
	y, x := b.Integer("y", 0, 1), b.Reals("x", []string{"a", "b"}, -50, 50)
	w := b.Parameter(ir.Parameter{Name: "w", Rows: 3, Cols: 2}, b.Normal(unit))
	u := b.Parameter(ir.Parameter{Name: "u", Rows: 2, Cols: 3, Constraint: model.Positive}, b.Normal(unit))
	h := b.Apply(ir.Tanh, b.MatVec(u, b.Apply(ir.Tanh, b.MatVec(w, x))))
	return b.Build(b.LogDensity(ir.BernoulliLogit, y, b.Apply(ir.Sum, h)))
}

// twice returns a generalised linear model in which the same shared scalar is added to the
// predictor twice and is also the scale.
func twice() (*model.Model, error) {
	b := model.NewBuilder("twice")
	y, x := b.Real("y", -100, 100), b.Reals("x", []string{"a", "b"}, -50, 50)
	beta := b.Vector("beta", []string{"a", "b"}, model.Free, b.Normal(unit))
	s := b.Scalar("s", model.Positive, b.Normal(unit))
	return b.Build(b.LogDensity(ir.Normal, y, b.Add(b.Linear(x, beta), s, s), s))
}

// positive returns a generalised linear model whose coefficients are functions of their
// coordinates.
func positive() (*model.Model, error) {
	b := model.NewBuilder("positive")
	y, x := b.Integer("y", 0, 1), b.Reals("x", []string{"a", "b"}, -50, 50)
	beta := b.Vector("beta", []string{"a", "b"}, model.Positive, b.Normal(unit))
	return b.Build(b.LogDensity(ir.BernoulliLogit, y, b.Linear(x, beta)))
}

// everything returns a model that uses each operation at least once.
func everything() (*model.Model, error) {
	b := model.NewBuilder("everything")
	y, x := b.Real("y", -100, 100), b.Reals("x", []string{"a", "b"}, -50, 50)
	s := b.Parameter(ir.Parameter{Name: "s", Rows: 2, Cols: 1, Constraint: ir.Constraint{Kind: ir.Upper, Upper: 1}}, b.Of(ir.Cauchy, b.Number(0), b.Number(1)))
	p := b.Parameter(ir.Parameter{Name: "p", Rows: 2, Cols: 1, Constraint: ir.Constraint{Kind: ir.Both, Upper: 1}}, b.Of(ir.Beta, b.Number(2), b.Number(3)))
	v := b.Parameter(ir.Parameter{Name: "v", Rows: 2, Cols: 1, Constraint: model.Positive}, b.Of(ir.InvGamma, b.Number(2), b.Number(3)))
	e := b.Add(x, s)
	for _, op := range []ir.Op{ir.Tanh, ir.Softplus, ir.Log1p, ir.Sqrt, ir.Expm1, ir.Inv, ir.Neg, ir.InvLogit, ir.LogInvLogit, ir.Phi, ir.Exp, ir.Log, ir.Abs, ir.Square} {
		e = b.Apply(op, e)
	}
	f := b.Apply(ir.Max, b.Apply(ir.Div, x, b.Add(v, p)), b.Apply(ir.Min, b.Apply(ir.Sub, p, x), s))
	g := b.Add(b.Apply(ir.Softmax, f), b.Mul(e, p), b.Apply(ir.LogSoftmax, b.Mul(x, v)))
	h := b.Apply(ir.Stack, b.Apply(ir.Sum, g), b.Apply(ir.LogSumExp, b.Add(x, v)), b.Element(g, 1), b.Apply(ir.Dot, g, x))
	mean := b.Apply(ir.Sum, b.Slice(h, 1, 3, 1))
	return b.Build(b.LogDensity(ir.StudentT, y, b.Add(b.Number(1), b.Element(p, 1)), b.Mul(mean, b.Number(.1)), b.Add(b.Number(.5), b.Element(v, 0))))
}

// fatal is implemented by tests, benchmarks and property tests, so that helpers work for all of
// them.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

// build returns a model of the zoo.
func build(t fatal, name string) *model.Model {
	t.Helper()
	m, err := zoo[name]()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// randomTable returns a table of random rows that fit the columns of a model. spread is the scale
// of the numbers.
func randomTable(t fatal, m *model.Model, rng *rand.Rand, rows int, spread float64) *model.Table {
	t.Helper()
	return load(t, m, rows, randomColumns(m, rng, rows, spread))
}

func load(t fatal, m *model.Model, rows int, columns [][]float64) *model.Table {
	t.Helper()
	table, err := m.Load(rows, columns)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func randomPoint(m *model.Model, rng *rand.Rand, spread float64) []float64 {
	theta := make([]float64, m.Dim())
	for i := range theta {
		theta[i] = spread * rng.NormFloat64()
	}
	return theta
}

func compile(t fatal, engine CPU, m *model.Model, table *model.Table) *cpu {
	t.Helper()
	e, err := engine.Compile(m, table)
	if err != nil {
		t.Fatal(err)
	}
	return e.(*cpu)
}

// sumOf returns the sum of a query, and its totals.
func sumOf(t fatal, e Evaluator, q *Query) ([]float64, Total) {
	t.Helper()
	g := make([]float64, q.Size(e.Dim()))
	total, err := e.Sum(g, q)
	if err != nil {
		t.Fatal(err)
	}
	return g, total
}

// eachOf returns the contribution of each record of a query.
func eachOf(t fatal, e *cpu, q *Query) [][]float64 {
	t.Helper()
	s := &collect{size: q.Size(e.Dim()), clip: q.Clip}
	if err := e.Each(q, s); err != nil {
		t.Fatal(err)
	}
	return s.all
}

// distance returns |a−b| divided by the larger of 1 and |b|.
func distance(a, b []float64) float64 {
	var difference, size float64
	for i := range a {
		difference += (a[i] - b[i]) * (a[i] - b[i])
		size += b[i] * b[i]
	}
	return math.Sqrt(difference) / max(1, math.Sqrt(size))
}
