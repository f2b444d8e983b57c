package syntax

import (
	"fmt"
	"slices"
	"strings"
)

// Parse parses a program. If it returns an error, the error is of type *[Errors].
func Parse(text string) (*Program, error) {
	if len(text) > MaxText {
		return nil, &Errors{text[:0], []Message{{"E411", Span{}, fmt.Sprintf("the program is longer than %d bytes.", MaxText)}}}
	}
	tokens, m := scan(text)
	if m != nil {
		return nil, &Errors{text, []Message{*m}}
	}
	p := &parser{tokens: tokens, program: &Program{Text: text}}
	p.blocks()
	if p.mistake != nil {
		return nil, &Errors{text, []Message{*p.mistake}}
	}
	return p.program, nil
}

// ParseCall parses a density with its arguments, such as "normal(0, 10)".
func ParseCall(text string) (*Expr, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("%q… is too long", text[:20])
	}
	tokens, m := scan(text)
	if m == nil {
		p := &parser{tokens: tokens}
		e := p.expr(0)
		if p.kind() != end {
			p.unexpected("the end of the text")
		}
		if m = p.mistake; m == nil && e.Kind == Apply {
			return e, nil
		}
	}
	return nil, fmt.Errorf(`%q is not a density with its arguments, such as "normal(0, 10)"`, text)
}

// A parser turns tokens into a syntax tree. It keeps only the first error. After an error it sees
// nothing but the token that ends the text, so that all loops end.
type parser struct {
	tokens     []token
	at         int
	depth      int
	inFunction bool
	program    *Program
	mistake    *Message
}

func (p *parser) token() *token { return &p.tokens[p.at] }
func (p *parser) kind() kind    { return p.token().kind }

// last returns the position where the previous token ends.
func (p *parser) last() int { return p.tokens[max(0, p.at-1)].at.To }

func (p *parser) fail(code string, at Span, format string, args ...any) {
	if p.mistake == nil {
		p.mistake = &Message{code, at, fmt.Sprintf(format, args...)}
	}
	p.at = len(p.tokens) - 1
}

func (p *parser) unexpected(wanted string) {
	p.fail("E400", p.token().at, "%s is expected here, not %q.", wanted, p.token().text)
}

func (p *parser) next() token {
	t := *p.token()
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) is(text string) bool { return p.kind() != end && p.token().text == text }

func (p *parser) follows(text string) bool {
	return p.at+1 < len(p.tokens) && p.tokens[p.at+1].text == text
}

func (p *parser) take(text string) bool {
	if !p.is(text) {
		return false
	}
	p.next()
	return true
}

func (p *parser) need(text string) {
	if !p.take(text) {
		p.unexpected(fmt.Sprintf("%q", text))
	}
}

func (p *parser) name() string {
	if p.kind() != word {
		p.unexpected("a name")
		return ""
	}
	return p.next().text
}

func (p *parser) newName() string {
	t := p.token()
	name := p.name()
	if Reserved(name) {
		p.fail("E400", t.at, "%s is a word of the language and cannot be a name: choose another name, such as %s_1.", name, strings.TrimRight(name, "_"))
	}
	return name
}

// deeper increases the nesting depth. It returns false if the depth is too large. The caller must
// decrease the depth after the nested part.
func (p *parser) deeper() bool {
	if p.depth++; p.depth > maxNesting {
		p.fail("E411", p.token().at, "expressions and statements are nested more than %d levels deep.", maxNesting)
		return false
	}
	return true
}

func (p *parser) blocks() {
	into := map[string]*[]*Statement{
		"data": &p.program.Data, "transformed data": &p.program.TransformedData, "parameters": &p.program.Parameters,
		"transformed parameters": &p.program.TransformedParameters, "model": &p.program.Model, "generated quantities": &p.program.Generated,
	}
	seen := map[string]bool{}
	for p.kind() != end {
		from := p.token().at
		name := p.name()
		if name == "transformed" || name == "generated" {
			name += " " + p.name()
		}
		from.To = p.last()
		if p.mistake != nil {
			return
		}
		block, ok := into[name]
		switch {
		case name == "functions":
			p.functions()
			continue
		case !ok:
			p.fail("E400", from, "%s is not a block of a program: the blocks are data, transformed data, parameters, transformed parameters, model and generated quantities.", name)
		case seen[name]:
			p.fail("E400", from, "the block %s is written twice.", name)
		}
		seen[name] = true
		body := p.body()
		if p.mistake == nil {
			*block = body
		}
	}
}

func (p *parser) functions() {
	p.need("{")
	p.inFunction = true
	for p.kind() != end && !p.is("}") {
		if f := p.function(); f.Body != nil {
			p.program.Functions = append(p.program.Functions, f)
		}
	}
	p.inFunction = false
	p.need("}")
}

// function parses a function. It ignores the types in the signature, because the arguments of a
// call already have types. If the function is declared without a definition, Body is nil.
func (p *parser) function() *Function {
	p.unsized()
	f := &Function{At: p.token().at, Name: p.newName()}
	p.need("(")
	for p.kind() != end && !p.is(")") {
		p.take("data")
		p.unsized()
		f.Parameters = append(f.Parameters, p.newName())
		if !p.is(")") {
			p.need(",")
		}
	}
	p.need(")")
	if !p.take(";") { // declared before it is defined
		f.Body = p.body()
	}
	return f
}

// unsized parses a type without sizes, such as array[,] real, and ignores it.
func (p *parser) unsized() {
	if p.take("array") {
		p.commas()
	}
	if t := p.token(); !slices.Contains(types, p.name()) {
		p.fail("E400", t.at, "%q is not a type of a function.", t.text)
	}
	if p.is("[") { // older syntax for arrays
		p.commas()
	}
}

func (p *parser) commas() {
	p.need("[")
	for p.take(",") {
	}
	p.need("]")
}

func (p *parser) body() []*Statement {
	var all []*Statement
	p.need("{")
	for p.kind() != end && !p.is("}") {
		if s := p.statement(); s != nil {
			all = append(all, s)
		}
	}
	p.need("}")
	return all
}

func (p *parser) statement() *Statement {
	defer func() { p.depth-- }()
	if !p.deeper() {
		return nil
	}
	from := p.token().at.From
	s := p.anyStatement()
	if s != nil {
		s.At = Span{from, p.last()}
	}
	return s
}

// refused explains why certain statements of Stan are missing from the language. The keys are the
// first words of the statements.
var refused = map[string]string{
	"while":    "while is not in the language: the cost of a record must be known before it is computed. Write a loop with constant bounds.",
	"break":    "break is not in the language: a loop runs for all values of its variable.",
	"continue": "continue is not in the language: a loop runs for all values of its variable.",
	"profile":  "profile is not in the language: leave it out.",
}

func (p *parser) anyStatement() *Statement {
	t := p.token()
	switch {
	case p.take(";"):
		return nil
	case p.is("{"):
		return &Statement{Kind: Block, Body: p.body()}
	case t.text == "for":
		return p.loop()
	case t.text == "if":
		return p.branch()
	case t.text == "target" && p.follows("+="):
		p.next()
		p.next()
		s := &Statement{Kind: Add, Value: p.expr(0)}
		p.need(";")
		return s
	case t.text == "return":
		return p.result()
	case refused[t.text] != "":
		p.fail("E401", t.at, "%s", refused[t.text])
		return nil
	case slices.Contains(types, t.text):
		return p.declaration()
	case t.kind == word && (t.text == "print" || t.text == "reject") && p.follows("("):
		return p.silent()
	}
	return p.simple()
}

func (p *parser) result() *Statement {
	t := p.next()
	if !p.inFunction {
		p.fail("E400", t.at, "there is no function from which to return.")
	}
	s := &Statement{Kind: Return, Value: p.expr(0)}
	p.need(";")
	return s
}

// silent parses a call to print or reject, which has no effect in a record program.
func (p *parser) silent() *Statement {
	for p.kind() != end && !p.is(";") {
		p.next()
	}
	p.need(";")
	return &Statement{Kind: Call}
}

func (p *parser) one() []*Statement {
	if p.is("{") {
		return p.body()
	}
	if s := p.statement(); s != nil {
		return []*Statement{s}
	}
	return nil
}

func (p *parser) loop() *Statement {
	p.next()
	p.need("(")
	s := &Statement{Kind: For, Name: p.newName()}
	p.need("in")
	s.Low = p.expr(0)
	if !p.is(":") {
		p.fail("E401", s.Low.At, "a loop over the elements of an array is not in the language: write for (i in 1:n) with a subscript.")
	}
	p.need(":")
	s.High = p.expr(0)
	p.need(")")
	s.Body = p.one()
	return s
}

func (p *parser) branch() *Statement {
	p.next()
	p.need("(")
	s := &Statement{Kind: If, Value: p.expr(0)}
	p.need(")")
	s.Body = p.one()
	if p.take("else") {
		s.Else = p.one()
	}
	return s
}

// simple parses an assignment, or a statement such as y ~ normal(mu, sigma).
func (p *parser) simple() *Statement {
	s := &Statement{Target: p.expr(0)}
	t := p.next()
	switch t.text {
	case "~":
		p.tilde(s)
	case "=", "<-":
		s.Kind, s.Value = Assign, p.expr(0)
	case "+=", "-=", "*=", "/=", ".*=", "./=":
		s.Kind, s.Name, s.Value = Assign, strings.TrimSuffix(t.text, "="), p.expr(0)
	default:
		p.fail("E400", t.at, "an operator such as = or ~ is expected here, not %q.", t.text)
		return nil
	}
	p.need(";")
	return s
}

func (p *parser) tilde(s *Statement) {
	s.Kind, s.Name = Tilde, p.name()
	p.need("(")
	s.Args = p.list(")")
	if !p.is("T") {
		return
	}
	from := p.next().at.From
	p.need("[")
	if !p.is(",") && !p.is("]") {
		s.Low = p.expr(0)
	}
	if p.take(",") && !p.is("]") {
		s.High = p.expr(0)
	}
	p.need("]")
	s.Truncated = &Span{from, p.last()}
}

var types = []string{
	"int", "real", "vector", "row_vector", "matrix", "array", "simplex", "ordered", "positive_ordered", "unit_vector",
	"sum_to_zero_vector", "cholesky_factor_corr", "cholesky_factor_cov", "corr_matrix", "cov_matrix", "complex", "tuple",
}

func (p *parser) declaration() *Statement {
	s := &Statement{Kind: Declare, Type: p.typ(), Name: p.newName()}
	if p.take("[") { // older syntax for arrays
		s.Type.Array = append(s.Type.Array, p.list("]")...)
	}
	if p.take("=") || p.take("<-") {
		s.Value = p.expr(0)
	}
	p.need(";")
	return s
}

func (p *parser) typ() *Type {
	t := &Type{At: p.token().at, Bounds: map[string]*Expr{}}
	if p.take("array") {
		p.need("[")
		t.Array = p.list("]")
	}
	t.Base = p.name()
	if !slices.Contains(types, t.Base) || t.Base == "array" {
		p.fail("E400", t.At, "%q is not a type.", t.Base)
	}
	if p.take("<") {
		for p.kind() != end && !p.take(">") {
			key := p.name()
			p.need("=")
			t.Bounds[key] = p.expr(aboveComparison)
			if !p.is(">") {
				p.need(",")
			}
		}
	}
	if t.Base != "int" && t.Base != "real" && p.take("[") {
		t.Sizes = p.list("]")
	}
	t.At.To = p.last()
	return t
}
