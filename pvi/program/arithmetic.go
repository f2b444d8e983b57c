package program

import (
	"math"

	"fedpvi/internal/special"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// numeric has functions that compute elementwise operations on constants. Operations with one
// argument ignore y.
var numeric = map[ir.Op]func(x, y float64) float64{
	ir.Neg: one(func(x float64) float64 { return -x }), ir.Exp: one(math.Exp), ir.Log: one(math.Log), ir.Log1p: one(math.Log1p),
	ir.Expm1: one(math.Expm1), ir.Sqrt: one(math.Sqrt), ir.Square: one(func(x float64) float64 { return x * x }),
	ir.Inv: one(func(x float64) float64 { return 1 / x }), ir.Tanh: one(math.Tanh), ir.InvLogit: one(special.InvLogit),
	ir.LogInvLogit: one(func(x float64) float64 { return -special.Softplus(-x) }), ir.Softplus: one(special.Softplus),
	ir.Phi: one(special.Phi), ir.Abs: one(math.Abs), ir.Lgamma: one(special.Lgamma), ir.Sin: one(math.Sin), ir.Cos: one(math.Cos),
	ir.LogPhi: one(func(x float64) float64 { value, _ := special.LogPhi(x); return value }),
	ir.Add:    func(x, y float64) float64 { return x + y }, ir.Sub: func(x, y float64) float64 { return x - y },
	ir.Mul: func(x, y float64) float64 { return x * y }, ir.Div: func(x, y float64) float64 { return x / y },
	ir.Max: func(x, y float64) float64 { return max(x, y) }, ir.Min: func(x, y float64) float64 { return min(x, y) },
	ir.Less: func(x, y float64) float64 { return truth(x < y) }, ir.Equal: func(x, y float64) float64 { return truth(x == y) },
}

func one(f func(float64) float64) func(x, y float64) float64 {
	return func(x, _ float64) float64 { return f(x) }
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unary applies the elementwise operation op to v. at is the operation's place in the program.
func (s *stager) unary(op ir.Op, v value, at syntax.Span) value {
	if v.role != plain && v.role != rows {
		s.fail("E206", at, "%s is passed to a function. Did you mean a loop over the records?", said(v.role, v.shape))
	}
	v = s.joined(v, at)
	s.spend(at, v.shape.size())
	out := value{role: v.role, shape: v.shape, known: true, above: aboveOne(op, v.above), in: real}
	out.whole = v.whole && (op == ir.Neg || op == ir.Abs)
	if v.fixed() {
		return s.folded(op, out, v, v, at)
	}
	out.node = s.b.Apply(op, v.node)
	if s.phase(out) == ir.Data {
		out.in = op.Of(v.in)
	}
	return out
}

// folded computes an operation on constants at compile time, and returns out with the result filled
// in.
func (s *stager) folded(op ir.Op, out, a, b value, at syntax.Span) value {
	f := numeric[op]
	numbers := make([]float64, out.shape.size())
	for k := range numbers {
		x := f(a.numbers[min(k, len(a.numbers)-1)], b.numbers[min(k, len(b.numbers)-1)])
		if math.IsNaN(x) || math.IsInf(x, 0) {
			s.fail("E402", at, "this constant is not finite.")
		}
		numbers[k] = x
	}
	in := ir.IntervalOf(numbers)
	out.numbers, out.in, out.above = numbers, in, in.Low > 0
	return out
}

func aboveOne(op ir.Op, above bool) bool {
	switch op {
	case ir.Exp, ir.InvLogit, ir.Softplus, ir.Phi:
		return true
	case ir.Inv, ir.Sqrt, ir.Square, ir.Abs, ir.Log1p, ir.Expm1:
		return above
	}
	return false
}

func aboveTwo(op ir.Op, a, b bool) bool {
	switch op {
	case ir.Add, ir.Mul, ir.Div, ir.Min:
		return a && b
	case ir.Max:
		return a || b
	}
	return false
}

// binary applies the elementwise operation op to a and b. A scalar is combined with each element of
// the other.
func (s *stager) binary(op ir.Op, a, b value, at syntax.Span) value {
	a, b = s.joined(a, at), s.joined(b, at)
	out := value{role: s.roleOf(a, b, at), shape: a.shape, known: true, above: aboveTwo(op, a.above, b.above), in: real}
	switch {
	case a.shape.single():
		out.shape = b.shape
	case !b.shape.single() && !a.shape.equal(b.shape):
		s.fail("E402", at, "the sizes do not fit: %s of %v and %s of %v.", said(a.role, a.shape), a.shape.dims, said(b.role, b.shape), b.shape.dims)
	}
	s.spend(at, out.shape.size())
	if a.fixed() && b.fixed() {
		return s.folded(op, out, a, b, at)
	}
	out.node = s.b.Apply(op, s.nodeOf(a), s.nodeOf(b))
	if s.phase(out) == ir.Data {
		out.in = op.Of(a.in, b.in)
	}
	s.keepForm(op, out, a, b, at)
	return out
}

// roleOf returns the role of the result of an elementwise operation on a and b. If either of them
// has a value for each record, the result has too. The other must then have a value for each record
// as well, or be a single number for all records.
func (s *stager) roleOf(a, b value, at syntax.Span) role {
	for _, v := range []value{a, b} {
		if v.role == index || v.role == count || v.role == total {
			s.fail("E206", at, "%s is passed to a function. Did you mean a loop over the records?", said(v.role, v.shape))
		}
	}
	if a.role == rows || b.role == rows {
		for _, v := range []value{a, b} {
			switch {
			case v.role == rows:
			case s.ofRecord(v):
				s.fail("E202", at, "values of all records are combined with a value of one record: inside the loop, subscript by the record's number.")
			case !v.shape.single():
				s.fail("E202", at, "values of all records are combined with %s of another size.", said(v.role, v.shape))
			}
		}
		return rows
	}
	return plain
}

// product returns the value of a * b, which is a matrix product unless a or b is a scalar.
func (s *stager) product(a, b value, at syntax.Span) value {
	if a.role == rows && b.role == rows {
		s.fail("E202", at, "the product of two values for each record couples records. Write .* for a product record by record.")
	}
	if a.shape.single() || b.shape.single() {
		return s.arithmetic(ir.Mul, a, b, at)
	}
	arrays := len(a.shape.dims) != inner[a.shape.base] || len(b.shape.dims) != inner[b.shape.base]
	last, first := a.shape.dims[len(a.shape.dims)-1], b.shape.dims[0]
	switch left, right := a.shape.base, b.shape.base; {
	case arrays || last != first && (left != vector):
		s.fail("E402", at, "the sizes do not fit in a product: %s of %v and %s of %v.", said(a.role, a.shape), a.shape.dims, said(b.role, b.shape), b.shape.dims)
	case left == rowVector && right == vector:
		return s.dot(a, b, at)
	case left == matrix && right == vector && a.role == plain:
		return s.matrixVector(a, b, at)
	case left == rowVector && right == matrix && b.role == plain:
		out := s.matrixVector(s.transpose(b, at), a, at)
		out.shape.base = rowVector
		return out
	}
	s.fail("E403", at, "the product of %s and %s is not in the language yet.", said(a.role, a.shape), said(b.role, b.shape))
	return value{}
}

func (s *stager) dot(a, b value, at syntax.Span) value {
	a, b = s.joined(a, at), s.joined(b, at)
	if len(a.shape.dims) != 1 || len(b.shape.dims) != 1 || a.shape.dims[0] != b.shape.dims[0] {
		s.fail("E402", at, "a product needs two vectors of the same size.")
	}
	s.spend(at, a.shape.size())
	out := value{role: rows, known: true, in: real}
	if a.role != rows && b.role != rows {
		out.role = plain
	} else if a.role != rows && s.ofRecord(a) || b.role != rows && s.ofRecord(b) {
		s.fail("E202", at, "values of all records are combined with a value of one record: inside the loop, subscript by the record's number.")
	}
	if a.fixed() && b.fixed() {
		var sum float64
		for k, x := range a.numbers {
			sum += x * b.numbers[k]
		}
		return constant(sum)
	}
	if s.phase(a) == ir.Shared && s.phase(b) == ir.Data {
		a, b = b, a
	}
	if s.phase(a) == ir.Data && s.phase(b) == ir.Shared {
		out.node = s.b.Linear(s.nodeOf(a), s.nodeOf(b))
	} else {
		out.node = s.b.Apply(ir.Dot, s.nodeOf(a), s.nodeOf(b))
	}
	return out
}

// matrixVector returns the product of a matrix a and a vector b. Either of the two may be different
// for each record.
func (s *stager) matrixVector(a, b value, at syntax.Span) value {
	out := value{role: b.role, shape: shape{vector, a.shape.dims[:1]}, known: true, in: real}
	if !s.ofRecord(a) && s.ofRecord(b) && a.shape.dims[1] > 1 {
		s.spend(at, out.shape.size())
		out.node = s.b.MatVec(s.nodeOf(a), s.nodeOf(b))
		return out
	}
	s.spend(at, partCost*a.shape.dims[0])
	out.parts = make([]value, a.shape.dims[0])
	for r := range out.parts {
		out.parts[r] = s.dot(s.row(a, r), b, at)
		out.parts[r].role = plain
	}
	return s.joined(out, at)
}

// row returns row r of a matrix. The first row is row 0.
func (s *stager) row(a value, r int) value {
	c := a.shape.dims[1]
	out := value{role: a.role, shape: shape{rowVector, []int{c}}, known: true, whole: a.whole, above: a.above, in: a.in}
	if a.fixed() {
		out.numbers = a.numbers[r*c : (r+1)*c]
		return out
	}
	out.node = s.b.Slice(a.node, r*c, c, 1)
	return out
}

// mostFactors is the largest absolute value of an exponent up to which [stager.power] computes a
// power by multiplication.
const mostFactors = 16

// power returns a^b. If a could be negative or 0, b must be 2, ½, or an integer other than 0 whose
// absolute value is at most mostFactors.
func (s *stager) power(a, b value, at syntax.Span) value {
	if b.fixed() && b.shape.single() {
		switch x := b.number(); {
		case x == 2:
			return s.unary(ir.Square, a, at)
		case x == .5:
			return s.unary(ir.Sqrt, a, at)
		case x == math.Trunc(x) && math.Abs(x) >= 1 && math.Abs(x) <= mostFactors:
			out := a
			for range int(math.Abs(x)) - 1 {
				out = s.binary(ir.Mul, out, a, at)
			}
			if x < 0 {
				out = s.unary(ir.Inv, out, at)
			}
			out.whole = false
			return out
		}
	}
	if !a.above {
		s.fail("E403", at, "the base of this power is not known to be positive.")
	}
	return s.unary(ir.Exp, s.binary(ir.Mul, b, s.unary(ir.Log, a, at), at), at)
}
