package program

import (
	"math"
	"slices"
	"strings"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

var real = ir.Interval{Low: math.Inf(-1), High: math.Inf(1)}

// said describes a value for messages, with words such as "a vector for each record".
func said(r role, sh shape) string {
	name := [...]string{scalar: "a number", vector: "a vector", rowVector: "a row vector", matrix: "a matrix"}[sh.base]
	if len(sh.dims) > inner[sh.base] {
		name = "an array"
	}
	switch r {
	case rows:
		return name + " for each record"
	case total:
		return "a sum over all records"
	case index:
		return "the number of a record"
	case count:
		return "the number of records"
	}
	return name
}

func (s *stager) unknown(name string, at syntax.Span) {
	s.fail("E400", at, "%s is not declared.", name)
}

func (s *stager) eval(e *syntax.Expr) value {
	s.spend(e.At, 1)
	switch e.Kind {
	case syntax.Number:
		v := constant(e.Value)
		v.whole = e.Whole
		return v
	case syntax.Name:
		return s.read(e)
	case syntax.Apply:
		return s.call(e)
	case syntax.Index:
		return s.element(s.eval(e.Args[0]), s.own(e), e)
	case syntax.Unary:
		return s.unaryOperator(e)
	case syntax.Binary:
		return s.operator(e.Text, s.eval(e.Args[0]), s.eval(e.Args[1]), e.At)
	case syntax.Choice:
		return s.choice(e)
	case syntax.Transpose:
		return s.transpose(s.eval(e.Args[0]), e.At)
	case syntax.List:
		return s.list(e)
	}
	s.fail("E400", e.At, "a range is allowed only in a subscript.")
	return value{}
}

func (s *stager) read(e *syntax.Expr) value {
	v := s.variables[e.Text]
	switch {
	case v == nil:
		s.unknown(e.Text, e.At)
	case v.bad:
		panic(errStop)
	case !v.value.known:
		s.fail("E208", e.At, "%s is read before it has a value.", e.Text)
	}
	return v.value
}

func (s *stager) nodeOf(v value) model.Expr {
	rows, cols := v.shape.table()
	switch {
	case v.fixed():
		return s.b.Matrix(rows, cols, v.numbers)
	case v.parts == nil:
		return v.node
	}
	args := make([]model.Expr, len(v.parts))
	for k, p := range v.parts {
		if !p.known {
			panic(errStop) // s.joined has already reported an element that has no value
		}
		args[k] = s.nodeOf(p)
	}
	node := s.b.Apply(ir.Stack, args...)
	if cols > 1 {
		node = s.b.Slice(node, 0, rows, cols)
	}
	return node
}

// joined turns a value with separate elements into one node or one list of constants. All elements
// must have been assigned. It returns other values unchanged.
func (s *stager) joined(v value, at syntax.Span) value {
	if v.parts == nil {
		return v
	}
	numbers, in := make([]float64, len(v.parts)), ir.Interval{}
	above, fixed := true, true
	for k, p := range v.parts {
		if !p.known {
			s.fail("E208", at, "element %d is read before it has a value.", k+1)
		}
		if k == 0 {
			in = p.in
		} else {
			in = ir.Stack.Of(in, p.in)
		}
		above, fixed = above && p.above, fixed && p.fixed()
		if p.fixed() {
			numbers[k] = p.number()
		}
	}
	s.spend(at, len(v.parts))
	out := value{role: v.role, shape: v.shape, known: true, whole: v.whole, above: above, in: in}
	if fixed {
		out.numbers = numbers
	} else {
		out.node = s.nodeOf(v)
	}
	return out
}

func (s *stager) scalars(v value, at syntax.Span) []value {
	if v.parts != nil {
		return v.parts
	}
	n := v.shape.size()
	s.spend(at, partCost*n)
	out := make([]value, n)
	for k := range out {
		out[k] = s.pickAt(v, k)
	}
	return out
}

// pickAt returns element k of v. The first element is element 0. v must not be stored as separate
// elements.
func (s *stager) pickAt(v value, k int) value {
	out := value{shape: shape{}, known: true, whole: v.whole, above: v.above, in: v.in, from: v.from, first: v.first + k}
	if v.mixed {
		out.from = nil
	}
	switch {
	case v.fixed():
		one := constant(v.numbers[k])
		one.whole = v.whole
		return one
	case v.shape.single():
		out.node = v.node
	default:
		out.node = s.b.Element(v.node, k)
	}
	return out
}

// ofRecord reports whether v depends on the current record.
func (s *stager) ofRecord(v value) bool {
	p := s.phase(v)
	return p == ir.Data || p == ir.Record
}

// phase says whether a value depends on parameters, on the row, on both or on neither.
func (s *stager) phase(v value) ir.Phase {
	if v.fixed() {
		return ir.Fixed
	}
	if v.parts == nil {
		return s.b.Phase(v.node)
	}
	phase := ir.Fixed
	for _, p := range v.parts {
		if !p.known {
			continue
		}
		joined, ok := ir.Join(phase, s.phase(p))
		if !ok {
			return ir.Record
		}
		phase = joined
	}
	return phase
}

func (s *stager) unaryOperator(e *syntax.Expr) value {
	v := s.eval(e.Args[0])
	switch e.Text {
	case "-":
		v = counted(v)
		if v.role == total {
			return s.addTotals(constant(0), v, true, e.At)
		}
		return s.unary(ir.Neg, v, e.At)
	case "!":
		return s.not(s.truth(s.logical(v, e.At)))
	}
	return v
}

// logical checks that v can be used as a condition, and joins its elements. A condition must not
// depend on the number of a record or on a sum over records. Only in generated quantities may it
// depend on parameters.
func (s *stager) logical(v value, at syntax.Span) value {
	if v.role == index || v.role == count {
		s.fail("E201", at, "a comparison with the number of a record makes the density depend on the order of the records.")
	}
	if v.role == total {
		s.fail("E206", at, "a sum over all records cannot be compared.")
	}
	v = s.joined(v, at)
	if p := s.phase(v); p != ir.Fixed && p != ir.Data && !s.generating {
		s.fail("E210", at, "a condition on parameters makes the density jump. Use fmax, fmin or a smooth form.")
	}
	return v
}

// truth returns a value with 1 where v is not 0, and 0 elsewhere.
func (s *stager) truth(v value) value {
	if v.in.Whole && v.in.Low >= 0 && v.in.High <= 1 {
		return v
	}
	return s.not(s.binary(ir.Equal, v, constant(0), syntax.Span{}))
}

func (s *stager) not(v value) value {
	out := s.binary(ir.Sub, constant(1), v, syntax.Span{})
	out.whole = true
	return out
}

// counted converts the number of records to the sum of 1 over the records.
func counted(v value) value {
	if v.role == count {
		v = constant(1)
		v.role = total
	}
	return v
}

// operator returns a op b, where op is an operator such as "+" or "==".
func (s *stager) operator(op string, a, b value, at syntax.Span) value {
	switch op {
	case "==", "!=", "<", "<=", ">", ">=", "&&", "||":
		return s.compare(op, s.logical(a, at), s.logical(b, at), at)
	}
	for _, v := range []*value{&a, &b} {
		if v.role == index {
			s.fail("E201", at, "the number of a record can only be a subscript: arithmetic with it reaches another record, and a record's density may use its own row only. If a lag belongs to the same person, make the person the record: array[%s, T] real y.", s.data.Records)
		}
		*v = counted(*v)
	}
	if a.role == total || b.role == total {
		return s.totals(op, a, b, at)
	}
	a, b = s.joined(a, at), s.joined(b, at)
	switch op {
	case "+":
		return s.arithmetic(ir.Add, a, b, at)
	case "-":
		return s.arithmetic(ir.Sub, a, b, at)
	case ".*":
		return s.arithmetic(ir.Mul, a, b, at)
	case "*":
		return s.product(a, b, at)
	case "/", "./":
		return s.quotient(op, a, b, at)
	case "^", ".^":
		return s.power(a, b, at)
	}
	return s.wholeDivision(op, a, b, at)
}

// arithmetic is like binary, but the result is an integer if both operands are.
func (s *stager) arithmetic(op ir.Op, a, b value, at syntax.Span) value {
	out := s.binary(op, a, b, at)
	out.whole = a.whole && b.whole
	return out
}

func (s *stager) quotient(op string, a, b value, at syntax.Span) value {
	if op == "/" && !b.shape.single() {
		s.fail("E402", at, "a value is divided by %s: write ./ for elements.", said(b.role, b.shape))
	}
	if a.whole && b.whole {
		return s.wholeDivision("%/%", a, b, at)
	}
	return s.binary(ir.Div, a, b, at)
}

// wholeDivision returns the quotient or the remainder of two integer constants.
func (s *stager) wholeDivision(op string, a, b value, at syntax.Span) value {
	if !a.fixed() || !b.fixed() || !a.shape.single() || !b.shape.single() || !a.whole || !b.whole {
		s.fail("E403", at, "the division of whole numbers drops the rest, and is in the language for public constants alone. For a real quotient, multiply by 1.0.")
	}
	if b.number() == 0 {
		s.fail("E402", at, "a whole number is divided by 0.")
	}
	x := math.Trunc(a.number() / b.number())
	if op == "%" {
		x = math.Mod(a.number(), b.number())
	}
	out := constant(x)
	out.whole = true
	return out
}

func (s *stager) compare(op string, a, b value, at syntax.Span) value {
	var out value
	switch op {
	case "==":
		out = s.binary(ir.Equal, a, b, at)
	case "!=":
		out = s.not(s.binary(ir.Equal, a, b, at))
	case "<":
		out = s.binary(ir.Less, a, b, at)
	case ">":
		out = s.binary(ir.Less, b, a, at)
	case "<=":
		out = s.not(s.binary(ir.Less, b, a, at))
	case ">=":
		out = s.not(s.binary(ir.Less, a, b, at))
	case "&&":
		out = s.binary(ir.Mul, s.truth(a), s.truth(b), at)
	case "||":
		out = s.binary(ir.Max, s.truth(a), s.truth(b), at)
	}
	out.whole = true
	if (a.fixed() || b.fixed()) && s.phase(out) == ir.Data && op != "&&" && op != "||" {
		s.note("W505", at, "this comparison with a constant may single out few records. The guarantee covers them like all others.")
	}
	return out
}

// totals applies op to a and b, at least one of which is a sum over the records.
func (s *stager) totals(op string, a, b value, at syntax.Span) value {
	other := a
	if a.role == total {
		other = b
	}
	shared := other.role == plain && other.shape.single() && !s.ofRecord(other)
	switch {
	case (op == "+" || op == "-") && (shared || other.role == total):
		return s.addTotals(a, b, op == "-", at)
	case op == "*" && shared:
		sum := a
		if a.role != total {
			sum = b
		}
		return s.scaleTotal(sum, other, at)
	case op == "/" && shared && a.role == total:
		return s.scaleTotal(a, s.binary(ir.Div, constant(1), b, at), at)
	}
	s.fail("E206", at, "a sum over all records is used in an operation %s. It can be added, and multiplied by a parameter or a constant. Did you mean a loop over the records?", op)
	return value{}
}

// split splits a sum over the records into the term for one record and a summand that does not
// depend on records. A part that is 0 is nil. For a value that is not a sum over the records, split
// returns nil and v.
func (s *stager) split(v value) (sum, rest *value) {
	if v.role != total {
		return nil, &v
	}
	own := v
	own.role, own.rest = plain, nil
	return &own, v.rest
}

func (s *stager) addTotals(a, b value, minus bool, at syntax.Span) value {
	sumA, restA := s.split(a)
	sumB, restB := s.split(b)
	out := value{}
	if sum := s.addOptional(sumA, sumB, minus, at); sum != nil {
		out = *sum
	}
	out.role, out.rest = total, s.addOptional(restA, restB, minus, at)
	return out
}

func (s *stager) addOptional(a, b *value, minus bool, at syntax.Span) *value {
	if b == nil {
		return a
	}
	if a == nil {
		zero := constant(0)
		a = &zero
	}
	op := ir.Add
	if minus {
		op = ir.Sub
	}
	out := s.binary(op, *a, *b, at)
	return &out
}

func (s *stager) scaleTotal(v, by value, at syntax.Span) value {
	sum, rest := s.split(v)
	out := s.binary(ir.Mul, *sum, by, at)
	out.role = total
	if rest != nil {
		scaled := s.binary(ir.Mul, *rest, by, at)
		out.rest = &scaled
	}
	return out
}

func (s *stager) choice(e *syntax.Expr) value {
	condition := s.logical(s.eval(e.Args[0]), e.Args[0].At)
	if condition.fixed() && condition.shape.single() {
		if condition.number() != 0 {
			return s.eval(e.Args[1])
		}
		return s.eval(e.Args[2])
	}
	if condition.role != plain || !condition.shape.single() {
		s.fail("E202", e.Args[0].At, "a condition must be one number: write it in a loop over the records.")
	}
	a, b := s.joined(s.eval(e.Args[1]), e.At), s.joined(s.eval(e.Args[2]), e.At)
	if a.role != plain || b.role != plain || !a.shape.equal(b.shape) {
		s.fail("E402", e.At, "both sides of a choice must have the same type and size: they are %s and %s.", said(a.role, a.shape), said(b.role, b.shape))
	}
	return s.choose(s.truth(condition), a, b, e.At)
}

// choose returns a if condition is 1, and b if it is 0.
func (s *stager) choose(condition, a, b value, at syntax.Span) value {
	a, b = s.joined(a, at), s.joined(b, at)
	of := a.shape
	if of.single() {
		of = b.shape
	}
	s.spend(at, of.size())
	out := value{shape: of, known: true, whole: a.whole && b.whole, above: a.above && b.above, in: real}
	out.node = s.b.Apply(ir.Select, s.nodeOf(condition), s.nodeOf(a), s.nodeOf(b))
	if s.phase(out) == ir.Data {
		out.in = ir.Select.Of(condition.in, a.in, b.in)
	}
	return out
}

func (s *stager) list(e *syntax.Expr) value {
	if len(e.Args) == 0 {
		s.fail("E402", e.At, "a list must have at least one element.")
	}
	var parts []value
	var of shape
	whole := true
	for k, a := range e.Args {
		v := s.joined(s.eval(a), a.At)
		if v.role != plain {
			s.fail("E202", a.At, "%s cannot be an element of a list.", said(v.role, v.shape))
		}
		if k > 0 && !v.shape.equal(of) {
			s.fail("E402", a.At, "the elements of a list must have the same type and size.")
		}
		of, whole = v.shape, whole && v.whole
		parts = append(parts, s.scalars(v, a.At)...)
		for i := range parts {
			parts[i].from = nil
		}
	}
	out := shape{of.base, append([]int{len(e.Args)}, of.dims...)}
	if e.Text == "[" {
		switch {
		case of.single():
			out.base = rowVector
		case of.base == rowVector && len(of.dims) == 1:
			out.base = matrix
		default:
			s.fail("E402", e.At, "square brackets may contain only numbers or row vectors.")
		}
	}
	return s.joined(value{shape: out, parts: parts, known: true, whole: whole}, e.At)
}

// printed returns an expression as text, with single blanks.
func (s *stager) printed(e *syntax.Expr) string {
	return strings.Join(strings.Fields(s.text[e.At.From:e.At.To]), " ")
}

func (s *stager) transpose(v value, at syntax.Span) value {
	v = s.joined(v, at)
	if v.role != plain {
		s.fail("E202", at, "%s cannot be transposed: the result would combine records.", said(v.role, v.shape))
	}
	if len(v.shape.dims) != inner[v.shape.base] || v.shape.single() {
		s.fail("E402", at, "%s cannot be transposed.", said(v.role, v.shape))
	}
	switch v.shape.base {
	case vector:
		v.shape.base = rowVector
	case rowVector:
		v.shape.base = vector
	default:
		parts, r, c := s.scalars(v, at), v.shape.dims[0], v.shape.dims[1]
		turned := make([]value, len(parts))
		for i, p := range parts {
			turned[i%c*r+i/c] = p
			turned[i%c*r+i/c].from = nil
		}
		return s.joined(value{shape: shape{matrix, []int{c, r}}, parts: turned, known: true}, at)
	}
	v.shape.dims = slices.Clone(v.shape.dims)
	v.from = nil
	return v
}
