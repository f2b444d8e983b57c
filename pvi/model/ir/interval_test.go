package ir

import (
	"math"
	"math/rand/v2"
	"testing"
)

// For arguments from random intervals, each result of an operation lies in the interval computed
// for it. If that interval is whole, so is the result.
func TestIntervalsContainTheirValues(t *testing.T) {
	plain := map[Op]func(x ...float64) float64{
		Neg: func(x ...float64) float64 { return -x[0] }, Abs: func(x ...float64) float64 { return math.Abs(x[0]) },
		Add: func(x ...float64) float64 { return x[0] + x[1] }, Sub: func(x ...float64) float64 { return x[0] - x[1] },
		Mul: func(x ...float64) float64 { return x[0] * x[1] }, Max: func(x ...float64) float64 { return max(x[0], x[1]) },
		Min:    func(x ...float64) float64 { return min(x[0], x[1]) },
		Select: func(x ...float64) float64 { return map[bool]float64{true: x[1], false: x[2]}[x[0] != 0] },
		Stack:  func(x ...float64) float64 { return x[1] }, Div: func(x ...float64) float64 { return x[0] / x[1] },
	}
	r := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 20_000 {
		args, x := make([]Interval, 3), make([]float64, 3)
		for k := range args {
			low := float64(r.IntN(41) - 20)
			args[k] = Interval{low, low + float64(r.IntN(20)), r.IntN(2) == 0}
			x[k] = low + float64(r.IntN(int(args[k].High-low)+1))
			if !args[k].Whole {
				x[k] = low + r.Float64()*(args[k].High-low)
			}
			if r.IntN(8) == 0 {
				args[k].High = math.Inf(1)
			}
		}
		for op, f := range plain {
			in, y := op.Of(args...), f(x...)
			if math.IsNaN(y) {
				continue
			}
			if y < in.Low || y > in.High || in.Whole && y != math.Trunc(y) {
				t.Fatalf("%s of %v in %v is %g, outside %v", op, x, args, y, in)
			}
			if in.Whole {
				found++
			}
		}
	}
	if found < 10_000 {
		t.Errorf("only %d intervals are whole", found)
	}
}

// Subtracting 1 from a column of levels 1, 2, ... gives a valid index. Other computed indices are
// refused, and so are indices that may lie outside the table.
func TestVerifyComputedIndices(t *testing.T) {
	gather := func(low, high float64, shift Op) func(p *Program) {
		return func(p *Program) {
			p.Columns[2].Lower, p.Columns[2].Upper = low, high
			p.Nodes[8].Op, p.Nodes[8].Args, p.Nodes[8].Ref = Global, []int{5}, 0
			n := len(p.Nodes)
			p.Nodes = append(p.Nodes, Node{Op: shift, Args: []int{2, 13}}, Node{Op: Gather, Args: []int{7, n}})
		}
	}
	for _, c := range []struct {
		name, want string
		change     func(p *Program)
	}{
		{"levels from 1", "", gather(1, 3, Sub)},
		{"a level too many", "bounds in 0..2", gather(1, 4, Sub)},
		{"a level below", "bounds in 0..2", gather(0, 2, Sub)},
		{"a quotient", "bounds in 0..2", gather(1, 3, Div)},
		{"no bound", "bounds in 0..2", gather(1, math.Inf(1), Sub)},
		{"a comparison of parameters", "depend on parameters", func(p *Program) { p.Nodes = append(p.Nodes, Node{Op: Less, Args: []int{3, 3}}) }},
		{"a comparison of a record's values", "depend on parameters", func(p *Program) { p.Nodes = append(p.Nodes, Node{Op: Equal, Args: []int{4, 4}}) }},
		{"a selection by parameters", "depends on parameters", func(p *Program) { p.Nodes = append(p.Nodes, Node{Op: Select, Args: []int{4, 4, 4}}) }},
		{"a factor of the record", "parameters alone", func(p *Program) { p.Factors = []int{4} }},
		{"a factor of data", "parameters alone", func(p *Program) { p.Factors = []int{0} }},
		{"a vector as a factor", "parameters alone", func(p *Program) { p.Factors = []int{3} }},
		{"no such factor", "parameters alone", func(p *Program) { p.Factors = []int{99} }},
		{"a factor", "", func(p *Program) { p.Factors = []int{5} }},
		{"a uniform prior without bounds", "leave the support", func(p *Program) { p.Priors[0] = Prior{0, Uniform, nil} }},
	} {
		checkVerify(t, c.name, c.want, c.change)
	}
}
