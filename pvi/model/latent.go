package model

import (
	"slices"

	"fedpvi/pvi/model/ir"
)

// Latent declares a latent, an unobserved number that each record has. The log density of a record
// must not depend on it, so it has to be integrated out by [Builder.Integrate].
func (b *Builder) Latent(name string) Expr {
	b.latents = append(b.latents, name)
	return b.node(ir.Node{Op: ir.Invalid, Ref: len(b.latents) - 1}, ir.Record)
}

// Hidden reports whether an expression depends on a latent.
func (b *Builder) Hidden(e Expr) bool { return b.hidden[e.node] }

// Detach returns an expression with the same value as e, but without derivatives.
func (b *Builder) Detach(e Expr) Expr {
	return b.node(ir.Node{Op: ir.Detach, Args: []int{b.ofRecord(e).node}}, ir.Record)
}

// Replace returns the expression e, with the latent replaced by number.
func (b *Builder) Replace(e, latent, number Expr) Expr {
	return b.replacing(e, []Expr{latent})([]Expr{number})
}

// replacing returns a function that replaces the latents in the expression e by given values.
func (b *Builder) replacing(e Expr, latents []Expr) func(values []Expr) Expr {
	path := b.path(e, latents)
	return func(values []Expr) Expr {
		at := map[int]int{}
		for k, l := range latents {
			at[l.node] = b.ofRecord(values[k]).node
		}
		for _, i := range path {
			n := b.program.Nodes[i]
			n.Args = slices.Clone(n.Args)
			for k, a := range n.Args {
				if other, ok := at[a]; ok {
					n.Args[k] = other
				}
			}
			at[i] = b.node(n, b.phases[i]).node
		}
		if other, ok := at[e.node]; ok {
			return Expr{other}
		}
		return e
	}
}

// path returns the nodes of e that have to be computed again if the latents change. These are the
// nodes that depend on a latent, in increasing order and without the latents themselves.
func (b *Builder) path(e Expr, latents []Expr) (path []int) {
	on := make([]bool, len(b.program.Nodes)) // whether each node depends on one of the latents
	for i, needed := range b.program.Needed(e.node) {
		if !needed || !b.hidden[i] {
			continue
		}
		if slices.Contains(latents, Expr{i}) {
			on[i] = true
			continue
		}
		if on[i] = slices.ContainsFunc(b.program.Nodes[i].Args, func(a int) bool { return on[a] }); on[i] {
			path = append(path, i)
		}
	}
	return path
}

// visible returns the program, with the constant 0 in place of nodes that depend on a latent. If
// such a node is one of the program's results, it sets the builder's error.
func (b *Builder) visible() ir.Program {
	p := b.program
	if len(b.latents) == 0 {
		return p
	}
	if slices.ContainsFunc(append(p.Results(), p.Generated...), func(i int) bool { return b.hidden[i] }) {
		b.fail("it depends on a latent that is not integrated")
	}
	p.Nodes = slices.Clone(p.Nodes)
	for i := range p.Nodes {
		if b.hidden[i] {
			p.Nodes[i] = ir.Node{Op: ir.Const, Rows: 1, Cols: 1, Values: []float64{0}}
		}
	}
	return p
}

// DependsOn reports whether e depends on a latent.
func (b *Builder) DependsOn(e, latent Expr) bool {
	return e == latent || len(b.path(e, []Expr{latent})) > 0
}

// Text returns an expression as readable text. A latent appears by its name.
func (b *Builder) Text(e Expr) string {
	return (&words{p: &b.program, latents: b.latents, texts: b.texts}).text(e.node)
}

// Describe sets the text that [Model.Describe] uses for e.
func (b *Builder) Describe(e Expr, text string) {
	if b.texts == nil {
		b.texts = map[int]string{}
	}
	b.texts[e.node] = text
}
