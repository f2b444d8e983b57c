package model

import (
	"slices"

	"fedpvi/pvi/model/ir"
)

// Apply returns the result of applying an operation to args. The operation may be elementwise, a
// reduction, a softmax, a dot product or a stack.
func (b *Builder) Apply(op ir.Op, args ...Expr) Expr {
	if len(args) == 1 {
		if e, ok := b.logOf(op, args[0]); ok {
			return e
		}
	}
	return b.apply(ir.Node{Op: op}, args)
}

// logOf looks for a more accurate way to compute log(x) or log(1 + x), where e is x and op is one
// of these two operations. For example, log Φ(η) is an operation of its own, because Φ(η) may be
// rounded to 0. logOf also simplifies log(1 + (eˣ − 1)) to x.
func (b *Builder) logOf(op ir.Op, e Expr) (log Expr, ok bool) {
	if !b.has(e) {
		return e, false
	}
	n := b.program.Nodes[e.node]
	symmetric := map[ir.Op]ir.Op{ir.Phi: ir.LogPhi, ir.InvLogit: ir.LogInvLogit}
	switch {
	case op == ir.Log && symmetric[n.Op] != 0:
		return b.Apply(symmetric[n.Op], Expr{n.Args[0]}), true
	case op == ir.Log1p && n.Op == ir.Expm1: // log(1 + (eˣ − 1))
		return Expr{n.Args[0]}, true
	case op != ir.Log1p || n.Op != ir.Neg:
		return e, false
	}
	switch p := b.program.Nodes[n.Args[0]]; {
	case p.Op == ir.Neg:
		return b.logOf(op, Expr{p.Args[0]})
	case symmetric[p.Op] != 0:
		return b.Apply(symmetric[p.Op], b.Apply(ir.Neg, Expr{p.Args[0]})), true
	}
	return e, false
}

// Add returns the elementwise sum of its arguments.
func (b *Builder) Add(first Expr, rest ...Expr) Expr {
	for _, e := range rest {
		first = b.Apply(ir.Add, first, e)
	}
	return first
}

// Mul returns the elementwise product of x and y.
func (b *Builder) Mul(x, y Expr) Expr { return b.Apply(ir.Mul, x, y) }

// Element returns element k of a vector, counted from 0.
func (b *Builder) Element(x Expr, k int) Expr {
	if b.has(x) && b.hidden[x.node] && b.program.Nodes[x.node].Op == ir.Stack {
		return Expr{b.program.Nodes[x.node].Args[k]} // a single element may depend on fewer latents than the whole vector
	}
	return b.apply(ir.Node{Op: ir.Element, Ref: k}, []Expr{x})
}

// Slice returns rows×cols elements of x, beginning with element k, counted from 0. The result is a
// vector if cols is 1.
func (b *Builder) Slice(x Expr, k, rows, cols int) Expr {
	return b.apply(ir.Node{Op: ir.Slice, Ref: k, Rows: rows, Cols: cols}, []Expr{x})
}

// LogDensity returns the log density of a record's outcome, for the density d with the given
// arguments.
func (b *Builder) LogDensity(d ir.Density, outcome Expr, args ...Expr) Expr {
	return b.apply(ir.Node{Op: ir.DensityOp, Ref: int(d)}, append([]Expr{outcome}, args...))
}

// Linear returns x·β, where x is a vector in the row and β a vector of parameters.
func (b *Builder) Linear(x, beta Expr) Expr {
	return b.bridge(ir.Linear, []Expr{x, beta}, 1)
}

// MatVec returns Wx, where W is a matrix of parameters and x a vector in the row or a vector
// computed for the record.
func (b *Builder) MatVec(w, x Expr) Expr { return b.bridge(ir.MatVec, []Expr{w, x}, 0) }

// Bilinear returns xᵀWz, where W is a matrix of parameters, and x and z are vectors in the row.
func (b *Builder) Bilinear(x, w, z Expr) Expr { return b.Apply(ir.Dot, x, b.MatVec(w, z)) }

// Dense returns Wx + bias, which is one layer of a neural network before its activation function.
func (b *Builder) Dense(w, bias, x Expr) Expr { return b.Add(b.MatVec(w, x), bias) }

// Gather returns table[index]. If the table was computed by elementwise operations, Gather applies
// them only to the element that it reads. The record then reads its parameters directly, and the
// norm of its gradient can be computed exactly and fast.
func (b *Builder) Gather(table, index Expr) Expr {
	if !b.has(table) || !b.has(index) {
		return b.fail("gather: an argument is not an expression of this program")
	}
	n := b.program.Nodes[table.node]
	if b.phases[table.node] == ir.Shared && n.Op.Elementwise() {
		args := make([]Expr, len(n.Args))
		for k, a := range n.Args {
			if args[k] = (Expr{a}); !b.scalar(a) {
				args[k] = b.Gather(args[k], index)
			}
		}
		return b.apply(ir.Node{Op: n.Op}, args)
	}
	return b.bridge(ir.Gather, []Expr{table, index}, 0)
}

// GatherRow returns a row of the matrix table. The index of the first row is 0.
func (b *Builder) GatherRow(table, index Expr) Expr {
	return b.bridge(ir.GatherRow, []Expr{table, index}, 0)
}

// scalar reports whether node i is known to be a single number.
func (b *Builder) scalar(i int) bool {
	switch n := b.program.Nodes[i]; {
	case n.Op == ir.Const:
		return len(n.Values) == 1
	case n.Op == ir.Param:
		return b.program.Parameters[n.Ref].Size() == 1
	case n.Op == ir.Stack:
		return len(n.Args) == 1
	case n.Op.Elementwise():
		return !slices.ContainsFunc(n.Args, func(a int) bool { return !b.scalar(a) })
	default:
		return n.Op == ir.Sum || n.Op == ir.LogSumExp || n.Op == ir.Dot || n.Op == ir.Element
	}
}

// apply adds a node, whose phase follows from its arguments ([ir.Join]). If one of these depends on
// a row, arguments that depend only on parameters are wrapped in Global, so that a record can read
// them.
func (b *Builder) apply(n ir.Node, args []Expr) Expr {
	records := false
	for k, a := range args {
		if !b.has(a) {
			return b.fail("%s: argument %d is not an expression of this program", n.Op, k+1)
		}
		records = records || b.phases[a.node] == ir.Data || b.phases[a.node] == ir.Record
	}
	phase := ir.Fixed
	for _, a := range args {
		if records {
			a = b.ofRecord(a)
		}
		phase, _ = ir.Join(phase, b.phases[a.node])
		n.Args = append(n.Args, a.node)
	}
	return b.node(n, phase)
}

// bridge adds a node through which a record reads parameters. args[table] is a vector or matrix of
// parameters or constants. The other argument is a value in the row.
func (b *Builder) bridge(op ir.Op, args []Expr, table int) Expr {
	for k, a := range args {
		if !b.has(a) {
			return b.fail("%s: argument %d is not an expression of this program", op, k+1)
		}
	}
	phase := ir.Record
	if b.phases[args[table].node] == ir.Fixed {
		phase = ir.Data
	}
	if joined, ok := ir.Join(phase, b.phases[args[1-table].node]); ok {
		phase = joined
	}
	return b.node(ir.Node{Op: op, Args: indices(args)}, phase)
}
