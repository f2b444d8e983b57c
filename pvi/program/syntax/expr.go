package syntax

import (
	"strconv"
	"strings"
)

// binding has the precedence of each binary operator. Larger numbers bind more tightly.
var binding = map[string]int{
	"||": 2, "&&": 3, "==": 4, "!=": 4, "<": 5, "<=": 5, ">": 5, ">=": 5, "+": 6, "-": 6,
	"*": 7, "/": 7, "%": 7, "%/%": 7, ".*": 7, "./": 7, "^": 9, ".^": 9,
}

const (
	aboveComparison = 5 // for an expr inside bounds, which must end before the sign >
	unaryBinding    = 8
	powerBinding    = 9
)

// expr parses an expression. It stops before an operator whose precedence is above or lower.
func (p *parser) expr(above int) *Expr {
	defer func() { p.depth-- }()
	if !p.deeper() {
		return &Expr{Kind: Number, At: p.token().at}
	}
	left := p.unary()
	for {
		t := *p.token()
		if t.kind != sign {
			return left
		}
		if t.text == "?" && above == 0 {
			p.next()
			yes := p.expr(0)
			p.need(":")
			left = p.join(Choice, "", left, yes, p.expr(0))
			continue
		}
		b, ok := binding[t.text]
		if !ok || b <= above {
			return left
		}
		p.next()
		if b == powerBinding { // Powers associate to the right, and exponents may have a sign.
			left = p.join(Binary, t.text, left, p.expr(unaryBinding-1))
		} else {
			left = p.join(Binary, t.text, left, p.expr(b))
		}
	}
}

// join returns an expression that extends from its first argument to just before the current token.
func (p *parser) join(kind ExprKind, text string, args ...*Expr) *Expr {
	return &Expr{Kind: kind, Text: text, Args: args, At: Span{args[0].At.From, p.last()}}
}

func (p *parser) unary() *Expr {
	t := *p.token()
	if t.kind == sign && (t.text == "-" || t.text == "+" || t.text == "!") {
		p.next()
		arg := p.expr(unaryBinding)
		return &Expr{Kind: Unary, Text: t.text, Args: []*Expr{arg}, At: Span{t.at.From, arg.At.To}}
	}
	return p.postfix()
}

func (p *parser) postfix() *Expr {
	e := p.primary()
	for {
		switch {
		case p.take("'"):
			e = p.join(Transpose, "", e)
		case p.take("["):
			args := []*Expr{e}
			if p.is("]") {
				p.unexpected("a subscript")
			}
			for p.kind() != end && !p.is("]") {
				args = append(args, p.subscript())
				if !p.is("]") {
					p.need(",")
				}
			}
			p.need("]")
			e = p.join(Index, "", args...)
		default:
			return e
		}
	}
}

func (p *parser) subscript() *Expr {
	at := p.token().at
	var low, high *Expr
	if p.is(",") || p.is("]") {
		return &Expr{Kind: Range, At: at, Args: []*Expr{nil, nil}}
	}
	if !p.is(":") {
		low = p.expr(0)
	}
	if !p.take(":") {
		return low
	}
	if !p.is(",") && !p.is("]") {
		high = p.expr(0)
	}
	return &Expr{Kind: Range, At: Span{at.From, p.last()}, Args: []*Expr{low, high}}
}

// list parses expressions that are separated by commas, up to the token until. A bar counts as a
// comma. It separates the variate of a density from the arguments.
func (p *parser) list(until string) []*Expr {
	var all []*Expr
	for p.kind() != end && !p.is(until) {
		all = append(all, p.expr(0))
		if !p.is(until) && !p.take("|") {
			p.need(",")
		}
	}
	p.need(until)
	return all
}

func (p *parser) primary() *Expr {
	t := p.next()
	at := t.at
	switch {
	case t.kind == number:
		value, err := strconv.ParseFloat(strings.ReplaceAll(t.text, "_", ""), 64)
		if err != nil {
			p.fail("E400", at, "%s is too large.", t.text)
		}
		return &Expr{Kind: Number, Value: value, Whole: !strings.ContainsAny(t.text, ".eE"), At: at}
	case t.text == "(":
		e := *p.expr(0)
		p.need(")")
		e.At = Span{at.From, p.last()}
		return &e
	case t.text == "[" || t.text == "{":
		args := p.list(map[string]string{"[": "]", "{": "}"}[t.text])
		return &Expr{Kind: List, Text: t.text, Args: args, At: Span{at.From, p.last()}}
	case t.kind == word && p.take("("):
		args := p.list(")")
		return &Expr{Kind: Apply, Text: t.text, Args: args, At: Span{at.From, p.last()}}
	case t.kind == word:
		return &Expr{Kind: Name, Text: t.text, At: at}
	}
	p.fail("E400", at, "an expression is expected here, not %q.", t.text)
	return &Expr{Kind: Number, At: at}
}
