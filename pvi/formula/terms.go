package formula

import (
	"fmt"
	"slices"
	"strings"

	"fedpvi/pvi/program/syntax"
)

// A term is a product of variables, which are given by their indices. The empty term is the
// intercept.
type term []int

// key identifies the term. It does not depend on the order of the variables, so a:b and b:a have
// the same key.
func (t term) key() string { return fmt.Sprint(slices.Sorted(slices.Values(t))) }

// with returns the product of two terms. Variables that both have occur only once in it.
func (t term) with(u term) term {
	out := slices.Clone(t)
	for _, v := range u {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// A group is a group term such as (1 + x | site). The coefficients before the bar differ between
// the levels after the bar.
type group struct {
	effects    *node
	by         []*node // columns whose combined levels form the groups
	correlated bool
	at         syntax.Span
}

// A sum is the right side of a formula.
type sum struct {
	intercept bool
	terms     []term
	groups    []group
	offsets   []*node
}

func (s *sum) add(t term) {
	switch {
	case len(t) == 0:
		s.intercept = true
	case !s.has(t):
		s.terms = append(s.terms, t)
	}
}

func (s *sum) has(t term) bool {
	if len(t) == 0 {
		return s.intercept
	}
	return slices.ContainsFunc(s.terms, func(u term) bool { return u.key() == t.key() })
}

func (s *sum) remove(t term) {
	if len(t) == 0 {
		s.intercept = false
	}
	s.terms = slices.DeleteFunc(s.terms, func(u term) bool { return u.key() == t.key() })
}

// sumOf turns n, the right side of a formula, into a list of terms. It multiplies out products and
// powers. As in R, terms with fewer variables come first.
func (w *writer) sumOf(n *node) *sum {
	s := &sum{intercept: true}
	w.collect(s, n)
	slices.SortStableFunc(s.terms, func(t, u term) int { return len(t) - len(u) })
	return s
}

func (w *writer) collect(s *sum, n *node) {
	switch {
	case n.kind == isOperator && n.text == "+":
		for _, a := range n.args {
			w.collect(s, a)
		}
	case n.kind == isOperator && n.text == "-":
		if len(n.args) == 2 {
			w.collect(s, n.args[0])
		}
		for _, t := range w.expand(n.args[len(n.args)-1]) {
			s.remove(t)
		}
	case n.kind == isNumber && n.value == 0:
		s.intercept = false
	case n.kind == isOperator && (n.text == "|" || n.text == "||"):
		w.addGroups(s, n)
	case n.kind == isCall && n.text == "offset":
		s.offsets = append(s.offsets, w.only(n))
	default:
		for _, t := range w.expand(n) {
			s.add(t)
		}
	}
}

// only returns the only argument of a function call n.
func (w *writer) only(n *node) *node {
	if len(n.args) != 1 || len(n.named) > 0 {
		fail("E602", n.at, "%s() takes one argument.", n.text)
	}
	return n.args[0]
}

// expand multiplies out an expression, such as a * b into a, b and a:b.
func (w *writer) expand(n *node) []term {
	switch {
	case n.kind == isNumber && n.value == 1:
		return []term{{}}
	case n.kind == isNumber:
		fail("E602", n.at, "a number is not a term: 1 is the intercept, and 0 leaves it out.")
	case n.kind != isOperator:
		return []term{{w.variable(n)}}
	case len(n.args) == 1:
		fail("E602", n.at, "a term has no sign: write a - b to leave out b.")
	}
	switch n.text {
	case "+":
		return w.union(n.at, w.expand(n.args[0]), w.expand(n.args[1]))
	case ":":
		return w.products(n.at, w.expand(n.args[0]), w.expand(n.args[1]))
	case "*":
		a, b := w.expand(n.args[0]), w.expand(n.args[1])
		return w.union(n.at, a, b, w.products(n.at, a, b))
	case "/":
		a, b := w.expand(n.args[0]), w.expand(n.args[1])
		var all term
		for _, t := range a {
			all = all.with(t)
		}
		return w.union(n.at, a, w.products(n.at, []term{all}, b))
	case "^":
		return w.power(n)
	case "-":
		fail("E602", n.at, "\"-\" removes a term from the whole right side, and cannot be used inside brackets.")
	case "|", "||":
		fail("E602", n.at, "a group term stands by itself, in brackets, as in y ~ x + (1 | site).")
	}
	fail("E602", n.at, "%q is not an operator between terms. For a comparison of values write I(a %s b).", n.text, n.text)
	return nil
}

func (w *writer) power(n *node) []term {
	most := n.args[1].value
	if n.args[1].kind != isNumber || most != float64(int(most)) || most < 1 || most > 8 {
		fail("E602", n.args[1].at, "terms are crossed up to a whole degree of 1 to 8, as in (a + b + c)^2. For the square of a value write I(x^2).")
	}
	base := w.expand(n.args[0])
	all := base
	for range int(most) - 1 {
		all = w.union(n.at, all, w.products(n.at, all, base))
	}
	return all
}

// union returns the terms of all lists, without duplicates.
func (w *writer) union(at syntax.Span, lists ...[]term) []term {
	seen := map[string]bool{}
	var all []term
	for _, t := range slices.Concat(lists...) {
		if !seen[t.key()] {
			seen[t.key()] = true
			all = append(all, t)
		}
	}
	if len(all) > maxTerms {
		fail("E606", at, "the formula has more than %d terms.", maxTerms)
	}
	return all
}

func (w *writer) products(at syntax.Span, a, b []term) []term {
	if len(a)*len(b) > maxTerms {
		fail("E606", at, "the formula has more than %d terms.", maxTerms)
	}
	var all []term
	for _, t := range a {
		for _, u := range b {
			all = append(all, t.with(u))
		}
	}
	return w.union(at, all)
}

// addGroups adds a group term to s. If groups are nested, as in a/b, it adds one for the levels of
// a and one for the combinations of levels of a and b.
func (w *writer) addGroups(s *sum, n *node) {
	by := n.args[1]
	if by.kind == isOperator && (by.text == "|" || by.text == "||") || n.args[0].kind == isOperator && strings.HasPrefix(n.args[0].text, "|") {
		fail("E603", n.at, "effects of different terms that are correlated by (x | ID | g) are not supported: write one term (x | g).")
	}
	for _, columns := range w.nested(by) {
		s.groups = append(s.groups, group{n.args[0], columns, n.text == "|", n.at})
	}
}

// nested returns the groups on the right side of a group term, such as a and a:b for a/b. Each
// group is a list of columns whose levels are combined.
func (w *writer) nested(by *node) [][]*node {
	switch {
	case by.kind == isName:
		return [][]*node{{by}}
	case by.kind == isOperator && by.text == ":":
		a, b := w.nested(by.args[0]), w.nested(by.args[1])
		if len(a) == 1 && len(b) == 1 {
			return [][]*node{append(slices.Clone(a[0]), b[0]...)}
		}
	case by.kind == isOperator && by.text == "/":
		outer, inner := w.nested(by.args[0]), w.nested(by.args[1])
		all := outer
		for _, columns := range inner {
			all = append(all, append(slices.Clone(outer[len(outer)-1]), columns...))
		}
		return all
	}
	fail("E602", by.at, "a group is a column with levels, such as site, or columns such as region/site or site:year.")
	return nil
}
