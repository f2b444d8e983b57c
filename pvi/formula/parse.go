package formula

import "fedpvi/pvi/program/syntax"

// A node is an expression in the syntax tree of a formula.
type node struct {
	kind  nodeKind
	text  string // the name, the quoted text, the operator, or the function's name
	value float64
	args  []*node
	named map[string]*node // named arguments of a function
	at    syntax.Span
}

type nodeKind byte

const (
	isName nodeKind = iota + 1
	isNumber
	isText
	isCall
	isOperator // operator with one or two arguments
)

// binding has the precedence of each operator, as in R.
var binding = map[string]int{
	"|": 1, "||": 1, "==": 2, "!=": 2, "<": 2, "<=": 2, ">": 2, ">=": 2, "+": 3, "-": 3, "*": 4, "/": 4, ":": 5, "^": 7,
}

const (
	signBinding  = 6
	powerBinding = 7
)

// A side is the formula of the outcome, or of another parameter of the family.
type side struct {
	left, right *node
}

type parser struct {
	tokens []token
	at     int
	depth  int
}

// parse reads formulas that are separated by commas.
func parse(source string) []side {
	if len(source) > maxText {
		fail("E606", syntax.Span{}, "the formula is longer than %d bytes.", maxText)
	}
	p := &parser{tokens: scan(source)}
	var all []side
	for {
		left := p.expr(0)
		if !p.is("~") {
			p.unexpected(`"~" between the outcome and the terms, as in visits ~ age + sex,`)
		}
		p.at++
		all = append(all, side{left, p.expr(0)})
		if p.token().kind == end {
			return all
		}
		if !p.is(",") {
			p.unexpected("an operator, or the end of the formula,")
		}
		p.at++
	}
}

func (p *parser) token() *token { return &p.tokens[p.at] }

func (p *parser) is(text string) bool { return p.token().kind == sign && p.token().text == text }

func (p *parser) unexpected(wanted string) {
	fail("E600", p.token().at, "%s is expected here, not %q.", wanted, p.token().text)
}

func (p *parser) need(text string) syntax.Span {
	if !p.is(text) {
		p.unexpected(`"` + text + `"`)
	}
	p.at++
	return p.tokens[p.at-1].at
}

// expr parses an expression. It stops before an operator whose precedence is at most above.
func (p *parser) expr(above int) *node {
	if p.depth++; p.depth > maxNesting {
		fail("E606", p.token().at, "the formula is nested more than %d levels deep.", maxNesting)
	}
	defer func() { p.depth-- }()
	left := p.signed()
	for {
		t := *p.token()
		b, ok := binding[t.text]
		if t.kind != sign || !ok || b <= above {
			return left
		}
		p.at++
		if b == powerBinding {
			b-- // powers associate to the right
		}
		right := p.expr(b)
		left = &node{kind: isOperator, text: t.text, args: []*node{left, right}, at: syntax.Span{From: left.at.From, To: right.at.To}}
	}
}

func (p *parser) signed() *node {
	if t := *p.token(); p.is("-") || p.is("+") {
		p.at++
		arg := p.expr(signBinding)
		return &node{kind: isOperator, text: t.text, args: []*node{arg}, at: syntax.Span{From: t.at.From, To: arg.at.To}}
	}
	return p.primary()
}

func (p *parser) primary() *node {
	t := *p.token()
	p.at++
	switch {
	case t.kind == number:
		return &node{kind: isNumber, text: t.text, value: t.value, at: t.at}
	case t.kind == text:
		return &node{kind: isText, text: t.text, at: t.at}
	case t.kind == name && p.is("("):
		return p.call(t)
	case t.kind == name:
		return &node{kind: isName, text: t.text, at: t.at}
	case t.kind == sign && t.text == "(":
		inner := *p.expr(0)
		inner.at = syntax.Span{From: t.at.From, To: p.need(")").To}
		return &inner
	}
	p.at--
	p.unexpected("a column or a term")
	return nil
}

func (p *parser) call(t token) *node {
	p.need("(")
	n := &node{kind: isCall, text: t.text, named: map[string]*node{}}
	for !p.is(")") {
		if key := *p.token(); key.kind == name && p.tokens[p.at+1].text == "=" && p.tokens[p.at+1].kind == sign {
			p.at += 2
			n.named[key.text] = p.expr(0)
		} else {
			n.args = append(n.args, p.expr(0))
		}
		if !p.is(")") {
			p.need(",")
		}
	}
	n.at = syntax.Span{From: t.at.From, To: p.need(")").To}
	return n
}
