package tape

import (
	"slices"

	"fedpvi/pvi/model/ir"
)

// planSweep plans the backward pass so that few adjoints have to be copied. If a node is used only
// once, as an argument of a sum, its adjoint uses the same slice as that of the sum. If the target
// is a density, the adjoints of arguments that no other node uses share the slices of the density's
// derivatives.
func (r *Records) planSweep() {
	uses := r.uses()
	shared := make([]bool, len(r.nodes)) // whether the adjoint of each node uses another node's slice
	for k := len(r.order) - 1; k >= 0; k-- {
		i := r.order[k]
		if !r.active[i] {
			continue
		}
		n := &r.nodes[i]
		whole := true // whether all active arguments share slices of node i
		for j, a := range n.Args {
			if !r.active[a] {
				continue
			}
			b := r.lend(i, j)
			if b == nil || uses[a] != 1 {
				whole = false
				continue
			}
			r.Adjoint[a], shared[a] = b, true
		}
		switch n.Op {
		case ir.Gather, ir.GatherRow, ir.Linear:
		case ir.Add, ir.DensityOp:
			r.settle(i, whole, shared)
		default:
			r.sweeps = append(r.sweeps, i)
		}
	}
	slices.Reverse(r.sweeps)
	for i, b := range r.Adjoint {
		if b != nil && !shared[i] && i != r.target {
			r.clears = append(r.clears, b)
		}
	}
}

func (r *Records) lend(i, j int) []float64 {
	n := &r.nodes[i]
	switch {
	case n.Op == ir.Add && r.size[n.Args[j]] == r.size[i]:
		return r.Adjoint[i]
	case n.Op == ir.DensityOp && i == r.target && len(r.partial[i][j]) == r.size[n.Args[j]]*r.lanes:
		return r.partial[i][j]
	}
	return nil
}

// settle adds node i to the backward pass, and marks the arguments that share its slices and thus
// need no work. If whole is true, it does nothing, because these are all of the arguments.
func (r *Records) settle(i int, whole bool, shared []bool) {
	if whole {
		return
	}
	r.sweeps = append(r.sweeps, i)
	r.settled[i] = make([]bool, len(r.nodes[i].Args))
	for j, a := range r.nodes[i].Args {
		r.settled[i][j] = shared[a]
	}
}

func (r *Records) uses() []int {
	uses := make([]int, len(r.nodes))
	for _, i := range r.order {
		for _, a := range r.nodes[i].Args {
			uses[a]++
		}
	}
	return uses
}
