package formula

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedpvi/pvi/program/syntax"
)

// additions holds the terms that follow a bar on the left side of a formula, such as trials(n) in y
// | trials(n) ~ x.
type additions struct {
	weight    string // text of the record's weight, or ""
	censored  string // text of the censoring code: 1 if the outcome is above a bound, −1 if it is below one, 2 if it is between two bounds, and otherwise 0
	low, high float64
	upper     string  // text of the upper end of the outcome's interval
	truncated string  // text of the truncation, such as T[0, ]
	positive  bool    // whether the outcome is a count that cannot be 0
	rate      []*node // logarithm of the exposure, which is an offset
	rateText  string  // text of the record's exposure
}

// term returns a statement that adds a record's log density, given as log, times the record's
// weight.
func (a *additions) term(log string) string {
	if a.weight == "" {
		return "target += " + log + ";"
	}
	return "target += " + a.weight + " * (" + log + ");"
}

// unknownAdditions explains why certain additions of brms are not supported, or says which formula
// to use instead.
var unknownAdditions = map[string]string{
	"mi": refusedTerms["mi"], "thres": "the cut points follow from the levels of the outcome's column.", "cat": "the classes are the levels of the outcome's column.",
	"dec": "dec() is not supported.", "subset": "leave records out by the column's outside = \"drop\".", "index": "index() is not supported.",
	"vreal": "vreal() is not supported.", "vint": "vint() is not supported.",
}

func (w *writer) additions(all []*node, at syntax.Span) additions {
	var a additions
	if slices.Contains(w.family.further, "sigma") {
		w.noise = "sigma"
	}
	seen := map[string]bool{}
	for _, n := range all {
		if n.kind != isCall {
			fail("E602", n.at, "an addition to the outcome is trials(n), weights(w), cens(c), trunc(lb, ub), rate(e) or se(s).")
		}
		if seen[n.text] {
			fail("E602", n.at, "%s() is written twice.", n.text)
		}
		seen[n.text] = true
		w.addition(&a, n)
	}
	if w.family.trials && w.trials == "" {
		fail("E602", at, "the family %s needs the number of trials: hits | trials(n) ~ …", w.family.name)
	}
	if a.truncated != "" && (a.weight != "" || a.censored != "") {
		fail("E603", at, "trunc() together with weights() or cens() is not supported.")
	}
	return a
}

func (w *writer) addition(a *additions, n *node) {
	switch n.text {
	case "trials":
		w.addTrials(n)
	case "weights":
		e := w.numberOf(n)
		if low, _ := w.ends(e); low < 0 {
			fail("E604", n.at, "a weight is at least 0, and this one can be %s.", short(low, 6))
		}
		a.weight = e.factor()
	case "rate":
		w.addRate(a, n)
	case "cens":
		w.addCensoring(a, n)
	case "trunc":
		w.addTruncation(a, n)
	case "se":
		e := w.numberOf(n)
		if low, _ := w.ends(e); !(low > 0) {
			fail("E604", n.at, "a standard error is above 0, and this one can be %s. Raise the lower bound of the column.", short(low, 6))
		}
		if w.family.name != "gaussian" && w.family.name != "student" {
			fail("E603", n.at, "se() is for the families gaussian and student.")
		}
		w.noise = e.factor()
	default:
		if why := unknownAdditions[n.text]; why != "" {
			fail("E603", n.at, "%s", why)
		}
		fail("E602", n.at, "%s() is not an addition to the outcome: the additions are trials(n), weights(w), cens(c), trunc(lb, ub), rate(e) and se(s).", n.text)
	}
}

func (w *writer) numberOf(n *node) expression {
	e := w.expression(w.only(n))
	w.finite(e, n.at)
	return e
}

// ends estimates the range of an expression. It tries all combinations of bounds for the first 8
// columns, and the lower bounds for other columns. For an expression with level indicators, the
// range is 0 to 1.
func (w *writer) ends(e expression) (low, high float64) {
	if e.levels {
		return 0, 1
	}
	low, high = math.Inf(1), math.Inf(-1)
	row := make([]float64, len(w.columns))
	columns := slices.Compact(slices.Sorted(slices.Values(e.columns)))
	for corner := range 1 << min(len(columns), 8) {
		for k, i := range columns {
			row[i] = w.columns[i].Low
			if k < 8 && corner>>k&1 == 1 {
				row[i] = w.columns[i].High
			}
		}
		x := e.value(row)
		low, high = min(low, x), max(high, x)
	}
	return low, high
}

func (w *writer) addTrials(n *node) {
	if !w.family.trials {
		fail("E602", n.at, "trials() is for the families binomial, beta_binomial and zero_inflated_binomial.")
	}
	arg := w.only(n)
	switch {
	case arg.kind == isNumber && arg.value == math.Trunc(arg.value) && arg.value >= 1:
		w.trials = arg.text
	case arg.kind == isName:
		i := w.column(arg)
		if c := &w.columns[i]; !c.Whole || c.Low < 0 || len(c.Levels) > 0 {
			fail("E604", arg.at, "the number of trials must be a numeric column whose bounds are whole numbers and not negative.")
		}
		w.trials = w.count(i) + "[n]"
	default:
		fail("E602", arg.at, "the number of trials must be a column or a whole number.")
	}
}

func (w *writer) addRate(a *additions, n *node) {
	if w.family.name != "poisson" && w.family.name != "negbinomial" {
		fail("E603", n.at, "rate() is for the families poisson and negbinomial. With a log link, write offset(log(e)).")
	}
	e := w.numberOf(n)
	if low, _ := w.ends(e); !(low > 0) {
		fail("E604", n.at, "an exposure is above 0, and this one can be %s. Raise the lower bound of the column.", short(low, 6))
	}
	a.rateText = e.factor()
	a.rate = []*node{{kind: isCall, text: "log", args: n.args, at: n.at}}
}

// censoring lists the levels that a column of censoring codes may have. A record's code is a sum
// with one term for each level, which is the text code followed by the indicator of the level.
var censoring = []struct {
	level string
	code  string
}{{"right", ""}, {"left", "-"}, {"interval", "2 * "}}

func (w *writer) addCensoring(a *additions, n *node) {
	if !w.family.cens {
		fail("E603", n.at, "the family %s has no distribution function here: cens() is for gaussian, lognormal, weibull, exponential and piecewise_exponential.", w.family.name)
	}
	if len(n.args) < 1 || len(n.args) > 2 || len(n.named) > 0 {
		fail("E602", n.at, "cens() takes the column that says whether the outcome is censored and, for intervals, the column of their upper ends.")
	}
	e := w.codes(n.args[0])
	a.low, a.high = w.ends(e)
	if w.isLevels(n.args[0]) {
		for _, l := range w.columns[w.column(n.args[0])].Levels {
			switch l {
			case "left":
				a.low = -1
			case "interval":
				a.high = 2
			}
		}
	}
	if a.low < -1 || a.high > 2 {
		fail("E604", n.args[0].at, "the codes of censoring are 0 for none, 1 for right, -1 for left and 2 for interval, and this one lies in %s..%s.", short(a.low, 6), short(a.high, 6))
	}
	a.censored = w.local("censored", e.text)
	switch {
	case w.family.name == "piecewise_exponential" && (a.low < 0 || a.high > 1):
		fail("E603", n.at, "the family piecewise_exponential supports only censoring on the right: 0 for none and 1 for right.")
	case a.high > 1 && len(n.args) < 2:
		fail("E602", n.at, "an outcome that lies in an interval needs the column of its upper end: cens(c, upper).")
	case a.high > 1:
		a.upper = w.numberOf(&node{kind: isCall, text: "cens", args: n.args[1:], at: n.args[1].at}).text
	}
}

// isLevels reports whether a node is the name of a column with levels.
func (w *writer) isLevels(n *node) bool {
	return n.kind == isName && len(w.columns[w.column(n)].Levels) > 0
}

// codes returns an expression for the censoring code of a record. n is either a column with levels
// such as "right", or an expression for the code itself.
func (w *writer) codes(n *node) expression {
	if !w.isLevels(n) {
		return w.expression(n)
	}
	i := w.column(n)
	e := expression{value: zero, levels: true}
	known := []string{"none"}
	for _, c := range censoring {
		known = append(known, c.level)
		k := slices.Index(w.columns[i].Levels, c.level)
		switch {
		case k < 0:
		case e.text == "":
			e.text = c.code + w.indicator(i, k)
		default:
			e.text += map[string]string{"-": " - ", "2 * ": " + 2 * "}[c.code] + w.indicator(i, k)
		}
	}
	for _, l := range w.columns[i].Levels {
		if !slices.Contains(known, l) {
			fail("E604", n.at, "the levels of a column of censoring are %s. %s has other levels: name the one at which the outcome is censored, as in cens(%s == %q).", strings.Join(known, ", "), w.columns[i].Name, w.columns[i].Name, w.columns[i].Levels[0])
		}
	}
	return e
}

func (w *writer) addTruncation(a *additions, n *node) {
	bounds := map[string]*node{}
	for k, arg := range n.args {
		if k > 1 {
			fail("E602", arg.at, "trunc() takes a lower and an upper bound: trunc(lb = 0, ub = 10).")
		}
		bounds[[]string{"lb", "ub"}[k]] = arg
	}
	for key, arg := range n.named {
		if key != "lb" && key != "ub" {
			fail("E602", arg.at, "trunc() takes a lower and an upper bound: trunc(lb = 0, ub = 10).")
		}
		bounds[key] = arg
	}
	if lb := bounds["lb"]; (w.family.name == "poisson" || w.family.name == "negbinomial") && lb != nil && bounds["ub"] == nil && lb.kind == isNumber && lb.value == 1 {
		a.positive = true
		return
	}
	if !w.family.cens || w.family.name == "piecewise_exponential" {
		fail("E603", n.at, "trunc() is for gaussian, lognormal, weibull and exponential and, as trunc(lb = 1), for poisson and negbinomial.")
	}
	texts := map[string]string{}
	for key, arg := range bounds {
		e := w.expression(arg)
		w.finite(e, arg.at)
		texts[key] = e.text
	}
	if len(texts) == 0 {
		fail("E602", n.at, "trunc() needs a lower or an upper bound: trunc(lb = 0, ub = 10).")
	}
	a.truncated = fmt.Sprintf(" T[%s, %s]", texts["lb"], texts["ub"])
}
