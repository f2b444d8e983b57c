package model

import (
	"fmt"
	"io"
	"strings"

	"fedpvi/pvi/model/ir"
)

// Listing writes the operations of the program to w, one per line: the number of the node, its
// phase, its shape, and the operation with its arguments. After them come the priors and factors.
func (m *Model) Listing(w io.Writer) error {
	p := m.verified.Program()
	var b strings.Builder
	for i := range p.Nodes {
		s := m.verified.Shape(i)
		mark := ""
		if i == p.Likelihood {
			mark = "  log density of a record"
		}
		fmt.Fprintf(&b, "%5d  %-8s %4d×%-4d %s%s\n", i, phases[m.verified.Phase(i)], s.Rows, s.Cols, listed(p, i), mark)
	}
	for _, q := range p.Priors {
		fmt.Fprintf(&b, "prior  %s ~ %s(%s)\n", p.Parameters[q.Parameter].Name, q.Density, numbers(q.Args))
	}
	for _, i := range p.Factors {
		fmt.Fprintf(&b, "factor %%%d\n", i)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var phases = [...]string{ir.Fixed: "constant", ir.Data: "row", ir.Shared: "step", ir.Record: "record"}

func listed(p *ir.Program, i int) string {
	n := &p.Nodes[i]
	switch n.Op {
	case ir.Const:
		return (&words{p: p}).text(i)
	case ir.Col:
		return "column " + p.Columns[n.Ref].Name
	case ir.Param:
		return "parameter " + p.Parameters[n.Ref].Name
	case ir.Element, ir.Slice:
		return fmt.Sprintf("%s(%s) from %d", n.Op, numbers(n.Args), n.Ref+1)
	case ir.DensityOp:
		return fmt.Sprintf("log %s(%s)", ir.Density(n.Ref), numbers(n.Args))
	}
	return fmt.Sprintf("%s(%s)", n.Op, numbers(n.Args))
}

func numbers(args []int) string {
	text := make([]string, len(args))
	for k, a := range args {
		text[k] = fmt.Sprintf("%%%d", a)
	}
	return strings.Join(text, ", ")
}
