package model

import (
	"errors"
	"slices"

	"fedpvi/pvi/model/ir"
)

// ErrCircle is the error of [Builder.Build] for priors that depend on each other in a circle.
var ErrCircle = errors.New("the priors of some parameters depend on each other in a circle")

// Declare declares a parameter whose prior must be set later, by [Builder.Prior].
func (b *Builder) Declare(q ir.Parameter) Expr {
	b.program.Parameters = append(b.program.Parameters, q)
	b.later = true
	return b.node(ir.Node{Op: ir.Param, Ref: len(b.program.Parameters) - 1}, ir.Shared)
}

// Prior sets the prior of a parameter from [Builder.Declare]. It may depend on parameters that are
// declared later.
func (b *Builder) Prior(parameter Expr, prior Distribution) {
	b.program.Priors = append(b.program.Priors, ir.Prior{Parameter: b.program.Nodes[parameter.node].Ref, Density: prior.Density, Args: indices(prior.Args)})
}

// Factor adds e to the log density of the prior. e must be a single number that depends only on
// parameters.
func (b *Builder) Factor(e Expr) { b.program.Factors = append(b.program.Factors, e.node) }

// Phase returns the phase of an expression.
func (b *Builder) Phase(e Expr) ir.Phase { return b.phases[e.node] }

// Err returns the builder's first error, or nil.
func (b *Builder) Err() error { return b.err }

// arrange orders the parameters so that each prior depends only on earlier ones. Apart from that it
// keeps the order of declaration. If no such order exists, it sets b.err to ErrCircle.
func (b *Builder) arrange() {
	p := &b.program
	needs := make([][]int, len(p.Parameters))
	for _, prior := range p.Priors {
		needs[prior.Parameter] = parametersOf(p, prior.Args...)
	}
	placed := make([]bool, len(p.Parameters))
	var order []int
	for len(order) < len(placed) {
		before := len(order)
		for q := range placed {
			if !placed[q] && !slices.ContainsFunc(needs[q], func(other int) bool { return !placed[other] }) {
				placed[q], order = true, append(order, q)
			}
		}
		if len(order) == before {
			b.err = ErrCircle
			return
		}
	}
	b.permute(order)
}

// parametersOf returns the parameters that the given nodes depend on.
func parametersOf(p *ir.Program, nodes ...int) (found []int) {
	for i, needed := range p.Needed(nodes...) {
		if n := &p.Nodes[i]; needed && n.Op == ir.Param {
			found = append(found, n.Ref)
		}
	}
	return found
}

// permute moves parameter order[k] to position k.
func (b *Builder) permute(order []int) {
	p := &b.program
	at, parameters := make([]int, len(order)), make([]ir.Parameter, len(order))
	for k, q := range order {
		at[q], parameters[k] = k, p.Parameters[q]
	}
	p.Parameters = parameters
	for i, n := range p.Nodes {
		if n.Op == ir.Param {
			p.Nodes[i].Ref = at[n.Ref]
		}
	}
	for i, prior := range p.Priors {
		p.Priors[i].Parameter = at[prior.Parameter]
	}
	slices.SortFunc(p.Priors, func(x, y ir.Prior) int { return x.Parameter - y.Parameter })
}

// Len returns the current number of nodes in the program.
func (b *Builder) Len() int { return len(b.program.Nodes) }
