package formula

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fedpvi/pvi/program/syntax"
)

// A Column is a column of the study. A value of a column with levels is the number of the level,
// from 1.
type Column struct {
	Name      string
	Levels    []string // public levels in the study's order; empty for a numeric column
	Low, High float64  // public bounds of a numeric column
	// Centre and Spread are public guesses of the mean and the standard deviation, given in the study.
	// If there are none, Spread is 0.
	Centre, Spread float64
	Whole          bool // whether all values are whole numbers
}

// centre returns Centre, or the middle of the bounds if the study gives no guess.
func (c *Column) centre() float64 {
	if c.Spread > 0 {
		return c.Centre
	}
	return c.Low + (c.High-c.Low)/2
}

// spread returns Spread. If the study gives no guess, it returns the standard deviation of a
// uniform distribution between the bounds.
func (c *Column) spread() float64 {
	if c.Spread > 0 {
		return c.Spread
	}
	return (c.High - c.Low) / (2 * math.Sqrt(3))
}

// from says where a column's spread comes from.
func (c *Column) from() string {
	if c.Spread > 0 {
		return "the column's spread"
	}
	return "half the width of the bounds over √3"
}

// functions has the functions of one number that a formula may use, by name.
var functions = map[string]func(float64) float64{
	"log": math.Log, "exp": math.Exp, "sqrt": math.Sqrt, "log1p": math.Log1p, "abs": math.Abs, "log10": math.Log10, "log2": math.Log2,
}

// An expression is an arithmetic expression in the numeric columns of a record.
type expression struct {
	text    string // expression in the language of programs, for record n
	columns []int
	value   func(row []float64) float64
	levels  bool // whether the text depends on levels, in which case value is not used
	binds   int  // precedence of its outermost operator
}

// atom is the precedence of a text that never needs parentheses.
const atom = 10

// expression translates a node inside I(), or inside a function such as log.
func (w *writer) expression(n *node) expression {
	switch n.kind {
	case isNumber:
		x := n.value
		return expression{text: n.text, value: func([]float64) float64 { return x }, binds: atom}
	case isName:
		return w.columnValue(n)
	case isCall:
		return w.function(n)
	case isOperator:
		if len(n.args) == 1 {
			a := w.expression(n.args[0])
			if n.text == "+" {
				return a
			}
			value := a.value
			a.text, a.value, a.binds = "-"+a.above(signBinding), func(row []float64) float64 { return -value(row) }, signBinding
			return a
		}
		return w.arithmetic(n)
	}
	fail("E602", n.at, "a string can only be compared with a column, as in sex == \"f\".")
	return expression{}
}

// above returns the text of e as an argument of an operator with precedence binds. It adds
// parentheses if necessary.
func (e expression) above(binds int) string {
	if e.binds > binds {
		return e.text
	}
	return "(" + e.text + ")"
}

// factor returns the text of e as a factor in a product. It adds parentheses if necessary.
func (e expression) factor() string { return e.above(binding["*"]) }

func (w *writer) columnValue(n *node) expression {
	i := w.column(n)
	c := &w.columns[i]
	if len(c.Levels) > 0 {
		fail("E602", n.at, "%s has levels and no numbers. For the indicator of a level write I(%s == %q).", c.Name, c.Name, c.Levels[len(c.Levels)-1])
	}
	return expression{text: w.vector(i) + "[n]", columns: []int{i}, value: func(row []float64) float64 { return row[i] }, binds: atom}
}

func (w *writer) function(n *node) expression {
	switch f, ok := functions[n.text]; {
	case ok:
		a := w.expression(w.only(n))
		value := a.value
		a.text, a.value, a.binds = n.text+"("+a.text+")", func(row []float64) float64 { return f(value(row)) }, atom
		return a
	case n.text == "I":
		return w.expression(w.only(n))
	case n.text == "scale":
		return w.scaled(n)
	}
	fail("E603", n.at, "%s() is not supported. Functions of columns are log, log1p, log2, log10, exp, sqrt, abs, scale and I.", n.text)
	return expression{}
}

func (w *writer) scaled(n *node) expression {
	arg := w.only(n)
	if arg.kind != isName {
		fail("E602", arg.at, "scale() takes the name of a numeric column.")
	}
	e := w.columnValue(arg)
	c := &w.columns[e.columns[0]]
	if c.Spread == 0 {
		fail("E605", n.at, "scale(%s) needs a public mean and sd, which are not computed from records. Write centre and spread in the column %s of the study.", c.Name, c.Name)
	}
	centre, spread := c.Centre, c.Spread
	e.text, e.binds = "("+minus(e.text, centre)+") / "+real(spread), binding["/"]
	i := e.columns[0]
	e.value = func(row []float64) float64 { return (row[i] - centre) / spread }
	return e
}

var operations = map[string]func(x, y float64) float64{
	"+": func(x, y float64) float64 { return x + y }, "-": func(x, y float64) float64 { return x - y },
	"*": func(x, y float64) float64 { return x * y }, "/": func(x, y float64) float64 { return x / y }, "^": math.Pow,
	"==": func(x, y float64) float64 { return truth(x == y) }, "!=": func(x, y float64) float64 { return truth(x != y) },
	"<": func(x, y float64) float64 { return truth(x < y) }, "<=": func(x, y float64) float64 { return truth(x <= y) },
	">": func(x, y float64) float64 { return truth(x > y) }, ">=": func(x, y float64) float64 { return truth(x >= y) },
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (w *writer) arithmetic(n *node) expression {
	f, ok := operations[n.text]
	if !ok {
		fail("E602", n.at, "%q is not an operation on numbers.", n.text)
	}
	if n.args[1].kind == isText || n.args[0].kind == isText {
		return w.levelIs(n)
	}
	a, b := w.expression(n.args[0]), w.expression(n.args[1])
	binds := binding[n.text]
	left, right := a.above(binds-1), b.above(binds)
	if binds == powerBinding || binds == binding["=="] {
		left = a.above(binds)
	}
	if n.text == "/" && n.args[1].kind == isNumber {
		right = real(n.args[1].value) // the quotient of two whole numbers would lose the remainder
	}
	return expression{
		text: left + " " + n.text + " " + right, binds: binds, columns: slices.Concat(a.columns, b.columns), levels: a.levels || b.levels,
		value: func(row []float64) float64 { return f(a.value(row), b.value(row)) },
	}
}

// levelIs translates a comparison of a column with a level, such as sex == "f". The result is 1 or
// 0.
func (w *writer) levelIs(n *node) expression {
	column, level := n.args[0], n.args[1]
	if column.kind == isText {
		column, level = level, column
	}
	if column.kind != isName || n.text != "==" && n.text != "!=" {
		fail("E602", n.at, "a level is compared with its column by == or !=, as in sex == \"f\".")
	}
	i := w.column(column)
	k := slices.Index(w.columns[i].Levels, level.text)
	if k < 0 {
		what := "It is a numeric column."
		if levels := w.columns[i].Levels; len(levels) > 0 {
			what = "Its levels are " + strings.Join(levels, ", ") + "."
		}
		fail("E601", level.at, "%q is not a level of %s. %s", level.text, w.columns[i].Name, what)
	}
	is := w.indicator(i, k)
	if n.text == "!=" {
		return expression{text: "1 - " + is, value: zero, levels: true, binds: binding["-"]}
	}
	return expression{text: is, value: zero, levels: true, binds: atom}
}

func zero([]float64) float64 { return 0 }

// points is the number of synthetic records used to compute the mean and the standard deviation of
// an expression.
const points = 512

// moments returns the mean and the standard deviation of an expression over synthetic records. The
// columns of these are independent, and uniform around their public centres. For an expression with
// levels moments returns 0 and 1. A standard deviation of 0 is replaced by 1.
func (w *writer) moments(e expression, at syntax.Span) (mean, sd float64) {
	if e.levels {
		return 0, 1
	}
	if m, ok := w.averages[e.text]; ok {
		return m[0], m[1]
	}
	defer func() { w.averages[e.text] = [2]float64{mean, sd} }()
	row, sum, squares := make([]float64, len(w.columns)), 0., 0.
	for k := range points {
		for _, i := range e.columns {
			row[i] = w.columns[i].madeUp(k, i)
		}
		x := e.value(row)
		sum, squares = sum+x, squares+x*x
	}
	mean = sum / points
	sd = math.Sqrt(max(0, squares/points-mean*mean))
	if math.IsNaN(mean) || math.IsInf(mean, 0) || math.IsNaN(sd) || math.IsInf(sd, 0) {
		fail("E605", at, "this is not finite within the public bounds of the columns. Narrow the bounds.")
	}
	if sd == 0 {
		sd = 1
	}
	return mean, sd
}

// madeUp returns the value that the column with index i has in synthetic record k. Each of the
// first 20 columns has its own low-discrepancy sequence.
func (c *Column) madeUp(k, i int) float64 {
	_, u := math.Modf(.5 + float64(k)*math.Sqrt(float64(primes[i%len(primes)])))
	return min(max(c.centre()+c.spread()*math.Sqrt(3)*(2*u-1), c.Low), c.High)
}

var primes = [...]int{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71}

// finite refuses an expression that is not finite when one of its columns is at a bound and the
// others are at their centres. at is the place for the error message.
func (w *writer) finite(e expression, at syntax.Span) {
	if e.levels {
		return
	}
	for _, i := range e.columns {
		for _, bound := range []float64{w.columns[i].Low, w.columns[i].High} {
			row := make([]float64, len(w.columns))
			for _, j := range e.columns {
				row[j] = w.columns[j].centre()
			}
			row[i] = bound
			if x := e.value(row); math.IsNaN(x) || math.IsInf(x, 0) {
				fail("E605", at, "this is not finite if %s is %s, a bound of the column. Narrow the bounds.", w.columns[i].Name, short(bound, 6))
			}
		}
	}
}

// short returns a number as text with at most the given number of significant digits.
func short(x float64, digits int) string { return strconv.FormatFloat(x, 'g', digits, 64) }

// real writes x as a real number in a program. Without a point or an exponent, it would be an
// integer.
func real(x float64) string {
	s := short(x, 6)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// minus returns the text of an expression minus x.
func minus(text string, x float64) string {
	switch s := short(math.Abs(x), 6); {
	case s == "0":
		return text
	case x < 0:
		return text + " + " + s
	default:
		return text + " - " + s
	}
}
