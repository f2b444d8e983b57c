package model

import (
	"fmt"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

// A Quantity is a number, or a container of numbers, that a program computes from parameters after
// the fit. A quantity of records depends on one row as well.
type Quantity struct {
	Name  string
	Dims  []int // sizes of the container; empty for a number
	Value Expr  // elements of the container in row-major order
}

// Quantities holds all quantities that a program computes after the fit. Those in shared depend on
// parameters alone, those in records also on a row.
type Quantities struct {
	shared, records []Quantity
	model           *Model // the program, including the nodes of the quantities
}

// Draw returns a random number with the given law, or a container of random numbers if an argument
// is a container. If record is true, each record has its own.
func (b *Builder) Draw(law ir.Law, record bool, args ...Expr) Expr {
	n := ir.Node{Op: ir.Draw, Cols: int(law), Ref: len(b.program.Nodes)}
	phase := ir.Shared
	if record {
		n.Rows, phase = 1, ir.Record
	}
	for _, a := range args {
		if !b.has(a) {
			return b.fail("%s: an argument is not an expression of this program", n.Op)
		}
		if record {
			a = b.ofRecord(a)
		}
		n.Args = append(n.Args, a.node)
	}
	return b.node(n, phase)
}

// ofRecord lets a record read e: it applies Global if e depends only on parameters.
func (b *Builder) ofRecord(e Expr) Expr {
	if b.phases[e.node] != ir.Shared {
		return e
	}
	return b.node(ir.Node{Op: ir.Global, Args: []int{e.node}}, ir.Record)
}

// Generate verifies the program together with the expressions that were added after
// [Builder.Build], and returns the quantities. Those in shared must depend on parameters alone,
// while those in records may also depend on a row.
func (b *Builder) Generate(likelihood Expr, shared, records []Quantity) (*Quantities, error) {
	q := &Quantities{shared: shared, records: records}
	for k := range records {
		records[k].Value = b.ofRecord(records[k].Value)
	}
	for _, one := range slices.Concat(shared, records) {
		b.program.Generated = append(b.program.Generated, one.Value.node)
	}
	var err error
	q.model, err = b.Build(likelihood)
	return q, err
}

func names(all []Quantity) (names []string) {
	for _, one := range all {
		places := []string{""}
		for _, n := range one.Dims {
			var next []string
			for _, p := range places {
				if p != "" {
					p += ","
				}
				for k := range n {
					next = append(next, fmt.Sprintf("%s%d", p, k+1))
				}
			}
			places = next
		}
		for _, p := range places {
			if p != "" {
				p = "[" + p + "]"
			}
			names = append(names, one.Name+p)
		}
	}
	return names
}

// A Generator computes quantities at given points of the parameter space. It is not safe for
// concurrent use. A nil Generator has no quantities.
type Generator struct {
	of     *Quantities
	shared *Shared
	digest [32]byte
	draw   int // number of the current point, which determines random numbers
}

// Generator returns a generator for these quantities. Its random numbers depend on the study's
// digest, so that they are the same on every machine.
func (q *Quantities) Generator(digest [32]byte) *Generator {
	if q == nil {
		return nil
	}
	return &Generator{of: q, shared: q.model.Shared(), digest: digest}
}

// Names returns the names of all elements of the quantities that depend on parameters alone.
func (g *Generator) Names() []string {
	if g == nil {
		return nil
	}
	return names(g.of.shared)
}

// Random reports for each of [Generator.Names] whether that element depends on a random number.
func (g *Generator) Random() []bool {
	if g == nil {
		return nil
	}
	return g.depend(g.of.shared, func(n *ir.Node) bool { return n.Op == ir.Draw })
}

// depend reports for each element of the quantities whether it depends on a node for which is
// returns true.
func (g *Generator) depend(all []Quantity, is func(n *ir.Node) bool) (depend []bool) {
	v := g.of.model.verified
	dependents := v.Program().Dependents(is)
	for _, one := range all {
		for range v.Shape(one.Value.node).Size() {
			depend = append(depend, dependents[one.Value.node])
		}
	}
	return depend
}

// Shared computes the quantities that depend on parameters alone, at the unconstrained point theta,
// and writes them to dst. The random numbers depend on draw, the number of the point.
func (g *Generator) Shared(dst, theta []float64, draw int) {
	if g == nil {
		return
	}
	if z := g.shared.Normals(); len(z) > 0 {
		dpmech.FillPublicNormal(z, "generated quantities", g.digest, draw)
	}
	g.shared.Set(theta)
	g.draw = draw
	for _, one := range g.of.shared {
		dst = dst[copy(dst, g.shared.Value[one.Value.node]):]
	}
}

// RecordNames returns the names of all elements of a record's quantities.
func (g *Generator) RecordNames() []string {
	if g == nil {
		return nil
	}
	return names(g.of.records)
}

// Reads reports for each element of a record's quantities whether it depends on one of the columns
// k for which columns[k] is true.
func (g *Generator) Reads(columns []bool) []bool {
	return g.depend(g.of.records, func(n *ir.Node) bool { return n.Op == ir.Col && columns[n.Ref] })
}

// Load prepares rows for [Generator.Records] in the same way as [Model.Load].
func (g *Generator) Load(rows int, columns [][]float64) (*RecordGenerator, error) {
	table, err := g.of.model.Load(rows, columns)
	if err != nil {
		return nil, err
	}
	r := &RecordGenerator{Generator: g}
	for _, one := range g.of.records {
		r.size += g.of.model.verified.Shape(one.Value.node).Size()
		r.each = append(r.each, tape.NewRecords(g.shared, table, ir.Block, one.Value.node, false))
	}
	return r, nil
}

// A RecordGenerator computes the quantities of records.
type RecordGenerator struct {
	*Generator
	each []*tape.Records // one evaluator for each quantity
	size int             // number of elements of all quantities
}

// Records computes the quantities of all rows at the θ that was last passed to [Generator.Shared],
// and writes them to dst, row by row. first is the number of the first row among all rows, and must
// be a multiple of [ir.Block]. The random numbers depend on it.
func (r *RecordGenerator) Records(dst []float64, first int) {
	at := 0
	for k, one := range r.of.records {
		r.each[k].All(dst, at, r.size, func(from int) {
			if z := r.each[k].Normals(); len(z) > 0 {
				block := (first + from) / ir.Block
				dpmech.FillPublicNormal(z, "generated quantities of records", r.digest, r.draw<<32|block)
			}
		})
		at += r.of.model.verified.Shape(one.Value.node).Size()
	}
}
