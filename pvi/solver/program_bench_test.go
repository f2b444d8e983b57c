package solver

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fedpvi/internal/special"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

var unit = model.Normal{SD: 1}

// spreadOf declares a positive spread with a half-normal prior.
func spreadOf(b *model.Builder, name string) model.Expr {
	return b.Scalar(name, model.Positive, b.Normal(unit))
}

func levels(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(i))
	}
	return names
}

// crossed returns a logistic regression with five coefficients and effects for each group term.
// groups holds the number of levels of each term. The spreads of the effects are learned, and the
// sd of the true effects is .7.
func crossed(tb testing.TB, rows int, groups ...int) *Program {
	tb.Helper()
	r := rand.New(rand.NewPCG(7, 8))
	b := model.NewBuilder("crossed effects")
	y, x := b.Integer("y", 0, 1), b.Reals("x", levels(5), -10, 10)
	eta := b.Linear(x, b.Vector("beta", levels(5), model.Free, b.Normal(unit)))
	columns, truth := [][]float64{make([]float64, rows), nil}, make([]float64, rows)
	for i := range rows {
		for j := range 5 {
			x := r.NormFloat64()
			columns[1] = append(columns[1], x)
			truth[i] += x * .3 * float64(j-2)
		}
	}
	for g, n := range groups {
		tau := spreadOf(b, fmt.Sprint("sd ", g))
		effects := b.Vector(fmt.Sprint("effect ", g), levels(n), model.Free, b.Of(ir.Normal, b.Number(0), tau))
		eta = b.Add(eta, b.Gather(effects, b.Integer(fmt.Sprint("group ", g), 0, float64(n-1))))
		effect, column := make([]float64, n), make([]float64, rows)
		for k := range effect {
			effect[k] = .7 * r.NormFloat64()
		}
		for i := range rows {
			k := r.IntN(n)
			column[i] = float64(k)
			truth[i] += effect[k]
		}
		columns = append(columns, column)
	}
	for i, log := range truth {
		columns[0][i] = answer(r, log)
	}
	return finished(tb, b, b.LogDensity(ir.BernoulliLogit, y, eta), rows, columns)
}

func answer(r *rand.Rand, log float64) float64 {
	if r.Float64() < special.InvLogit(log) {
		return 1
	}
	return 0
}

// items returns a two-parameter model of answers to test items. The log discrimination and the
// difficulty of an item are correlated effects, and each person has an ability and answers each
// item.
func items(tb testing.TB, persons, n int) *Program {
	tb.Helper()
	r := rand.New(rand.NewPCG(9, 10))
	b := model.NewBuilder("answers")
	y, person, item := b.Integer("y", 0, 1), b.Integer("person", 0, float64(persons-1)), b.Integer("item", 0, float64(n-1))
	ability := b.Vector("ability", levels(persons), model.Free, b.Normal(unit))
	z := b.Parameter(ir.Parameter{Name: "z", Rows: n, Cols: 2}, b.Normal(unit))
	mean := b.Vector("mean", levels(2), model.Free, b.Normal(unit))
	one, two, r12 := spreadOf(b, "sd 1"), spreadOf(b, "sd 2"), b.Scalar("r", ir.Constraint{Kind: ir.Both, Lower: -1, Upper: 1}, b.Normal(unit))
	rest := b.Apply(ir.Sqrt, b.Apply(ir.Sub, b.Number(1), b.Apply(ir.Square, r12)))
	l := b.Slice(b.Apply(ir.Stack, one, b.Number(0), b.Mul(two, r12), b.Mul(two, rest)), 0, 2, 2)
	effects := b.Add(mean, b.MatVec(l, b.GatherRow(z, item)))
	eta := b.Mul(b.Apply(ir.Exp, b.Element(effects, 0)), b.Apply(ir.Sub, b.Gather(ability, person), b.Element(effects, 1)))
	columns, steep, hard := make([][]float64, 3), make([]float64, n), make([]float64, n)
	for k := range n {
		steep[k], hard[k] = math.Exp(.5*r.NormFloat64()), r.NormFloat64()
	}
	for i := range persons {
		able := r.NormFloat64()
		for k := range n {
			columns[0] = append(columns[0], answer(r, steep[k]*(able-hard[k])))
			columns[1], columns[2] = append(columns[1], float64(i)), append(columns[2], float64(k))
		}
	}
	return finished(tb, b, b.LogDensity(ir.BernoulliLogit, y, eta), persons*n, columns)
}

// finished returns the likelihood of a model's records, with a prior that is not the base.
func finished(tb testing.TB, b *model.Builder, density model.Expr, rows int, columns [][]float64) *Program {
	tb.Helper()
	m, err := b.Build(density)
	if err != nil {
		tb.Fatal(err)
	}
	table, err := m.Load(rows, columns)
	if err != nil {
		tb.Fatal(err)
	}
	base := Base{make([]float64, m.Dim()), make([]float64, m.Dim())}
	for i := range base.SD {
		base.SD[i] = 1.5
	}
	p, err := NewProgram(m, table, base, true, 1)
	if err != nil {
		tb.Fatal(err)
	}
	p.CurveAtMean()
	return p
}

// BenchmarkExpected computes the expectations of one step of a pooled fit with groups.
func BenchmarkExpected(b *testing.B) {
	eachProgram(b, func(b *testing.B, p *Program) {
		family := gaussian.Full(p.Dim())
		q, err := NewApproximation(family, standardNormal(p.Dim()))
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			p.AddExpected(NewExpected(family), q)
		}
	})
}

// BenchmarkSettled fits the pooled records of the same programs.
func BenchmarkSettled(b *testing.B) {
	eachProgram(b, func(b *testing.B, p *Program) {
		family := gaussian.Full(p.Dim())
		for b.Loop() {
			if err := Pooled(make([]float64, family.Size()), standardNormal(p.Dim()), family, []Likelihood{p}, false, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func eachProgram(b *testing.B, run func(*testing.B, *Program)) {
	for _, p := range []*Program{
		crossed(b, 11_566, 48, 20, 8, 4),
		crossed(b, 5_000, 80, 54, 3),
		items(b, 600, 32),
	} {
		b.Run(fmt.Sprintf("%d coordinates and %d records", p.Dim(), p.records.Rows()), func(b *testing.B) { run(b, p) })
	}
}
