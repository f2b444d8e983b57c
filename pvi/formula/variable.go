package formula

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"fedpvi/pvi/program/syntax"
)

// A variable is a factor of a term that cannot be divided further, such as a column or a function
// of a column. It has one or more numbers per record, such as level indicators.
type variable struct {
	source string // text of the variable in the formula
	at     syntax.Span
	pieces []piece
	full   []piece // indicators of all levels, or nil
	smooth *smooth
}

// A piece is one of the numbers of a variable, such as the indicator of a level. Coefficients are
// multiplied by products of pieces, with one piece from each variable of a term.
type piece struct {
	name string
	expression
	is *levelOf // nil unless the piece is an indicator
	// If spread is not 0, it is the standard deviation of the piece, whose mean is 0. If it is 0, both
	// are computed from synthetic records.
	spread float64
}

// A levelOf identifies a level by the index of its column and its index within the column.
type levelOf struct{ column, level int }

// A smooth is a curve s(x) of a column, with the given number of basis functions.
type smooth struct {
	column int
	knots  int
}

func (w *writer) variable(n *node) int {
	source := strings.Join(strings.Fields(w.request.Formula[n.at.From:n.at.To]), "")
	if i := slices.IndexFunc(w.variables, func(v *variable) bool { return v.source == source }); i >= 0 {
		return i
	}
	v := &variable{source: source, at: n.at}
	w.describe(v, n)
	w.variables = append(w.variables, v)
	return len(w.variables) - 1
}

func (w *writer) describe(v *variable, n *node) {
	switch {
	case n.kind == isText:
		fail("E600", n.at, "a string is not a term. Write a column with unusual characters in backquotes.")
	case n.kind == isName:
		i := w.column(n)
		if c := &w.columns[i]; len(c.Levels) > 0 {
			w.factor(v, i, c.Levels)
			return
		}
		v.pieces = []piece{{name: w.columns[i].Name, expression: w.columnValue(n)}}
	case refusedTerms[n.text] != "":
		fail("E603", n.at, "%s", refusedTerms[n.text])
	case n.text == "factor":
		w.asFactor(v, n)
	case n.text == "poly":
		w.polynomial(v, n)
	case n.text == "s":
		w.smoothOf(v, n)
	case n.text == "mo":
		w.monotonic(v, n)
	default:
		e := w.function(n)
		w.finite(e, n.at)
		v.pieces = []piece{{name: v.source, expression: e}}
		if n.text == "scale" {
			v.pieces[0].spread = 1
		}
	}
}

const noSum = " relates records to each other, so that the log density is not a sum over records. If the values belong to one person, make the person the record, and write the model as a program."

// refusedTerms explains why certain terms of R or brms are not supported, or says which formula to
// use instead.
var refusedTerms = map[string]string{
	"ar": "ar()" + noSum, "ma": "ma()" + noSum, "arma": "arma()" + noSum, "cosy": "cosy()" + noSum, "unstr": "unstr()" + noSum,
	"sar": "sar()" + noSum, "car": "car()" + noSum, "fcor": "fcor()" + noSum,
	"mi":   "mi() makes each missing value of a record a parameter. Say in the study what a missing value of the column means: missing = \"drop\" or \"impute\".",
	"me":   "me() makes the true value of each record a parameter, and is not supported.",
	"cs":   "cs() can make the probability of a class negative. Write family = \"categorical\" for effects that differ between classes.",
	"gp":   "gp() is not supported: s(x) is a curve of one column.",
	"t2":   "t2() is not supported: s(x) is a curve of one column.",
	"te":   "te() is not supported: s(x) is a curve of one column.",
	"ti":   "ti() is not supported: s(x) is a curve of one column.",
	"mm":   "mm() is not supported: a record belongs to one level of a group.",
	"gr":   "gr() is not supported: write (1 | site), or (x || site) without a correlation.",
	"ns":   "ns() takes its knots from records: s(x) is a curve on the public bounds of the column.",
	"bs":   "bs() takes its knots from records: s(x) is a curve on the public bounds of the column.",
	"nl":   "a formula must be linear in its parameters: write this model as a program.",
	"cut":  "cut() is not supported: declare the classes as levels of a column.",
	"Surv": "write an outcome with censoring as time | cens(censored).",
}

// factor makes v a variable with levels. v.full gets an indicator for each level. v.pieces gets the
// contrasts, which are all indicators but the first.
func (w *writer) factor(v *variable, column int, levels []string) {
	for k, level := range levels {
		is := expression{value: zero, levels: true, binds: atom}
		v.full = append(v.full, piece{name: w.columns[column].Name + "_" + level, expression: is, is: &levelOf{column, k}})
	}
	v.pieces = v.full[1:]
}

// mostLevels is the largest number of levels that factor() makes from the whole numbers between the
// bounds of a column.
const mostLevels = 64

func (w *writer) asFactor(v *variable, n *node) {
	arg := w.only(n)
	if arg.kind != isName {
		fail("E602", arg.at, "factor() takes the name of a column.")
	}
	i := w.column(arg)
	c := &w.columns[i]
	switch {
	case len(c.Levels) > 0:
		w.factor(v, i, c.Levels)
		return
	case !c.Whole || c.High-c.Low >= mostLevels:
		fail("E602", n.at, "factor(%s) needs whole public bounds at most %d apart, whose numbers are its levels. Declare the column with levels.", c.Name, mostLevels)
	}
	for x := c.Low; x <= c.High; x++ {
		is := expression{text: fmt.Sprintf("(%s[n] == %g)", w.vector(i), x), value: zero, levels: true, binds: atom}
		v.full = append(v.full, piece{name: fmt.Sprintf("%s_%g", c.Name, x), expression: is})
	}
	v.pieces = v.full[1:]
}

// legendre has the Legendre polynomials in t of degrees 1 to 5, which are orthogonal on (−1, 1).
var legendre = []string{"t", "(1.5 * t^2 - 0.5)", "(2.5 * t^3 - 1.5 * t)", "(4.375 * t^4 - 3.75 * t^2 + 0.375)", "(7.875 * t^5 - 8.75 * t^3 + 1.875 * t)"}

// polynomial adds polynomials of a column to v as pieces. If the column is uniform around its
// public centre, they are orthogonal and have standard deviation 1.
func (w *writer) polynomial(v *variable, n *node) {
	degree := 1
	switch {
	case len(n.named) > 0:
		fail("E603", n.at, "poly() has no further arguments: its polynomials are orthogonal on public bounds. For powers write x + I(x^2).")
	case len(n.args) == 2 && n.args[1].kind == isNumber && n.args[1].value == math.Trunc(n.args[1].value):
		degree = int(n.args[1].value)
	case len(n.args) != 1:
		fail("E602", n.at, "poly() takes a numeric column and a degree, as in poly(age, 2).")
	}
	if degree < 1 || degree > len(legendre) {
		fail("E602", n.at, "the degree of poly() is 1 to %d.", len(legendre))
	}
	arg := n.args[0]
	if arg.kind != isName {
		fail("E602", arg.at, "poly() takes the name of a numeric column.")
	}
	e := w.columnValue(arg)
	c := &w.columns[e.columns[0]]
	t := w.local(c.Name+"_t", "("+minus(e.text, c.centre())+") / "+real(c.spread()*math.Sqrt(3)))
	for k := range degree {
		text := fmt.Sprintf("sqrt(%d) * %s", 2*k+3, strings.ReplaceAll(legendre[k], "t", t))
		v.pieces = append(v.pieces, piece{
			name: fmt.Sprintf("poly_%s_%d", c.Name, k+1), spread: 1,
			expression: expression{text: text, columns: e.columns, value: zero, levels: true},
		})
	}
}

const defaultKnots, mostKnots = 10, 60

func (w *writer) smoothOf(v *variable, n *node) {
	knots := defaultKnots
	for key, value := range n.named {
		if key != "k" || value.kind != isNumber || value.value != math.Trunc(value.value) || value.value < 3 || value.value > mostKnots {
			fail("E603", value.at, "s() takes a numeric column and the size of its basis, as in s(age, k = 10), of 3 to %d. It has no other arguments.", mostKnots)
		}
		knots = int(value.value)
	}
	if len(n.args) != 1 || n.args[0].kind != isName {
		fail("E603", n.at, "s() is a curve of one numeric column, as in s(age).")
	}
	e := w.columnValue(n.args[0])
	c := &w.columns[e.columns[0]]
	v.smooth = &smooth{e.columns[0], knots}
	v.pieces = []piece{{name: "s_" + c.Name, expression: e}}
}

func (w *writer) monotonic(v *variable, n *node) {
	arg := w.only(n)
	if arg.kind != isName {
		fail("E602", arg.at, "mo() takes the name of a column with levels.")
	}
	i := w.column(arg)
	c := &w.columns[i]
	k := len(c.Levels)
	if k < 3 {
		fail("E602", n.at, "mo() takes a column with at least three levels, in their order.")
	}
	steps, table := w.names.unique("simo_"+c.Name), w.names.unique("mo_"+c.Name)
	w.parameter(Prior{Parameter: steps, Density: fmt.Sprintf("dirichlet(rep_vector(1, %d))", k-1), From: "each step is equally likely to be the largest"},
		fmt.Sprintf("simplex[%d]", k-1), "simo")
	w.varying = true
	w.transformed = append(w.transformed, fmt.Sprintf("vector[%d] %s = %d * append_row(0, cumulative_sum(%s));", k, table, k-1, steps))
	v.pieces = []piece{{
		name: "mo_" + c.Name, spread: float64(k - 1),
		expression: expression{text: fmt.Sprintf("%s[%s[n]]", table, w.level(i)), value: zero, levels: true, binds: atom},
	}}
}

// A namer makes unique names for a program's variables from the names of columns and levels.
type namer map[string]bool

// taken lists words that cannot be names of variables, in addition to those of [syntax.Reserved].
// They are words of C++, and names that the program already uses.
var taken = strings.Fields(`auto bool break case catch char class const default delete do double enum explicit extern float friend goto inline
	long mutable namespace new operator private protected public register short signed sizeof static struct switch template this throw try
	typedef typename union unsigned using var virtual volatile N n j T`)

func newNamer() namer {
	m := namer{}
	for _, word := range taken {
		m[word] = true
	}
	return m
}

// unique makes a name from base that is not used yet, and marks it as used.
func (m namer) unique(base string) string {
	var b strings.Builder
	for _, r := range base {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	stem := strings.Trim(b.String(), "_")
	if stem == "" || unicode.IsDigit(rune(stem[0])) {
		stem = "x" + stem
	}
	out := stem
	for k := 2; m[out] || syntax.Reserved(out); k++ {
		out = fmt.Sprintf("%s_%d", stem, k)
	}
	m[out] = true
	return out
}
