package model

import (
	"fmt"
	"slices"

	"fedpvi/dpmech"
	"fedpvi/pvi/model/ir"
)

// A Quantity is a number, or a container of numbers, that a program generates from parameters and,
// if it is a quantity of records, from one row.
type Quantity struct {
	Name  string
	Dims  []int // sizes of the container; empty for a number
	Value Expr  // elements of the container; the last index varies fastest
}

// Quantities are the quantities that a program generates.
type Quantities struct {
	shared, records []Quantity
	model           *Model // the program extended by the nodes of the quantities
}

// Draw returns a random number, or a container of them, with the given law. If record is true, every
// record has numbers of its own.
func (b *Builder) Draw(law ir.Law, record bool, args ...Expr) Expr {
	n := ir.Node{Op: ir.Draw, Cols: int(law), Ref: len(b.program.Nodes)}
	phase := ir.Shared
	if record {
		n.Rows, phase = 1, ir.Record
	}
	for _, a := range args {
		if !b.has(a) {
			return b.fail("%s: an argument is no expression of this program", n.Op)
		}
		if record {
			a = b.ofRecord(a)
		}
		n.Args = append(n.Args, a.node)
	}
	return b.node(n, phase)
}

// ofRecord makes a shared value available to every record. It returns other values unchanged.
func (b *Builder) ofRecord(e Expr) Expr {
	if b.phases[e.node] != ir.Shared {
		return e
	}
	return b.node(ir.Node{Op: ir.Global, Args: []int{e.node}}, ir.Record)
}

// Generate verifies the program with all expressions that were added after [Builder.Build], and
// returns the quantities that it generates: those of parameters alone, and those of records.
func (b *Builder) Generate(likelihood Expr, shared, records []Quantity) (*Quantities, error) {
	q := &Quantities{shared: shared, records: records}
	for k := range records {
		records[k].Value = b.ofRecord(records[k].Value)
	}
	for _, all := range [][]Quantity{shared, records} {
		for _, one := range all {
			b.program.Generated = append(b.program.Generated, one.Value.node)
		}
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

// A Generator computes quantities at points of the parameter space. It is not safe for concurrent
// use. The generator nil has no quantities.
type Generator struct {
	of     *Quantities
	shared *Shared
	digest [32]byte
}

// Generator returns a generator whose random numbers are computed from the digest of the study, so
// that every machine draws the same.
func (q *Quantities) Generator(digest [32]byte) *Generator {
	if q == nil {
		return nil
	}
	return &Generator{q, q.model.Shared(), digest}
}

// Names returns the names of all elements of the quantities of parameters alone.
func (g *Generator) Names() []string {
	if g == nil {
		return nil
	}
	return names(g.of.shared)
}

// Random reports, for each of these elements, whether it depends on a random number.
func (g *Generator) Random() (random []bool) {
	if g == nil {
		return nil
	}
	v := g.of.model.verified
	draws := make([]bool, len(v.Program().Nodes))
	for i, n := range v.Program().Nodes {
		draws[i] = n.Op == ir.Draw || slices.ContainsFunc(n.Args, func(a int) bool { return draws[a] })
	}
	for _, one := range g.of.shared {
		for range v.Shape(one.Value.node).Size() {
			random = append(random, draws[one.Value.node])
		}
	}
	return random
}

// Shared writes all elements of the quantities of parameters alone to dst, at the unconstrained point
// theta. The argument draw is the number of the point. It selects the random numbers.
func (g *Generator) Shared(dst, theta []float64, draw int) {
	if g == nil {
		return
	}
	if z := g.shared.Normals(); len(z) > 0 {
		dpmech.FillPublicNormal(z, "generated quantities", g.digest, draw)
	}
	g.shared.Set(theta)
	for _, one := range g.of.shared {
		dst = dst[copy(dst, g.shared.Value[one.Value.node]):]
	}
}
