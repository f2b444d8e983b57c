package gpu

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

// randomProgram builds a random model program that the verifier accepts.
func randomProgram(t *rapid.T) *model.Model {
	p := ir.Program{
		Name: "random",
		Columns: []ir.Column{
			{Name: "x", Entries: ir.NamesOf("a", "b"), Lower: -1e300, Upper: 1e300},
			{Name: "y", Lower: math.Inf(-1), Upper: math.Inf(1)},
			{Name: "k", Upper: 1, Integer: true},
			{Name: "i", Upper: 2, Integer: true},
			{Name: "j", Upper: 2, Integer: true},
		},
		Parameters: []ir.Parameter{
			{Name: "v", Rows: 3, Cols: 1},
			{Name: "s", Rows: 1, Cols: 1, Constraint: model.Positive},
			{Name: "w", Rows: 3, Cols: 2, Constraint: ir.Constraint{Kind: ir.Both, Lower: -2, Upper: 3}},
			{Name: "c", Rows: 3, Cols: 1, Constraint: ir.Constraint{Kind: ir.Simplex}},
			{Name: "u", Rows: 2, Cols: 1},
		},
		Nodes: []ir.Node{
			{Op: ir.Col, Ref: 0},
			{Op: ir.Col, Ref: 1},
			{Op: ir.Col, Ref: 2},
			{Op: ir.Col, Ref: 3},
			{Op: ir.Col, Ref: 4},
			{Op: ir.Param, Ref: 0},
			{Op: ir.Param, Ref: 1},
			{Op: ir.Param, Ref: 2},
			{Op: ir.Param, Ref: 3},
			{Op: ir.Param, Ref: 4},
			{Op: ir.Const, Rows: 1, Cols: 1, Values: []float64{1}},
			{Op: ir.Linear, Args: []int{0, 9}},
			{Op: ir.Global, Args: []int{6}},
			{Op: ir.DensityOp, Ref: int(ir.Normal), Args: []int{1, 11, 12}},
		},
		Likelihood: 13,
	}
	for k, d := range []ir.Density{ir.Normal, ir.Normal, ir.Normal, ir.Dirichlet, ir.Normal} {
		args := []int{10, 10}
		if d == ir.Dirichlet {
			args = []int{10}
		}
		p.Priors = append(p.Priors, ir.Prior{Parameter: k, Density: d, Args: args})
	}
	for range rapid.IntRange(5, 40).Draw(t, "nodes") {
		p.Nodes = append(p.Nodes, randomNode(t, len(p.Nodes)))
		if _, err := ir.Verify(p); err != nil {
			p.Nodes = p.Nodes[:len(p.Nodes)-1]
		}
	}
	v, err := ir.Verify(p)
	if err != nil {
		t.Fatal(err)
	}
	// The log density adds up all scalars of a record, so that it depends on as many nodes as
	// possible.
	for i := range p.Nodes {
		if v.Phase(i) == ir.Record && v.Shape(i).Size() == 1 && i != p.Likelihood {
			p.Nodes = append(p.Nodes, ir.Node{Op: ir.Add, Args: []int{p.Likelihood, i}})
			p.Likelihood = len(p.Nodes) - 1
		}
	}
	m, err := model.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// If a record's gradient is not finite, the record must contribute zero and must not affect later
// records. The model multiplies a row by a vector that all records share, and in the first row the
// product overflows.
func TestRefusedRecordLeavesNoTrace(t *testing.T) {
	b := model.NewBuilder("trace")
	y, x := b.Real("y", -1, 1), b.Real("x", -1e300, 1e300)
	w := b.Parameter(ir.Parameter{Name: "w", Rows: 2, Cols: 2}, b.Normal(unit))
	v := b.Vector("v", []string{"a", "b"}, model.Free, b.Normal(unit))
	m, err := b.Build(b.LogDensity(ir.Normal, y, b.Mul(x, b.Apply(ir.Sum, b.MatVec(w, b.Add(v, x)))), b.Number(1)))
	if err != nil {
		t.Fatal(err)
	}
	program := *m.Verified().Program()
	program.Nodes = slices.Clone(program.Nodes)
	global := -1
	for i, n := range program.Nodes {
		switch n.Op {
		case ir.Global:
			global = i
		case ir.MatVec: // make the shared vector itself an argument, which the builder would refuse
			program.Nodes[i].Args = []int{n.Args[0], global}
		}
	}
	if m, err = model.New(program); err != nil {
		t.Fatal(err)
	}
	const rows = 130
	q := &Query{Draws: [][]float64{{1, 2, 3, 4, 5, 6}}, Clip: 1}
	var kept [2][][]float64
	for i, first := range []float64{0, 1e300} {
		columns := [][]float64{make([]float64, rows), slices.Repeat([]float64{.5}, rows)}
		columns[1][0] = first
		kept[i] = eachOf(t, compile(t, CPU{}, m, load(t, m, rows, columns)), q)
	}
	for n := 1; n < rows; n++ {
		if !slices.Equal(kept[0][n], kept[1][n]) {
			t.Fatalf("record %d contributes %v, and %v after a record that is refused", n, kept[0][n], kept[1][n])
		}
	}
}

func randomNode(t *rapid.T, n int) ir.Node {
	arg := rapid.IntRange(0, n-1)
	bridges := []ir.Op{ir.Global, ir.Gather, ir.GatherRow, ir.Linear, ir.MatVec}
	op := ir.Op(rapid.IntRange(int(ir.Global), int(ir.DensityOp)).Draw(t, "op"))
	if rapid.Bool().Draw(t, "bridge") {
		op = rapid.SampledFrom(bridges).Draw(t, "op")
	}
	node := ir.Node{Op: op, Ref: rapid.IntRange(0, 12).Draw(t, "ref"), Rows: rapid.IntRange(1, 3).Draw(t, "rows"), Cols: 1}
	args := rapid.SampledFrom([]int{1, 2, 2, 3, 4}).Draw(t, "args")
	switch {
	case op == ir.Global || op.Elementwise() && op < ir.Add:
		args = 1
	case op == ir.Gather || op == ir.GatherRow:
		return ir.Node{Op: op, Args: []int{arg.Draw(t, "table"), rapid.IntRange(3, 4).Draw(t, "index")}}
	}
	for range args {
		node.Args = append(node.Args, arg.Draw(t, "arg"))
	}
	return node
}

// The test evaluates random programs that the verifier accepts, on extreme rows and parameters. A
// contribution must be finite, with a norm of at most C. It must agree with the gradient that the
// test computes for the record alone. If all other rows change, its bits must stay the same.
func TestHostilePrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomProgram(t)
		rng := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		spread := rapid.SampledFrom([]float64{.1, 1, 30, 1e10, 1e200}).Draw(t, "spread")
		const rows = 70
		n := rng.Intn(rows)
		columns, others := randomColumns(m, rng, rows, spread), randomColumns(m, rng, rows, spread)
		for k, c := range m.Columns() {
			copy(others[k][n*c.Width():(n+1)*c.Width()], columns[k][n*c.Width():])
		}
		q := &Query{Draws: [][]float64{randomPoint(m, rng, min(spread, 300))}, Clip: math.Exp(rng.NormFloat64())}
		var kept [2][][]float64
		var density [2][]float64
		for i, data := range [][][]float64{columns, others} {
			table := load(t, m, rows, data)
			e := compile(t, CPU{}, m, table)
			kept[i] = eachOf(t, e, q)
			density[i] = make([]float64, rows)
			m.LogDensities(density[i], q.Draws[0], table)
			checkFinite(t, e, q)
			if i == 0 && spread <= 1 {
				checkContributions(t, kept[0], newMaterialised(m, table), q)
			}
		}
		if math.Float64bits(density[0][n]) != math.Float64bits(density[1][n]) {
			t.Fatal("other rows changed the density of a record")
		}
		for j, x := range kept[0][n] {
			if math.Float64bits(x) != math.Float64bits(kept[1][n][j]) {
				t.Fatal("other rows changed the contribution of a record")
			}
		}
	})
}

func checkFinite(t fatal, e *cpu, q *Query) {
	g, total := sumOf(t, e, q)
	norm := 0.
	for _, x := range g {
		norm += x * x
	}
	if !(math.Sqrt(norm) <= q.Clip*float64(e.Rows()-total.Refused)*(1+1e-12)) || math.IsNaN(total.LogDensity) || math.IsInf(total.LogDensity, 0) {
		t.Fatal("a sum is not finite or larger than the clips allow:", math.Sqrt(norm), total)
	}
}

// checkContributions compares contributions with the gradients of the plain evaluator. It skips
// gradients that are not finite, and those with a norm of 1e6 or more, because their rounding
// errors are large.
func checkContributions(t fatal, all [][]float64, plain *materialised, q *Query) {
	for l, row := range plain.batch(q) {
		plain.shared.Set(q.Draws[0])
		_, g := plain.gradient(row)
		if norm := math.Sqrt(tape.Dot(g, g)); !(norm < 1e6) {
			continue
		}
		_, want, _ := plain.contribution(q, row)
		if gap := distance(all[l], want); gap > 1e-9*(1+q.Clip) {
			t.Fatal("the contribution of a record differs by", gap)
		}
	}
}

func randomColumns(m *model.Model, rng *rand.Rand, rows int, spread float64) [][]float64 {
	var columns [][]float64
	for _, c := range m.Columns() {
		values := make([]float64, rows*c.Width())
		for i := range values {
			if c.Integer {
				values[i] = c.Lower + float64(rng.Intn(int(min(c.Upper-c.Lower, 20))+1))
			} else {
				values[i] = min(max(spread*rng.NormFloat64(), c.Lower), c.Upper)
			}
		}
		columns = append(columns, values)
	}
	return columns
}
