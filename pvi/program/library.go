package program

import (
	"maps"
	"math"
	"slices"
	"strings"

	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// elementwise maps functions with one argument to operations of record programs.
var elementwise = map[string]ir.Op{
	"exp": ir.Exp, "log": ir.Log, "log1p": ir.Log1p, "expm1": ir.Expm1, "sqrt": ir.Sqrt, "square": ir.Square, "inv": ir.Inv,
	"tanh": ir.Tanh, "inv_logit": ir.InvLogit, "log_inv_logit": ir.LogInvLogit, "log1p_exp": ir.Softplus, "Phi": ir.Phi,
	"fabs": ir.Abs, "abs": ir.Abs, "lgamma": ir.Lgamma, "sin": ir.Sin, "cos": ir.Cos,
}

// composed has functions of one argument, by name, that are built from other operations.
var composed = map[string]func(p pen, x value) value{
	"log1m":           pen.log1m,
	"logit":           func(p pen, x value) value { return p.sub(p.log(x), p.log1m(x)) },
	"log1m_inv_logit": func(p pen, x value) value { return p.is(ir.LogInvLogit, p.neg(x)) },
	"log1m_exp":       pen.logRest,
	"inv_sqrt":        func(p pen, x value) value { return p.is(ir.Inv, p.is(ir.Sqrt, x)) },
	"inv_square":      func(p pen, x value) value { return p.is(ir.Inv, p.is(ir.Square, x)) },
	"log2":            func(p pen, x value) value { return p.mul(p.log(x), constant(1/math.Ln2)) },
	"log10":           func(p pen, x value) value { return p.mul(p.log(x), constant(1/math.Ln10)) },
	"exp2":            func(p pen, x value) value { return p.is(ir.Exp, p.mul(x, constant(math.Ln2))) },
	"sinh":            func(p pen, x value) value { return p.mul(p.sub(p.is(ir.Exp, x), p.is(ir.Exp, p.neg(x))), constant(.5)) },
	"cosh":            func(p pen, x value) value { return p.mul(p.add(p.is(ir.Exp, x), p.is(ir.Exp, p.neg(x))), constant(.5)) },
}

func (s *stager) call(e *syntax.Expr) value {
	if f := s.functions[e.Text]; f != nil {
		return s.evaluate(f, e.Args, e.At)
	}
	if name, ok := densityName(e); ok {
		return s.densityValue(name, e)
	}
	if name, ok := strings.CutSuffix(e.Text, "_rng"); ok {
		return s.random(name, e)
	}
	if _, _, ok := cumulativeName(e.Text); ok {
		return s.cumulative(e)
	}
	if v, ok := s.statistic(e); ok {
		return v
	}
	args := make([]value, len(e.Args))
	for k, a := range e.Args {
		args[k] = s.eval(a)
		if args[k].parts != nil {
			args[k] = s.joined(args[k], a.At)
		}
	}
	f, ok := functions[e.Text]
	op, simple := elementwise[e.Text]
	write, compound := composed[e.Text]
	switch {
	case ok && f.args != len(e.Args) && f.args != anyNumber, (simple || compound) && len(e.Args) != 1:
		s.fail("E402", e.At, "%s takes a different number of arguments.", e.Text)
	case ok:
		return f.of(s, args, e)
	case simple:
		return s.unary(op, args[0], e.At)
	case compound:
		return write(pen{s, e.At}, args[0])
	}
	s.fail("E403", e.At, "the function %s is not in the language%s", e.Text, near(e.Text))
	return value{}
}

// near returns the end of the message about an unknown function. It suggests a known function whose
// name differs only in case or underscores.
func near(name string) string {
	plain := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
	known := slices.Concat(slices.Collect(maps.Keys(functions)), slices.Collect(maps.Keys(elementwise)), slices.Collect(maps.Keys(composed)))
	slices.Sort(known)
	for _, other := range known {
		if plain(other) == plain(name) {
			return ". Did you mean " + other + "?"
		}
	}
	return "."
}

// statistic returns the value of a call such as mean(age), where age is a column. The study must
// provide this value, because it depends on all records. ok is false for all other expressions.
func (s *stager) statistic(e *syntax.Expr) (v value, ok bool) {
	if !slices.Contains([]string{"mean", "sd", "variance", "min", "max"}, e.Text) || len(e.Args) != 1 {
		return value{}, false
	}
	if arg := s.joined(s.eval(e.Args[0]), e.At); arg.role != rows {
		return value{}, false
	}
	text := s.printed(e)
	if c, given := s.data.Constants[text]; given && len(c.Dims) == 0 {
		return constant(c.Values[0]), true
	}
	s.fail("E203", e.At, "%s is computed from all records, which are private. Give a public number in the study:  data.%q = …", text, text)
	return value{}, true
}

type function struct {
	args int // number of arguments, or anyNumber
	of   func(s *stager, args []value, e *syntax.Expr) value
}

const anyNumber = -1

// functions has the functions of the library by name. It is filled by init to avoid an
// initialisation cycle.
var functions map[string]function

func init() {
	functions = map[string]function{
		"pi": {0, func(*stager, []value, *syntax.Expr) value { return constant(math.Pi) }},
		"e":  {0, func(*stager, []value, *syntax.Expr) value { return constant(math.E) }},
		"pow": {2, func(s *stager, a []value, e *syntax.Expr) value {
			return s.power(s.joined(a[0], e.At), s.joined(a[1], e.At), e.At)
		}},
		"fmax":        {2, func(s *stager, a []value, e *syntax.Expr) value { return s.binary(ir.Max, a[0], a[1], e.At) }},
		"fmin":        {2, func(s *stager, a []value, e *syntax.Expr) value { return s.binary(ir.Min, a[0], a[1], e.At) }},
		"sum":         {1, func(s *stager, a []value, e *syntax.Expr) value { return s.sum(a[0], e.At) }},
		"mean":        {1, (*stager).mean},
		"max":         {1, func(s *stager, a []value, e *syntax.Expr) value { return s.extreme(ir.Max, a[0], e.At) }},
		"min":         {1, func(s *stager, a []value, e *syntax.Expr) value { return s.extreme(ir.Min, a[0], e.At) }},
		"dot_product": {2, (*stager).dotProduct},
		"dot_self": {1, func(s *stager, a []value, e *syntax.Expr) value {
			return s.sum(s.unary(ir.Square, a[0], e.At), e.At)
		}},
		"lbeta":          {2, func(s *stager, a []value, e *syntax.Expr) value { return pen{s, e.At}.logBeta(a[0], a[1]) }},
		"lchoose":        {2, func(s *stager, a []value, e *syntax.Expr) value { return pen{s, e.At}.choices(a[0], a[1]) }},
		"log_diff_exp":   {2, func(s *stager, a []value, e *syntax.Expr) value { return pen{s, e.At}.logDifference(a[0], a[1]) }},
		"log_sum_exp":    {anyNumber, (*stager).logSumExp},
		"log_mix":        {3, (*stager).logMix},
		"softmax":        {1, func(s *stager, a []value, e *syntax.Expr) value { return s.rescale(ir.Softmax, a[0], e) }},
		"log_softmax":    {1, func(s *stager, a []value, e *syntax.Expr) value { return s.rescale(ir.LogSoftmax, a[0], e) }},
		"cumulative_sum": {1, (*stager).cumulativeSum},
		"rep_vector":     {2, func(s *stager, a []value, e *syntax.Expr) value { return s.repeat(vector, a[0], a[1], e) }},
		"rep_row_vector": {2, func(s *stager, a []value, e *syntax.Expr) value { return s.repeat(rowVector, a[0], a[1], e) }},
		"rep_array":      {2, func(s *stager, a []value, e *syntax.Expr) value { return s.repeat(scalar, a[0], a[1], e) }},
		"to_vector":      {1, func(s *stager, a []value, e *syntax.Expr) value { return s.flat(vector, a[0], e) }},
		"to_row_vector":  {1, func(s *stager, a []value, e *syntax.Expr) value { return s.flat(rowVector, a[0], e) }},
		"to_array_1d":    {1, func(s *stager, a []value, e *syntax.Expr) value { return s.flat(scalar, a[0], e) }},
		"append_row":     {2, (*stager).appendRow},
		"rows":           {1, func(s *stager, a []value, e *syntax.Expr) value { return s.sizeOf(a[0], 0, e) }},
		"size":           {1, func(s *stager, a []value, e *syntax.Expr) value { return s.sizeOf(a[0], 0, e) }},
		"cols":           {1, func(s *stager, a []value, e *syntax.Expr) value { return s.sizeOf(a[0], 1, e) }},
		"num_elements":   {1, (*stager).numElements},
	}
}

// sum returns the sum of the elements of a value. If each record has one number, it is a sum over
// the records.
func (s *stager) sum(v value, at syntax.Span) value {
	if v.role == index || v.role == count || v.role == total {
		s.fail("E206", at, "%s has no elements to add.", said(v.role, v.shape))
	}
	v = s.joined(v, at)
	out := value{role: v.role, known: true, whole: v.whole, above: v.above, in: real}
	switch {
	case v.shape.single():
		out = v
	case v.fixed():
		var sum float64
		for _, x := range v.numbers {
			sum += x
		}
		return constant(sum)
	default:
		out.node = s.b.Apply(ir.Sum, v.node)
	}
	if out.role == rows {
		out.role = total
	}
	out.from = nil
	return out
}

func (s *stager) mean(a []value, e *syntax.Expr) value {
	out := s.sum(a[0], e.At)
	out.whole = false
	return s.binary(ir.Mul, out, constant(1/float64(a[0].shape.size())), e.At)
}

func (s *stager) extreme(op ir.Op, v value, at syntax.Span) value {
	if v.role != plain {
		s.fail("E203", at, "the smallest or largest value of all records is private.")
	}
	parts := s.scalars(v, at)
	out := parts[0]
	for _, p := range parts[1:] {
		out = s.arithmetic(op, out, p, at)
	}
	out.from = nil
	return out
}

// dotProduct returns the dot product of two vectors. If each record has one number in both, it is a
// sum over the records.
func (s *stager) dotProduct(a []value, e *syntax.Expr) value {
	if a[0].role == rows && a[1].role == rows && a[0].shape.single() && a[1].shape.single() {
		return s.sum(s.binary(ir.Mul, a[0], a[1], e.At), e.At)
	}
	if a[0].role != plain || a[1].role != plain {
		s.fail("E202", e.At, "a dot product of %s and %s is not possible: inside a loop, subscript by the record's number.", said(a[0].role, a[0].shape), said(a[1].role, a[1].shape))
	}
	return s.dot(a[0], a[1], e.At)
}

// logSumExp returns log Σ exp(x) over the elements x of a vector, or log(eˣ + eʸ) if it is called
// with two numbers.
func (s *stager) logSumExp(a []value, e *syntax.Expr) value {
	if len(a) == 2 && a[0].shape.single() && a[1].shape.single() && a[0].role == plain && a[1].role == plain {
		a = []value{{shape: shape{vector, []int{2}}, parts: a, known: true}}
	}
	if len(a) != 1 {
		s.fail("E402", e.At, "log_sum_exp takes a vector or two numbers.")
	}
	v := s.joined(a[0], e.At)
	if v.role != plain || v.shape.single() {
		s.fail("E206", e.At, "log_sum_exp of %s. Did you mean a loop over the records?", said(v.role, v.shape))
	}
	if v.fixed() {
		s.fail("E403", e.At, "log_sum_exp of constants is not in the language: give its value.")
	}
	return value{node: s.b.Apply(ir.LogSumExp, s.nodeOf(v)), known: true, in: real}
}

// logMix returns log(p·eˣ + (1−p)·eʸ) for the arguments p, x and y.
func (s *stager) logMix(a []value, e *syntax.Expr) value {
	p := pen{s, e.At}
	x, y := p.add(p.log(a[0]), a[1]), p.add(p.log1m(a[0]), a[2])
	if !x.shape.single() || !y.shape.single() || x.role != plain || y.role != plain {
		s.fail("E206", e.At, "log_mix takes numbers. Did you mean a loop over the records?")
	}
	return s.logSumExp([]value{x, y}, e)
}

func (s *stager) rescale(op ir.Op, v value, e *syntax.Expr) value {
	v = s.joined(v, e.At)
	if v.shape.base != vector || len(v.shape.dims) != 1 || v.role != plain {
		s.fail("E402", e.At, "%s takes a vector.", e.Text)
	}
	if v.fixed() {
		s.fail("E403", e.At, "%s of constants is not in the language: give its value.", e.Text)
	}
	return value{shape: v.shape, node: s.b.Apply(op, v.node), known: true, above: op == ir.Softmax, in: real}
}

func (s *stager) cumulativeSum(a []value, e *syntax.Expr) value {
	if a[0].role != plain {
		s.fail("E201", e.At, "the sum up to a record reads other records.")
	}
	parts := s.scalars(a[0], e.At)
	out := value{shape: a[0].shape, parts: make([]value, len(parts)), known: true, whole: a[0].whole}
	sum := constant(0)
	for k, p := range parts {
		sum = s.binary(ir.Add, sum, p, e.At)
		out.parts[k] = sum
	}
	return s.joined(out, e.At)
}

// repeat returns a container whose n elements are all v. If n is the number of records, it returns
// a value for each record.
func (s *stager) repeat(kind base, v, n value, e *syntax.Expr) value {
	if !v.shape.single() || v.role != plain {
		s.fail("E402", e.At, "%s takes one number, which it repeats.", e.Text)
	}
	v.from = nil
	if n.role == count {
		v.role = rows
		return v
	}
	size := s.size(&n, e.Args[1].At)
	s.spend(e.At, partCost*size)
	parts := make([]value, size)
	for k := range parts {
		parts[k] = v
	}
	return s.joined(value{shape: shape{kind, []int{size}}, parts: parts, known: true, whole: v.whole}, e.At)
}

// flat returns the elements of a value as one vector, row vector or array. It goes through a matrix
// column by column.
func (s *stager) flat(kind base, v value, e *syntax.Expr) value {
	v = s.joined(v, e.At)
	if v.role == rows && v.shape.single() || len(v.shape.dims) == 1 && v.role == plain {
		if v.role == plain {
			v.shape = shape{kind, v.shape.dims}
		}
		return v
	}
	if v.role != plain {
		s.fail("E202", e.At, "%s of %s would combine records.", e.Text, said(v.role, v.shape))
	}
	if v.shape.single() {
		s.fail("E402", e.At, "%s takes a container.", e.Text)
	}
	if v.shape.base == matrix && len(v.shape.dims) == 2 {
		from, first := v.from, v.first
		v = s.transpose(v, e.At)
		v.from, v.first, v.mixed = from, first, true
	}
	n := v.shape.size()
	if !v.fixed() {
		v.node = s.b.Slice(v.node, 0, n, 1)
	}
	v.shape = shape{kind, []int{n}}
	return v
}

func (s *stager) appendRow(a []value, e *syntax.Expr) value {
	var parts []value
	for _, v := range a {
		if v.role != plain || len(v.shape.dims) > 1 || v.shape.base == rowVector {
			s.fail("E403", e.At, "append_row joins numbers and vectors.")
		}
		for _, p := range s.scalars(v, e.At) {
			p.from = nil
			parts = append(parts, p)
		}
	}
	return s.joined(value{shape: shape{vector, []int{len(parts)}}, parts: parts, known: true}, e.At)
}

// sizeOf returns the size of a value along an axis. Axis 0 is the first one, such as the rows of a
// matrix.
func (s *stager) sizeOf(v value, axis int, e *syntax.Expr) value {
	if v.role == rows {
		if axis == 0 {
			return value{role: count, known: true, whole: true}
		}
		axis--
	}
	if axis >= len(v.shape.dims) || v.role == index || v.role == count || v.role == total {
		s.fail("E402", e.At, "%s has no such size.", said(v.role, v.shape))
	}
	return wholeNumber(v.shape.dims[axis])
}

func (s *stager) numElements(a []value, e *syntax.Expr) value {
	if a[0].role == rows && a[0].shape.single() {
		return value{role: count, known: true, whole: true}
	}
	if a[0].role != plain {
		s.fail("E402", e.At, "%s has no known number of elements.", said(a[0].role, a[0].shape))
	}
	return wholeNumber(a[0].shape.size())
}
