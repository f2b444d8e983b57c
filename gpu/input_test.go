package gpu

import (
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

// The test compares the sum over a batch of several strips with a sum that the plain evaluator
// computes row by row.
func TestSumOfSeveralStrips(t *testing.T) {
	for _, name := range []string{"logistic", "slopes", "mixture", "pairs"} {
		m := build(t, name)
		rng := rand.New(rand.NewSource(5))
		table := randomTable(t, m, rng, 9000, 1)
		q := &Query{Draws: [][]float64{randomPoint(m, rng, .5), randomPoint(m, rng, .5)}, Clip: .7}
		got, _ := sumOf(t, compile(t, CPU{}, m, table), q)
		want, _ := newMaterialised(m, table).sum(q)
		if gap := distance(got, want); gap > 1e-12 {
			t.Errorf("%s: sum over strips differs by %g", name, gap)
		}
	}
}

// A sum must count the records that contribute zero because a number is not finite. Every strip of
// the batch has such records.
func TestRefusedAreCounted(t *testing.T) {
	m := build(t, "poisson")
	const rows = 5000
	columns := randomColumns(m, rand.New(rand.NewSource(1)), rows, .1)
	want := 0
	for row := 0; row < rows; row += 700 {
		columns[1][row*5] = 50
		want++
	}
	table := load(t, m, rows, columns)
	theta := make([]float64, m.Dim())
	theta[0] = 20
	if _, total := sumOf(t, compile(t, CPU{}, m, table), &Query{Draws: [][]float64{theta}, Clip: 1}); total.Refused != want {
		t.Errorf("%d records refused, want %d", total.Refused, want)
	}
}

func TestNoAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	for name := range zoo {
		m := build(t, name)
		rng := rand.New(rand.NewSource(6))
		e := compile(t, CPU{}, m, randomTable(t, m, rng, 3000, 1))
		for _, q := range []*Query{
			{Draws: [][]float64{randomPoint(m, rng, .5)}, Clip: 1},
			{Draws: [][]float64{randomPoint(m, rng, .5), randomPoint(m, rng, .5)}, Clip: 1, Joint: [][]float64{randomPoint(m, rng, .5), randomPoint(m, rng, .5)}},
		} {
			g := make([]float64, q.Size(m.Dim()))
			if n := testing.AllocsPerRun(3, func() { _, _ = e.Sum(g, q) }); n > 0 {
				t.Errorf("%s: %g allocations for a sum", name, n)
			}
			if n := testing.AllocsPerRun(3, func() { _ = e.Each(q, nothing{}) }); n > 0 {
				t.Errorf("%s: %g allocations for a pass over records", name, n)
			}
		}
	}
}

// Records that overflow must contribute zero and be counted, and must not change the contributions
// of other records.
func TestOverflowContributesZero(t *testing.T) {
	m := build(t, "poisson")
	rng := rand.New(rand.NewSource(7))
	const rows = 130
	columns := randomColumns(m, rng, rows, 1)
	bad := map[int32]bool{3: true, 64: true, 129: true}
	for row := range bad {
		columns[1][int(row)*5] = 50 // the largest value that the column may have
	}
	table := load(t, m, rows, columns)
	theta := make([]float64, m.Dim())
	theta[0] = 20 // with this, the exponent of these rows is 1000
	for i := 1; i < len(theta); i++ {
		theta[i] = .1
	}
	for i := range rows {
		if !bad[int32(i)] {
			table.Nodes[1][i*5] = 0 // keep the exponents of the other rows finite
		}
	}
	for _, engine := range []CPU{{}, {Generic: true}} {
		e := compile(t, engine, m, table)
		q := &Query{Draws: [][]float64{theta}, Clip: 1e3}
		g, total := sumOf(t, e, q)
		if total.Refused != len(bad) {
			t.Fatalf("%d records refused, want %d", total.Refused, len(bad))
		}
		for row := range int32(rows) {
			if !bad[row] {
				q.Batch = append(q.Batch, row)
			}
		}
		if want, _ := sumOf(t, e, q); distance(g, want) > 1e-13 {
			t.Errorf("the other records give %v, want %v", g, want)
		}
		q.Batch = []int32{3}
		if all := eachOf(t, e, q); tape.Dot(all[0], all[0]) != 0 {
			t.Errorf("a refused record hands %v to the sink", all)
		}
		if err := e.Hessian(make([]float64, m.Dim()*(m.Dim()+1)/2), theta); err == nil {
			t.Error("a Hessian at a point where a density overflows is no error")
		}
	}
}

// The sum over an empty batch must be zero.
func TestEmptyBatch(t *testing.T) {
	m := build(t, "logistic")
	rng := rand.New(rand.NewSource(8))
	e := compile(t, CPU{}, m, randomTable(t, m, rng, 10, 1))
	g := randomPoint(m, rng, 1)
	total, err := e.Sum(g, &Query{Draws: [][]float64{randomPoint(m, rng, 1)}, Batch: []int32{}, Clip: 1})
	if err != nil || total != (Total{}) || tape.Dot(g, g) != 0 {
		t.Errorf("sum %v, totals %v, %v", g, total, err)
	}
}

func TestQueryErrors(t *testing.T) {
	m := build(t, "logistic")
	rng := rand.New(rand.NewSource(8))
	e := compile(t, CPU{}, m, randomTable(t, m, rng, 10, 1))
	d := m.Dim()
	theta, g := make([]float64, d), make([]float64, d)
	for _, c := range []struct {
		want string
		q    Query
	}{
		{"at least one draw", Query{Clip: 1}},
		{"clip", Query{Draws: [][]float64{theta}}},
		{"clip", Query{Draws: [][]float64{theta}, Clip: math.NaN()}},
		{"clip", Query{Draws: [][]float64{theta}, Clip: -1}},
		{"coordinates", Query{Draws: [][]float64{theta[:2]}, Clip: 1}},
		{"joint", Query{Draws: [][]float64{theta}, Clip: 1, Joint: [][]float64{theta, theta}}},
		{"coordinates", Query{Draws: [][]float64{theta}, Clip: 1, Joint: [][]float64{theta[:1]}}},
		{"inside", Query{Draws: [][]float64{theta}, Clip: 1, Inside: theta[:1]}},
		{"batch", Query{Draws: [][]float64{theta}, Clip: 1, Batch: []int32{10}}},
		{"batch", Query{Draws: [][]float64{theta}, Clip: 1, Batch: []int32{-1}}},
		{"destination", Query{Draws: [][]float64{theta, theta}, Clip: 1}},
	} {
		if _, err := e.Sum(g, &c.q); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one about %s", c.q, err, c.want)
		}
	}
	if err := e.Each(&Query{Draws: [][]float64{theta}, Clip: 1}, nil); err == nil {
		t.Error("a nil sink is accepted")
	}
	if _, err := (CPU{}).Compile(m, nil); err == nil {
		t.Error("no table is accepted")
	}
	other := build(t, "mixture")
	if _, err := (CPU{}).Compile(other, randomTable(t, m, rng, 3, 1)); err == nil {
		t.Error("the table of another model is accepted")
	}
}

// For data outside the public bounds, loading must return an error that does not contain the value.
func TestLoadErrors(t *testing.T) {
	m := build(t, "poisson")
	const secret = 1234.5678
	for name, c := range map[string]struct {
		column, at int
		value      float64
	}{
		"outside": {1, 3, secret}, "no count": {0, 0, math.NaN()}, "infinite": {1, 0, math.Inf(1)},
		"negative count": {0, 1, -1}, "no whole number": {0, 1, .5}, "large count": {0, 1, 1e9},
	} {
		columns := randomColumns(m, rand.New(rand.NewSource(1)), 4, 1)
		columns[c.column][c.at] = c.value
		if _, err := m.Load(4, columns); err == nil || strings.Contains(err.Error(), "1234") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.Load(4, nil); err == nil {
		t.Error("no columns are accepted")
	}
	if _, err := m.Load(3, randomColumns(m, rand.New(rand.NewSource(1)), 4, 1)); err == nil {
		t.Error("columns of another length are accepted")
	}
}

// The test sets all numbers of a row to NaN, as if its record had been left out. The other records
// must contribute the same bits as before. For the row of NaNs, a sink may get nothing, zeros, or a
// gradient with NaNs.
func TestLeftOutRowsChangeNothing(t *testing.T) {
	const rows, gone = block + 5, 7
	for name := range zoo {
		m := build(t, name)
		if !slices.ContainsFunc(m.Columns(), func(c ir.Column) bool { return !c.Integer }) {
			continue
		}
		rng := rand.New(rand.NewSource(2))
		columns := randomColumns(m, rng, rows, 1)
		q := &Query{Draws: [][]float64{randomPoint(m, rng, 1)}, Clip: math.Inf(1)}
		load := func() *cpu {
			return compile(t, CPU{}, m, load(t, m, rows, columns))
		}
		whole := collected(t, load(), q)
		for k, c := range m.Columns() {
			for e := range c.Width() {
				if !c.Integer {
					columns[k][gone*c.Width()+e] = math.NaN()
				}
			}
		}
		for way, all := range collected(t, load(), q) {
			at := 0
			for row := range rows {
				if row == gone && len(all) < rows {
					continue // the record adds nothing
				}
				for j, x := range all[at] {
					if row != gone && math.Float64bits(x) != math.Float64bits(whole[way][row][j]) {
						t.Fatalf("%s: coordinate %d of record %d is %g, and %g without the row of NaNs", name, j, row, x, whole[way][row][j])
					}
				}
				if row == gone && !slices.ContainsFunc(all[at], math.IsNaN) && slices.ContainsFunc(all[at], func(x float64) bool { return x != 0 }) {
					t.Errorf("%s: the row of NaNs adds %v", name, all[at])
				}
				at++
			}
		}
	}
}

// Compile must return an error if a component of the model has more than maxDense coordinates. A
// component is a group of leaves that share coordinates.
func TestCompileLimits(t *testing.T) {
	b := model.NewBuilder("large")
	names := features(maxDense + 1)
	y, x, i := b.Real("y", -1, 1), b.Reals("x", names, -1, 1), b.Integer("i", 0, maxDense)
	s := b.Vector("s", names, model.Free, b.Normal(unit))
	m, err := b.Build(b.LogDensity(1, y, b.Add(b.Linear(x, s), b.Gather(s, i)), b.Number(1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (CPU{}).Compile(m, randomTable(t, m, rand.New(rand.NewSource(1)), 2, .1)); err == nil || !strings.Contains(err.Error(), "coordinates") {
		t.Errorf("error %v", err)
	}
}
