package ir

// This file contains the rules that a program must satisfy before it may run:
//
//   - Every node uses only earlier nodes, has the arguments that its operation needs, and stays
//     within the limits.
//   - Every index into a table of parameters is a value of the row whose public bounds lie inside
//     the table.
//   - The log density of a record is a scalar that is computed for each record.
//   - The priors are proper.
//
// No record can affect the value of another, because only Col reads data, and it has no argument
// that could select another row.
//
// The rules about phases are in this file, those about shapes, limits and declarations in
// verify_parts.go, and those about densities and priors in verify_density.go and verify_priors.go.

import "fmt"

// Verified is a program that [Verify] has accepted. It must not be changed.
type Verified struct {
	program  Program
	phases   []Phase
	shapes   []Shape
	positive []bool     // whether each node is known to be positive
	ranges   []Interval // interval that contains the values of each node; unbounded if the node depends on parameters
	// generated marks the nodes that may be used only for generated quantities; see [Draw].
	generated []bool
	latest    []int // largest index of a parameter that each node depends on, or −1
}

// Program returns the program. It must not be changed.
func (v *Verified) Program() *Program { return &v.program }

// Phase returns the phase of node i.
func (v *Verified) Phase(i int) Phase { return v.phases[i] }

// Shape returns the shape of node i.
func (v *Verified) Shape(i int) Shape { return v.shapes[i] }

// Differentiated reports for each node whether derivatives of the target with respect to parameters
// pass through it. They pass through the target itself. They also pass through each node that
// depends on a row and on parameters and that the target uses, unless it does so only through a
// [Detach].
func (v *Verified) Differentiated(target int) []bool {
	nodes, reads, passes := v.program.Nodes, make([]bool, len(v.phases)), make([]bool, len(v.phases))
	for i, n := range nodes[:target] {
		if v.phases[i] != Record || n.Op == Detach {
			continue
		}
		for _, a := range n.Args {
			reads[i] = reads[i] || reads[a] || v.phases[a] == Shared
		}
	}
	passes[target] = v.phases[target] == Record
	for i := target; i >= 0; i-- {
		if !passes[i] || nodes[i].Op == Detach {
			continue
		}
		for _, a := range nodes[i].Args {
			passes[a] = passes[a] || reads[a]
		}
	}
	return passes
}

// Verify checks a program and returns a verified copy. It never panics.
func Verify(p Program) (*Verified, error) {
	v := &Verified{program: p.clone()}
	for _, check := range []func() error{v.declarations, v.nodes, v.likelihood, v.priors, v.prediction, v.checkGenerated} {
		if err := check(); err != nil {
			return nil, fmt.Errorf("program %q: %w", clip(p.Name), err)
		}
	}
	return v, nil
}

func (v *Verified) nodes() error {
	p := &v.program
	if len(p.Nodes) > MaxNodes {
		return fmt.Errorf("%d operations, at most %d are allowed", len(p.Nodes), MaxNodes)
	}
	var use usage
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Op == Invalid || n.Op >= ops {
			return fmt.Errorf("node %d: there is no operation %d", i, n.Op)
		}
		for _, a := range n.Args {
			if a < 0 || a >= i {
				return fmt.Errorf("node %d (%s) uses node %d, which is not before it", i, n.Op, a)
			}
		}
		if want := opTable[n.Op].args; want >= 0 && len(n.Args) != want || want < 0 && len(n.Args) == 0 {
			return fmt.Errorf("node %d (%s) has %d arguments", i, n.Op, len(n.Args))
		}
		t, err := v.node(n)
		if err != nil {
			return fmt.Errorf("node %d (%s): %w", i, n.Op, err)
		}
		latest := -1
		if n.Op == Param {
			latest = n.Ref
		}
		for _, a := range n.Args {
			latest = max(latest, v.latest[a])
		}
		v.phases, v.shapes = append(v.phases, t.phase), append(v.shapes, t.shape)
		v.positive, v.latest = append(v.positive, t.positive), append(v.latest, latest)
		v.ranges, v.generated = append(v.ranges, v.interval(n, t.phase)), append(v.generated, v.generates(n))
		if v.generated[i] && len(p.Generated) == 0 {
			return fmt.Errorf("node %d (%s): only generated quantities may draw numbers, compare values that depend on parameters, or select by a value that depends on parameters", i, n.Op)
		}
		if err := use.add(v, n, t); err != nil {
			return fmt.Errorf("node %d (%s): %w", i, n.Op, err)
		}
	}
	return nil
}

type typed struct {
	phase    Phase
	shape    Shape
	positive bool
}

func (v *Verified) node(n *Node) (typed, error) {
	switch opTable[n.Op].form {
	case leaf:
		return v.leaf(n)
	case bridge:
		return v.bridge(n)
	case density:
		return v.density(n)
	case random:
		return v.draw(n)
	case detached:
		return v.detach(n)
	}
	phase, err := v.phase(n.Args)
	if err != nil {
		return typed{}, err
	}
	t := typed{phase: phase, shape: v.shapes[n.Args[0]]}
	switch opTable[n.Op].form {
	case mapOne:
		t.positive = positiveUnary(n.Op, v.positive[n.Args[0]])
	case mapTwo:
		a, b := n.Args[0], n.Args[1]
		t.shape, err = broadcast(v.shapes[a], v.shapes[b])
		t.positive = positiveBinary(n.Op, v.positive[a], v.positive[b])
	case choose:
		t.shape, t.positive, err = v.choice(n)
	case reduce:
		t.shape, t.positive = Shape{1, 1}, n.Op == Sum && v.positive[n.Args[0]]
	case rescale:
		t.positive = n.Op == Softmax
		if !t.shape.vector() {
			err = fmt.Errorf("the argument is not a vector")
		}
	case shape:
		t.shape, t.positive, err = v.reshape(n)
	}
	return t, err
}

func (v *Verified) leaf(n *Node) (typed, error) {
	p := &v.program
	switch n.Op {
	case Const:
		return constant(n)
	case Col:
		if n.Ref < 0 || n.Ref >= len(p.Columns) {
			return typed{}, fmt.Errorf("there is no column %d", n.Ref)
		}
		c := &p.Columns[n.Ref]
		return typed{Data, Shape{c.Width(), 1}, c.Lower > 0}, nil
	default: // the operation must be Param
		if n.Ref < 0 || n.Ref >= len(p.Parameters) {
			return typed{}, fmt.Errorf("there is no parameter %d", n.Ref)
		}
		q := &p.Parameters[n.Ref]
		return typed{Shared, Shape{q.Rows, q.Cols}, q.Constraint.positive()}, nil
	}
}

func (v *Verified) bridge(n *Node) (typed, error) {
	t := n.Args[0]
	if n.Op == Linear {
		t = n.Args[1]
	}
	size, phase := v.shapes[t], v.phases[t]
	if phase != Shared && !(phase == Fixed && n.Op != Global) {
		return typed{}, fmt.Errorf("its table is %s value, not a shared one", phase)
	}
	out := map[Phase]Phase{Shared: Record, Fixed: Data}[phase]
	positive := v.positive[t]
	switch n.Op {
	case Global:
		return typed{out, size, positive}, nil
	case Gather:
		if !size.vector() {
			return typed{}, fmt.Errorf("the table is not a vector")
		}
		return typed{out, Shape{1, 1}, positive}, v.index(n.Args[1], size.Rows)
	case GatherRow:
		return typed{out, Shape{size.Cols, 1}, positive}, v.index(n.Args[1], size.Rows)
	case Linear:
		if x := n.Args[0]; v.phases[x] != Data || !v.shapes[x].vector() || v.shapes[x] != size {
			return typed{}, fmt.Errorf("it needs a vector of the row and a table of the same length")
		}
		return typed{out, Shape{1, 1}, false}, nil
	default: // the operation must be MatVec
		x := n.Args[1]
		phase, ok := Join(out, v.phases[x])
		if !ok || v.phases[x] == Fixed || !v.shapes[x].vector() || v.shapes[x].Rows != size.Cols {
			return typed{}, fmt.Errorf("it needs a matrix and a record's vector as long as the matrix has columns")
		}
		return typed{phase, Shape{size.Rows, 1}, false}, nil
	}
}

// detach checks a Detach, and returns its phase and shape. The phase is Record, even if the
// argument is constant.
func (v *Verified) detach(n *Node) (typed, error) {
	a := n.Args[0]
	if v.phases[a] == Shared {
		return typed{}, fmt.Errorf("its argument is %s value", v.phases[a])
	}
	return typed{Record, v.shapes[a], v.positive[a]}, nil
}

// index returns an error if node i could have a value that is not an index into a table of n rows.
func (v *Verified) index(i, n int) error {
	if v.phases[i] != Data || !v.shapes[i].scalar() {
		return fmt.Errorf("an index must be a number of the row")
	}
	if r := v.ranges[i]; !r.Whole || !(r.Low >= 0) || !(r.High < float64(n)) {
		return fmt.Errorf("the index must have whole numbers with bounds in 0..%d", n-1)
	}
	return nil
}

func (v *Verified) likelihood() error {
	i := v.program.Likelihood
	if i < 0 || i >= len(v.phases) {
		return fmt.Errorf("the likelihood is node %d, which does not exist", i)
	}
	if v.phases[i] != Record || !v.shapes[i].scalar() {
		return fmt.Errorf("the likelihood must be one number that depends on the parameters and the row, and is %s value", v.phases[i])
	}
	return nil
}

func (v *Verified) phase(args []int) (Phase, error) {
	phase := Fixed
	for _, a := range args {
		var ok bool
		if phase, ok = Join(phase, v.phases[a]); !ok {
			return 0, fmt.Errorf("it combines shared values with values of a row; an operation such as global must come between them")
		}
	}
	return phase, nil
}
