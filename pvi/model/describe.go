package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedpvi/pvi/model/ir"
)

// Description is a readable description of a model, as lines of text.
type Description struct {
	Name string
	// Parameters are lines such as "beta[age], beta[sex] ~ normal(0, 2.5)".
	Parameters []string
	// Record is the formula for the log density of a record.
	Record string
	// Columns describes the columns that the model uses, with their public bounds.
	Columns []string
	// Prediction describes how the outcome is predicted. It is empty if the model does not predict an
	// outcome.
	Prediction string
}

// String returns the description as text.
func (d Description) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nparameters\n", d.Name)
	for _, p := range d.Parameters {
		fmt.Fprintf(&b, "  %s\n", p)
	}
	fmt.Fprintf(&b, "\none record adds to the log density\n  %s\n\nread of a row\n", d.Record)
	for _, c := range d.Columns {
		fmt.Fprintf(&b, "  %s\n", c)
	}
	if d.Prediction != "" {
		fmt.Fprintf(&b, "\npredicted\n  %s\n", d.Prediction)
	}
	return b.String()
}

// Describe returns a readable description of the model.
func (m *Model) Describe() Description {
	p := m.verified.Program()
	w := words{p: p, texts: m.texts}
	d := Description{Name: p.Name, Record: w.text(p.Likelihood)}
	for _, prior := range p.Priors {
		d.Parameters = append(d.Parameters, w.parameter(prior))
	}
	for _, c := range p.Columns {
		d.Columns = append(d.Columns, column(&c))
	}
	if q := p.Prediction; q.Kind != ir.NoPrediction {
		what := [...]string{ir.Probability: "the probability of 1", ir.Mean: "the mean", ir.Probabilities: "the probability of each class"}
		d.Prediction = fmt.Sprintf("%s of %s: %s", what[q.Kind], p.Columns[q.Outcome].Name, w.text(q.Node))
	}
	return d
}

func column(c *ir.Column) string {
	kind := "a number"
	if c.Integer {
		kind = "a whole number"
	}
	switch n := c.Entries.Len(); n {
	case 0:
	case 1:
		kind += " (" + c.Entries.At(0) + ")"
	default:
		kind = fmt.Sprintf("%d numbers (%s), each", n, strings.Join(slices.Collect(c.Entries.All()), ", "))
	}
	switch low, high := math.IsInf(c.Lower, -1), math.IsInf(c.Upper, 1); {
	case low && high:
		return fmt.Sprintf("%s: %s without public bounds", c.Name, kind)
	case low:
		return fmt.Sprintf("%s: %s of at most %s", c.Name, kind, number(c.Upper))
	case high:
		return fmt.Sprintf("%s: %s of at least %s", c.Name, kind, number(c.Lower))
	}
	return fmt.Sprintf("%s: %s in [%s, %s]", c.Name, kind, number(c.Lower), number(c.Upper))
}

// words writes expressions as text. It stops after mostWords bytes, and omits expressions that are
// nested deeper than mostDepth.
type words struct {
	p       *ir.Program
	latents []string       // names of latents
	texts   map[int]string // text of each node that was given one by [Builder.Describe]
	written int
	depth   int // how many operations the current one is nested in
}

const (
	mostWords = 4000
	mostDepth = 500
)

func (w *words) text(i int) string {
	w.written = 0
	return w.expr(i)
}

func (w *words) parameter(prior ir.Prior) string {
	q := &w.p.Parameters[prior.Parameter]
	name := q.Name
	switch {
	case q.Cols > 1:
		name = fmt.Sprintf("%s, a matrix of %d×%d", q.Name, q.Rows, q.Cols)
	case q.Size() > 1:
		name = fmt.Sprintf("%s, a vector of %d", q.Name, q.Size())
	}
	args := make([]string, len(prior.Args))
	for k, a := range prior.Args {
		args[k] = w.text(a)
	}
	return fmt.Sprintf("%s ~ %s(%s)%s", name, prior.Density, strings.Join(args, ", "), constraint(q.Constraint))
}

func constraint(c ir.Constraint) string {
	switch c.Kind {
	case ir.Lower:
		return ", above " + number(c.Lower)
	case ir.Upper:
		return ", below " + number(c.Upper)
	case ir.Both:
		return ", between " + number(c.Lower) + " and " + number(c.Upper)
	case ir.Simplex:
		return ", positive with sum 1"
	case ir.Ordered:
		return ", increasing"
	}
	return ""
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

func (w *words) expr(i int) string {
	if w.written > mostWords || w.depth > mostDepth {
		return "…"
	}
	w.depth++
	s := w.node(i)
	w.depth--
	w.written += len(s)
	return s
}

func (w *words) node(i int) string {
	n := &w.p.Nodes[i]
	if text, ok := w.texts[i]; ok {
		return text
	}
	switch n.Op {
	case ir.Invalid:
		return w.latents[n.Ref]
	case ir.Const:
		if len(n.Values) == 1 {
			return number(n.Values[0])
		}
		return w.table(n)
	case ir.Col:
		return w.p.Columns[n.Ref].Name
	case ir.Param:
		return w.p.Parameters[n.Ref].Name
	case ir.Global:
		return w.expr(n.Args[0])
	case ir.Element:
		return w.element(n)
	case ir.Slice:
		return fmt.Sprintf("%s[%d..%d]", w.expr(n.Args[0]), n.Ref+1, n.Ref+n.Rows*n.Cols)
	case ir.Gather, ir.GatherRow:
		return fmt.Sprintf("%s[%s]", w.expr(n.Args[0]), w.expr(n.Args[1]))
	case ir.Linear:
		return fmt.Sprintf("%s·%s", w.expr(n.Args[0]), w.expr(n.Args[1]))
	case ir.MatVec:
		return fmt.Sprintf("%s %s", w.expr(n.Args[0]), w.expr(n.Args[1]))
	case ir.Neg:
		return "-" + w.expr(n.Args[0])
	case ir.Add, ir.Sub, ir.Mul, ir.Div:
		sign := map[ir.Op]string{ir.Add: " + ", ir.Sub: " - ", ir.Mul: "·", ir.Div: "/"}[n.Op]
		return w.operand(n, 0) + sign + w.operand(n, 1)
	case ir.DensityOp:
		args := w.list(n.Args[1:])
		return fmt.Sprintf("log %s(%s | %s)", ir.Density(n.Ref), w.expr(n.Args[0]), args)
	}
	return fmt.Sprintf("%s(%s)", n.Op, w.list(n.Args))
}

// operand returns the text of argument k of node n, in parentheses if necessary.
func (w *words) operand(n *ir.Node, k int) string {
	s := w.expr(n.Args[k])
	inner := w.p.Nodes[n.Args[k]].Op
	if inner == ir.Global {
		inner = w.p.Nodes[w.p.Nodes[n.Args[k]].Args[0]].Op
	}
	sum := inner == ir.Add || inner == ir.Sub
	if sum && n.Op != ir.Add && (k > 0 || n.Op != ir.Sub) || inner == ir.Mul && n.Op == ir.Div && k > 0 {
		return "(" + s + ")"
	}
	return s
}

func (w *words) list(args []int) string {
	parts := make([]string, len(args))
	for k, a := range args {
		parts[k] = w.expr(a)
	}
	return strings.Join(parts, ", ")
}

// element returns the text of a node that selects one element. It contains the name of the element
// or, if it has none, its number, counted from 1.
func (w *words) element(n *ir.Node) string {
	var entries ir.Names
	switch a := &w.p.Nodes[n.Args[0]]; a.Op {
	case ir.Col:
		entries = w.p.Columns[a.Ref].Entries
	case ir.Param:
		entries = w.p.Parameters[a.Ref].Entries
	}
	if n.Ref < entries.Len() {
		return fmt.Sprintf("%s[%s]", w.expr(n.Args[0]), entries.At(n.Ref))
	}
	return fmt.Sprintf("%s[%d]", w.expr(n.Args[0]), n.Ref+1)
}

// table returns the text of a constant vector or matrix, with at most six numbers.
func (w *words) table(n *ir.Node) string {
	const most = 6
	parts := make([]string, 0, most+1)
	for k, x := range n.Values {
		if k == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, number(x))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
