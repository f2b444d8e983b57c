package ir

import (
	"math"
	"strings"
	"testing"
)

// good returns a logistic regression with a varying intercept, y ~ bernoulli(x·β + τ z[g]). Its
// nodes are 0 y, 1 x, 2 g, 3 β, 4 x·β, 5 τ, 6 Global τ, 7 z, 8 z[g], 9 product, 10 η, 11 density,
// 12 constant 0, 13 constant 1, 14 inv_logit.
func good() Program {
	return Program{
		Name: "good",
		Columns: []Column{
			{Name: "y", Upper: 1, Integer: true},
			{Name: "x", Entries: NamesOf("a", "b"), Lower: -1, Upper: 1},
			{Name: "g", Upper: 2, Integer: true},
		},
		Parameters: []Parameter{
			{Name: "beta", Rows: 2, Cols: 1},
			{Name: "tau", Rows: 1, Cols: 1, Constraint: Constraint{Kind: Lower}},
			{Name: "z", Rows: 3, Cols: 1},
		},
		Nodes: []Node{
			{Op: Col, Ref: 0},
			{Op: Col, Ref: 1},
			{Op: Col, Ref: 2},
			{Op: Param, Ref: 0},
			{Op: Linear, Args: []int{1, 3}},
			{Op: Param, Ref: 1},
			{Op: Global, Args: []int{5}},
			{Op: Param, Ref: 2},
			{Op: Gather, Args: []int{7, 2}},
			{Op: Mul, Args: []int{6, 8}},
			{Op: Add, Args: []int{4, 9}},
			{Op: DensityOp, Ref: int(BernoulliLogit), Args: []int{0, 10}},
			{Op: Const, Rows: 1, Cols: 1, Values: []float64{0}},
			{Op: Const, Rows: 1, Cols: 1, Values: []float64{1}},
			{Op: InvLogit, Args: []int{10}},
		},
		Likelihood: 11,
		Priors: []Prior{
			{0, Normal, []int{12, 13}},
			{1, Normal, []int{12, 13}},
			{2, Normal, []int{12, 5}},
		},
		Prediction: Prediction{Probability, 14, 0},
	}
}

// checkVerify applies change to good and verifies the result. If want is empty, Verify must accept
// it. Otherwise it must return an error that contains want.
func checkVerify(t *testing.T, name, want string, change func(p *Program)) {
	t.Helper()
	p := good()
	change(&p)
	_, err := Verify(p)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v", name, err)
	}
}

func TestVerifyAcceptsGood(t *testing.T) {
	v, err := Verify(good())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Phase{Data, Data, Data, Shared, Record, Shared, Record, Shared, Record, Record, Record, Record, Fixed, Fixed, Record} {
		if v.Phase(i) != want {
			t.Errorf("node %d is %s, want %s", i, v.Phase(i), want)
		}
	}
}

// A target needs a node if and only if it is one of that node's dependents.
func TestNeededNodesHaveDependents(t *testing.T) {
	p := good()
	for i := range p.Nodes {
		dependents := p.Dependents(func(n *Node) bool { return n == &p.Nodes[i] })
		for target := range p.Nodes {
			if needed := p.Needed(target)[i]; needed != dependents[target] || target < i && needed || target == i && !needed {
				t.Errorf("node %d: needed by node %d: %t, which is a dependent: %t", i, target, needed, dependents[target])
			}
		}
	}
	if !p.Needed(p.Likelihood)[5] || p.Needed(p.Likelihood)[14] {
		t.Error("the likelihood depends on τ, and not on the prediction")
	}
}

// A verified program stays the same if the program that was passed to Verify is changed.
func TestVerifyCopies(t *testing.T) {
	p := good()
	v, err := Verify(p)
	if err != nil {
		t.Fatal(err)
	}
	before := v.Program().Digest()
	p.Nodes[4].Args[0], p.Nodes[12].Values[0], p.Columns[1].Entries, p.Priors[0].Args[0] = 3, 7, NamesOf("c", "b"), 5
	p.Nodes[0].Ref, p.Parameters[0].Name = 2, "other"
	if v.Program().Digest() != before {
		t.Error("the verified program changed")
	}
}

func TestVerifyRefuses(t *testing.T) {
	add := func(n Node) func(*Program) {
		return func(p *Program) { p.Nodes = append(p.Nodes, n) }
	}
	number := func(x float64) Node { return Node{Op: Const, Rows: 1, Cols: 1, Values: []float64{x}} }
	for _, c := range []struct {
		name, want string
		spoil      func(p *Program)
	}{
		// These programs would read rows other than the current one.
		{"a later node", "not before", func(p *Program) { p.Nodes[4].Args[0] = 10 }},
		{"itself", "not before", func(p *Program) { p.Nodes[4].Args[0] = 4 }},
		{"a negative node", "not before", func(p *Program) { p.Nodes[4].Args[0] = -1 }},
		{"a column as a table", "not a shared one", add(Node{Op: Gather, Args: []int{1, 2}})},
		{"a record as a table", "not a shared one", add(Node{Op: Global, Args: []int{10}})},
		{"detaching a parameter", "its argument is shared value", add(Node{Op: Detach, Args: []int{5}})},
		{"a computed index", "index must be a number of the row", add(Node{Op: Gather, Args: []int{7, 9}})},
		{"an index out of bounds", "bounds in 0..2", func(p *Program) { p.Columns[2].Upper = 3 }},
		{"a negative index", "bounds in 0..2", func(p *Program) { p.Columns[2].Lower = -1 }},
		{"an index that is no whole number", "whole numbers", func(p *Program) { p.Columns[2].Integer = false }},
		{"an index without bounds", "bounds in 0..2", func(p *Program) { p.Columns[2].Upper = math.Inf(1) }},
		{"an index that is NaN", "bounds", func(p *Program) { p.Columns[2].Upper = math.NaN() }},
		{"a parameter in data without a bridge", "must come between", add(Node{Op: Add, Args: []int{0, 5}})},
		{"no such column", "no column", add(Node{Op: Col, Ref: 3})},
		{"a negative column", "no column", add(Node{Op: Col, Ref: -1})},
		{"a prior with data", "reads no data", func(p *Program) { p.Priors[0].Args[0] = 0 }},
		{"a prior with records", "reads no data", func(p *Program) { p.Priors[0].Args[0] = 10 }},
		{"a likelihood without data", "depends on the parameters and the row", func(p *Program) { p.Likelihood = 5 }},
		{"a likelihood without parameters", "depends on the parameters and the row", func(p *Program) { p.Likelihood = 0 }},
		{"a prediction from the outcome", "reads the outcome", func(p *Program) { p.Prediction.Node = 11 }},
		// These programs have operations with wrong arguments.
		{"no such operation", "no operation", add(Node{Op: ops})},
		{"no operation", "no operation", add(Node{})},
		{"too few arguments", "1 arguments", add(Node{Op: Add, Args: []int{0}})},
		{"too many arguments", "3 arguments", add(Node{Op: Add, Args: []int{0, 0, 0}})},
		{"stacking nothing", "0 arguments", add(Node{Op: Stack})},
		{"shapes that do not fit", "do not fit", func(p *Program) {
			p.Nodes = append(p.Nodes, Node{Op: Add, Args: []int{3, 7}})
		}},
		{"a product of other lengths", "same length", add(Node{Op: Linear, Args: []int{1, 7}})},
		{"a linear of a record", "same length", add(Node{Op: Linear, Args: []int{10, 5}})},
		{"a gather from a scalar matrix", "bounds in 0..0", add(Node{Op: Gather, Args: []int{5, 2}})},
		{"no such element", "no element", add(Node{Op: Element, Args: []int{1}, Ref: 2})},
		{"a slice that overflows", "are not in", add(Node{Op: Slice, Args: []int{1}, Ref: 1, Rows: math.MaxInt, Cols: math.MaxInt})},
		{"a slice that begins after the end", "are not in", add(Node{Op: Slice, Args: []int{1}, Ref: 3, Rows: 1, Cols: 1})},
		{"a constant of another shape", "values for a shape", add(Node{Op: Const, Rows: 2, Cols: 2, Values: []float64{1}})},
		{"a constant that overflows", "values for a shape", add(Node{Op: Const, Rows: math.MaxInt, Cols: 2})},
		{"a constant that is not finite", "not finite", add(number(math.NaN()))},
		{"no such parameter", "no parameter", add(Node{Op: Param, Ref: 3})},
		{"no such density", "no such density", add(Node{Op: DensityOp, Ref: 99, Args: []int{0, 10}})},
		{"a negative density", "no such density", add(Node{Op: DensityOp, Ref: -1, Args: []int{0, 10}})},
		{"a density for priors only", "no such density", add(Node{Op: DensityOp, Ref: int(Gamma), Args: []int{0, 13, 13}})},
		{"an outcome that is no data", "not row data", add(Node{Op: DensityOp, Ref: int(BernoulliLogit), Args: []int{10, 10}})},
		{"an outcome outside the support", "bounds in 0..1", func(p *Program) { p.Columns[0].Upper = 2 }},
		{"an outcome that is no whole number", "whole numbers", func(p *Program) { p.Columns[0].Integer = false }},
		{"a scale of either sign", "not known to be positive", add(Node{Op: DensityOp, Ref: int(Normal), Args: []int{0, 10, 10}})},
		{"a vector likelihood", "one number", func(p *Program) { p.Nodes = append(p.Nodes, Node{Op: Global, Args: []int{3}}); p.Likelihood = 15 }},
		{"no such likelihood", "does not exist", func(p *Program) { p.Likelihood = 99 }},
		{"a negative likelihood", "does not exist", func(p *Program) { p.Likelihood = -1 }},
		// These programs have wrong priors.
		{"no prior", "no proper prior", func(p *Program) { p.Priors = p.Priors[:2] }},
		{"two priors", "two priors", func(p *Program) { p.Priors[1].Parameter = 0 }},
		{"a prior for nothing", "does not exist", func(p *Program) { p.Priors[1].Parameter = 3 }},
		{"no such prior", "no such prior", func(p *Program) { p.Priors[0].Density = BernoulliLogit }},
		{"a prior of arguments that are missing", "needs 2 arguments", func(p *Program) { p.Priors[0].Args = []int{12} }},
		{"a prior that refers to itself", "not declared before", func(p *Program) { p.Priors[1].Args[1] = 5 }},
		{"a prior that refers to a later parameter", "not declared before", func(p *Program) { p.Priors[0].Args[1] = 5 }},
		{"a prior without spread", "not known to be positive", func(p *Program) { p.Priors[0].Args[1] = 12 }},
		{"a prior on part of the line only", "leave the support", func(p *Program) { p.Priors[0].Density = Gamma; p.Priors[0].Args = []int{13, 13} }},
		{"a prior of another shape", "a different shape", func(p *Program) { p.Priors[2].Args[0] = 3 }},
		// These programs have wrong declarations.
		{"no name", "needs a name", func(p *Program) { p.Name = "" }},
		{"a name that hides something", "does not print", func(p *Program) { p.Columns[0].Name = "y\x1b[2J" }},
		{"a name twice", "given twice", func(p *Program) { p.Parameters[1].Name = "x" }},
		{"an entry twice", "given twice", func(p *Program) { p.Columns[1].Entries = NamesOf("a", "a") }},
		{"no bounds", "must be below", func(p *Program) { p.Columns[0].Upper = 0 }},
		{"an empty parameter", "elements", func(p *Program) { p.Parameters[0].Rows = 0 }},
		{"a parameter that overflows", "elements", func(p *Program) { p.Parameters[0].Rows, p.Parameters[0].Cols = 1<<20, 1<<44 }},
		{"no such constraint", "no constraint", func(p *Program) { p.Parameters[0].Constraint.Kind = 99 }},
		{"an empty interval", "enclose", func(p *Program) { p.Parameters[1].Constraint = Constraint{Both, 2, 1} }},
		{"a bound that is not finite", "not finite", func(p *Program) { p.Parameters[1].Constraint.Lower = math.Inf(-1) }},
		{"a scalar simplex", "at least 2", func(p *Program) { p.Parameters[1].Constraint.Kind = Simplex }},
		// These programs exceed a limit.
		{"too many operations", "operations, at most", func(p *Program) {
			for len(p.Nodes) <= MaxNodes {
				p.Nodes = append(p.Nodes, number(1))
			}
		}},
		{"too many coordinates", "more than 1048576", func(p *Program) {
			p.Parameters[0].Rows, p.Parameters[2].Rows = MaxDimension, MaxDimension
		}},
		{"a record that is too long", "at most 256", func(p *Program) {
			p.Parameters[2].Rows = MaxRecordVector + 1
			p.Nodes = append(p.Nodes, Node{Op: Global, Args: []int{7}})
		}},
		{"a block that needs too much memory", "a block of records", func(p *Program) {
			p.Parameters[2].Rows = MaxRecordVector
			p.Nodes = append(p.Nodes, Node{Op: Global, Args: []int{7}})
			for range 100 {
				p.Nodes = append(p.Nodes, Node{Op: Exp, Args: []int{len(p.Nodes) - 1}})
			}
		}},
		{"a record that takes too long", "operations", func(p *Program) {
			p.Columns[1].Entries = CollectNames(func(yield func(string) bool) {
				for i := range MaxEntries {
					yield("e" + string(rune('a'+i%26)) + strings.Repeat("i", i/26%40) + strings.Repeat("j", i/1040))
				}
			})
			p.Parameters[0].Rows = MaxEntries
			for range 300 {
				p.Nodes = append(p.Nodes, Node{Op: Linear, Args: []int{1, 3}})
			}
		}},
	} {
		checkVerify(t, c.name, c.want, c.spoil)
	}
}

// Changing any field of a program changes its digest.
func TestDigest(t *testing.T) {
	seen := map[[32]byte]string{}
	for name, change := range map[string]func(p *Program){
		"nothing": func(*Program) {}, "name": func(p *Program) { p.Name += "!" },
		"column": func(p *Program) { p.Columns[0].Name = "w" }, "bound": func(p *Program) { p.Columns[1].Lower = -2 },
		"upper": func(p *Program) { p.Columns[1].Upper = 2 }, "integer": func(p *Program) { p.Columns[1].Integer = true },
		"entry": func(p *Program) { p.Columns[1].Entries = NamesOf("ab", "") }, "rows": func(p *Program) { p.Parameters[0].Rows = 3 },
		"cols": func(p *Program) { p.Parameters[0].Cols = 3 }, "kind": func(p *Program) { p.Parameters[0].Constraint.Kind = Upper },
		"low": func(p *Program) { p.Parameters[0].Constraint.Lower = 1 }, "high": func(p *Program) { p.Parameters[0].Constraint.Upper = 1 },
		"element": func(p *Program) { p.Parameters[0].Entries = NamesOf("a", "b") }, "op": func(p *Program) { p.Nodes[9].Op = Sub }, "factor": func(p *Program) { p.Factors = []int{5} },
		"args": func(p *Program) { p.Nodes[9].Args = []int{8, 6} }, "ref": func(p *Program) { p.Nodes[0].Ref = 1 },
		"value": func(p *Program) { p.Nodes[12].Values[0] = math.Copysign(0, -1) }, "shape": func(p *Program) { p.Nodes[12].Rows = 2 },
		"width": func(p *Program) { p.Nodes[12].Cols = 2 }, "likelihood": func(p *Program) { p.Likelihood = 10 },
		"prior": func(p *Program) { p.Priors[0].Density = Cauchy }, "prior args": func(p *Program) { p.Priors[0].Args[1] = 12 },
		"prior parameter": func(p *Program) { p.Priors[0].Parameter = 1 }, "prediction": func(p *Program) { p.Prediction.Kind = Mean },
		"generated": func(p *Program) { p.Generated = []int{5} }, "generated twice": func(p *Program) { p.Generated = []int{5, 5} },
		"factor and generated": func(p *Program) { p.Factors, p.Generated = []int{5}, []int{5} },
		"predicted":            func(p *Program) { p.Prediction.Node = 10 }, "outcome": func(p *Program) { p.Prediction.Outcome = 2 },
	} {
		p := good()
		change(&p)
		if other, ok := seen[p.Digest()]; ok {
			t.Errorf("changing %s and changing %s give one digest", name, other)
		}
		seen[p.Digest()] = name
	}
}
