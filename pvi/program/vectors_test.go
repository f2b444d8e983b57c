package program_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedpvi/gpu"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program"
	"fedpvi/pvi/program/syntax"
)

// A vector is a test case from Stan. It has data, the log density up to a constant at several
// points, its gradient, and generated quantities.
type vector struct {
	Data   map[string]any
	Points []struct {
		At, Gradient []float64
		Log          float64
		Generated    map[string]any // generated quantities by name, with matrices row by row
	}
}

func vectorOf(t *testing.T, file string) (v vector) {
	t.Helper()
	source, err := os.ReadFile(strings.TrimSuffix(file, "stan") + "json")
	check(t, err)
	check(t, json.Unmarshal(source, &v))
	if len(v.Points) == 0 {
		t.Fatal("there are no points")
	}
	return v
}

func filesWithVectors(t *testing.T, folders ...string) (files []string) {
	t.Helper()
	for _, folder := range folders {
		found, err := filepath.Glob("testdata/" + folder + "/*.stan")
		if err != nil || len(found) == 0 {
			t.Fatal("there are no programs in", folder, err)
		}
		files = append(files, found...)
	}
	return files
}

// Log densities and gradients agree with those of Stan (CmdStan's compiler and math library, by
// pystan 3.10), up to a constant per program. The vectors come from bench/stan_vectors.py. For some
// programs Stan uses approximate derivatives of normal distribution functions. In their vectors,
// bench/exact_vectors.py has put the exact numbers instead.
func TestProgramsHaveTheDensitiesOfStan(t *testing.T) {
	for _, file := range filesWithVectors(t, "accepted", "generated", "predicted") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".stan"), func(t *testing.T) {
			v := vectorOf(t, file)
			load(t, file, v.Data).compare(t, v)
		})
	}
}

// Generated quantities, and those that the compiler adds, have the same values as in Stan.
func TestGeneratedQuantitiesAreThoseOfStan(t *testing.T) {
	for _, file := range filesWithVectors(t, "generated", "predicted") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".stan"), func(t *testing.T) {
			v := vectorOf(t, file)
			p := load(t, file, v.Data)
			for _, point := range v.Points {
				got := p.generate(t, point.At)
				if len(point.Generated) == 0 {
					t.Fatal("Stan has no quantities")
				}
				for name, values := range point.Generated {
					_, want := flatten(values)
					if len(got[name]) != len(want) {
						t.Fatalf("%s has %d elements, Stan's has %d", name, len(got[name]), len(want))
					}
					for i, x := range got[name] {
						if math.Abs(x-want[i]) > 1e-10*math.Max(1, math.Abs(want[i])) {
							t.Errorf("%s, element %d, is %.15g, Stan's is %.15g", name, i, x, want[i])
						}
					}
				}
			}
		})
	}
}

type loaded struct {
	model   *model.Model
	table   *model.Table
	records gpu.Evaluator
	made    *program.Compiled
	columns [][]float64
	order   []int     // index in Stan of each coordinate of the record program
	scale   []float64 // factor that converts Stan's coordinate to coordinate i
}

func load(t *testing.T, file string, data map[string]any) *loaded {
	t.Helper()
	text, err := os.ReadFile(file)
	check(t, err)
	tree, err := syntax.Parse(string(text))
	check(t, err)
	given := program.Data{Name: "test", Records: "N", Columns: map[string]ir.Column{}, Constants: map[string]program.Constant{}}
	var columns [][]float64
	rows := int(data["N"].(float64))
	for _, d := range tree.Data {
		if d.Name == "N" {
			continue
		}
		dims, values := flatten(data[d.Name])
		sizes := append(d.Type.Array, d.Type.Sizes...)
		if len(sizes) == 0 || sizes[0].Text != "N" {
			given.Constants[d.Name] = program.Constant{Dims: dims, Values: values}
			continue
		}
		given.Columns[d.Name] = columnOf(d, len(values)/rows, values)
		columns = append(columns, values)
	}
	if strings.Contains(file, "predicted") {
		tree.Generated, given.Predict = nil, true
	}
	c, err := program.Compile(tree, given)
	check(t, err)
	p := &loaded{model: c.Model, made: c, columns: columns}
	p.table, err = c.Model.Load(rows, columns)
	check(t, err)
	p.records, err = (gpu.CPU{}).Compile(c.Model, p.table)
	check(t, err)
	p.order = stanOrder(tree, c.Model)
	for _, q := range c.Model.Verified().Program().Parameters {
		scale := 1.
		if slices.ContainsFunc(tree.Parameters, func(d *syntax.Statement) bool {
			return d.Name == q.Name && d.Type.Base == "cholesky_factor_corr"
		}) {
			scale = 2 // Stan has tanh instead of the logistic function
		}
		p.scale = append(p.scale, slices.Repeat([]float64{scale}, q.Free())...)
	}
	return p
}

func columnOf(d *syntax.Statement, width int, values []float64) ir.Column {
	c := ir.Column{Name: d.Name, Lower: math.Inf(1), Upper: math.Inf(-1), Integer: d.Type.Base == "int"}
	for _, x := range values {
		c.Lower, c.Upper = min(c.Lower, x), max(c.Upper, x)
	}
	if c.Lower == c.Upper {
		c.Upper++
	}
	if width > 1 {
		var names []string
		for k := range width {
			names = append(names, string(rune('a'+k)))
		}
		c.Entries = ir.NamesOf(names...)
	}
	return c
}

func flatten(v any) (dims []int, values []float64) {
	list, ok := v.([]any)
	if !ok {
		return nil, []float64{v.(float64)}
	}
	for _, e := range list {
		inner, x := flatten(e)
		dims, values = inner, append(values, x...)
	}
	return append([]int{len(list)}, dims...), values
}

// stanOrder returns the index that each coordinate of the record program has in Stan. Stan orders
// parameters as they are declared, and matrices column by column.
func stanOrder(tree *syntax.Program, m *model.Model) []int {
	parameters := map[string]ir.Parameter{}
	for _, q := range m.Verified().Program().Parameters {
		parameters[q.Name] = q
	}
	first, next := map[string]int{}, 0
	for _, d := range tree.Parameters {
		q := parameters[d.Name]
		first[d.Name] = next
		next += q.Free()
	}
	var order []int
	for _, q := range m.Verified().Program().Parameters {
		for e := range q.Free() {
			at := e
			if q.Cols > 1 {
				at = e%q.Cols*q.Rows + e/q.Cols
			}
			order = append(order, first[q.Name]+at)
		}
	}
	return order
}

func (p *loaded) place(at []float64) []float64 {
	theta := make([]float64, len(at))
	for i, k := range p.order {
		theta[i] = p.scale[i] * at[k]
	}
	return theta
}

// generate returns the generated quantities by name. Those of records are in the order of the
// records.
func (p *loaded) generate(t *testing.T, at []float64) map[string][]float64 {
	t.Helper()
	g := p.made.Quantities.Generator([32]byte{})
	r, err := g.Load(p.table.Rows, p.columns)
	check(t, err)
	out := map[string][]float64{}
	add := func(element string, x float64) {
		name, _, _ := strings.Cut(element, "[")
		out[name] = append(out[name], x)
	}
	shared, records := make([]float64, len(g.Names())), make([]float64, p.table.Rows*len(g.RecordNames()))
	g.Shared(shared, p.place(at), 0)
	r.Records(records, 0)
	for i, x := range shared {
		add(g.Names()[i], x)
	}
	for i, x := range records {
		add(g.RecordNames()[i%len(g.RecordNames())], x)
	}
	return out
}

func (p *loaded) evaluate(t *testing.T, at []float64) (log float64, gradient []float64) {
	t.Helper()
	theta, own := p.place(at), make([]float64, len(at))
	total, err := p.records.Sum(own, &gpu.Query{Draws: [][]float64{theta}, Clip: math.Inf(1)})
	if err != nil || total.Refused > 0 {
		t.Fatal(err, total.Refused)
	}
	log = total.LogDensity + p.model.LogPrior(theta, own)
	gradient = make([]float64, len(at))
	for i, k := range p.order {
		gradient[k] = p.scale[i] * own[i]
	}
	return log, gradient
}

func (p *loaded) compare(t *testing.T, v vector) {
	const tolerance = 1e-10
	var constant float64
	for n, point := range v.Points {
		if len(point.At) != len(p.order) {
			t.Fatalf("%d coordinates, Stan has %d", len(p.order), len(point.At))
		}
		log, gradient := p.evaluate(t, point.At)
		if n == 0 {
			constant = log - point.Log
		}
		if d := log - constant - point.Log; math.Abs(d) > tolerance*math.Max(1, math.Abs(point.Log)) {
			t.Errorf("point %d: log density is %g beside Stan's", n, d)
		}
		size := 0.0
		for _, g := range point.Gradient {
			size = math.Max(size, math.Abs(g))
		}
		for i, g := range gradient {
			if math.Abs(g-point.Gradient[i]) > tolerance*size {
				t.Errorf("point %d, coordinate %d: derivative %.12g, Stan's %.12g", n, i, g, point.Gradient[i])
			}
		}
	}
}
