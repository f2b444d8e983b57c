package tape

import (
	"slices"

	"fedpvi/pvi/model/ir"
)

// Shared computes the values that are the same for all records. Constants are computed only once.
// At each point of the parameter space it computes the constrained parameters, the nodes that
// depend on them, and the log prior. Shared is not safe for concurrent use.
type Shared struct {
	*Machine
	values, adjoints [][]float64 // constrained values of each parameter, and their adjoints
	theta            []float64
	offset           []int
	logJacobian      float64
}

// NewShared returns an evaluator in which only constants have values until Set is called.
func NewShared(v *ir.Verified) *Shared {
	p := v.Program()
	shared := func(i int) bool { return v.Phase(i) == ir.Shared }
	held := func(i int) bool { return shared(i) || v.Phase(i) == ir.Fixed }
	computed := func(i int) bool { return shared(i) && p.Nodes[i].Op != ir.Param }
	s := &Shared{Machine: newMachine(v, 1, held, computed, shared)}
	for i := range p.Nodes {
		if v.Phase(i) == ir.Fixed && p.Nodes[i].Op != ir.Const {
			s.forward(i, 1)
		}
	}
	total := 0
	for _, q := range p.Parameters {
		s.offset = append(s.offset, total)
		total += q.Free()
		s.values = append(s.values, make([]float64, q.Size()))
		s.adjoints = append(s.adjoints, make([]float64, q.Size()))
	}
	s.theta = make([]float64, total)
	return s
}

// Dim returns the dimension of the unconstrained space.
func (s *Shared) Dim() int { return len(s.theta) }

// Offset returns the index in θ of the first unconstrained coordinate of parameter i.
func (s *Shared) Offset(i int) int { return s.offset[i] }

// Free returns the number of unconstrained coordinates of parameter i.
func (s *Shared) Free(i int) int { return s.v.Program().Parameters[i].Free() }

// Constrained returns the values of parameter i on its own scale, at the point that was last passed
// to Set. The slice is not a copy.
func (s *Shared) Constrained(i int) []float64 { return s.values[i] }

// Set computes all values that depend on parameters at the unconstrained point theta.
func (s *Shared) Set(theta []float64) {
	copy(s.theta, theta)
	s.logJacobian = 0
	for i, q := range s.v.Program().Parameters {
		s.logJacobian += constrain(q.Constraint, s.values[i], s.free(s.theta, i))
	}
	for i, n := range s.nodes {
		if n.Op == ir.Param {
			copy(s.Value[i], s.values[n.Ref])
		}
	}
	for _, i := range s.order {
		s.forward(i, 1)
	}
}

func (s *Shared) free(theta []float64, i int) []float64 {
	o := s.offset[i]
	return theta[o : o+s.v.Program().Parameters[i].Free()]
}

// Pull adds a gradient with respect to θ to grad: that of Σ_i seed(i)·x_i, where x_i is the value
// of node i, over all nodes for which seed(i) is not nil.
func (s *Shared) Pull(grad []float64, seed func(i int) []float64) {
	s.clear()
	for i := range s.nodes {
		if g := seed(i); g != nil {
			copy(s.Adjoint[i], g)
		}
	}
	s.sweep(s.order)
	s.pullAll(grad, 0)
}

// Path holds the nodes and parameters that a node of phase Shared depends on.
type Path struct {
	node   int
	order  []int // indices of the nodes to compute, in increasing order
	params []int // indices of the parameter nodes
	// Parameters holds the indices of the parameters, in increasing order.
	Parameters []int
}

// Path returns the nodes and parameters that a node of phase Shared depends on.
func (s *Shared) Path(node int) *Path {
	needed := s.v.Program().Needed(node)
	p := &Path{node: node}
	for _, i := range s.order {
		if needed[i] {
			p.order = append(p.order, i)
		}
	}
	for i := range needed {
		if needed[i] && s.nodes[i].Op == ir.Param {
			p.params = append(p.params, i)
			if q := s.nodes[i].Ref; !slices.Contains(p.Parameters, q) {
				p.Parameters = append(p.Parameters, q)
			}
		}
	}
	slices.Sort(p.Parameters)
	return p
}

// Slope adds the gradient of an element of the path's node, with respect to θ, to grad. If element
// is negative, it is the gradient of the sum of all elements. Slope changes only those elements of
// grad that belong to p.Parameters.
func (s *Shared) Slope(p *Path, element int, grad []float64) {
	clear(s.Adjoint[p.node])
	for _, i := range p.order {
		clear(s.Adjoint[i])
	}
	for _, i := range p.params {
		clear(s.Adjoint[i])
	}
	for _, q := range p.Parameters {
		clear(s.adjoints[q])
	}
	seed := s.Adjoint[p.node]
	for e := range seed {
		if element < 0 || e == element {
			seed[e] = 1
		}
	}
	s.sweep(p.order)
	for _, i := range p.params {
		add(s.adjoints[s.nodes[i].Ref], s.Adjoint[i])
	}
	for _, q := range p.Parameters {
		pull(s.v.Program().Parameters[q].Constraint, s.free(grad, q), s.adjoints[q], s.values[q], s.free(s.theta, q), 0)
	}
}

func (s *Shared) clear() {
	for i := range s.Adjoint {
		clear(s.Adjoint[i])
	}
	for i := range s.adjoints {
		clear(s.adjoints[i])
	}
}

func (s *Shared) sweep(order []int) {
	for k := len(order) - 1; k >= 0; k-- {
		s.backward(order[k], 1)
	}
}

// pullAll computes the gradient with respect to θ from the adjoints of the parameter nodes, adds
// jacobian times the gradient of the log Jacobians, and adds the result to grad.
func (s *Shared) pullAll(grad []float64, jacobian float64) {
	for i, n := range s.nodes {
		if n.Op == ir.Param {
			add(s.adjoints[n.Ref], s.Adjoint[i])
		}
	}
	for i, q := range s.v.Program().Parameters {
		pull(q.Constraint, s.free(grad, i), s.adjoints[i], s.values[i], s.free(s.theta, i), jacobian)
	}
}
