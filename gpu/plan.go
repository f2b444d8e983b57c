package gpu

import (
	"fmt"
	"slices"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

// A leaf is a node of the program at which a record reads values that all records share. From the
// derivatives of its log density with respect to its leaves, called adjoints, the gradient of a
// record can be computed.
type leaf struct {
	index int // index in the list of all leaves
	node  int
	op    ir.Op
	table int // shared node that the leaf reads, called its table
	other int // node of the vector that the table multiplies, or of an index into the table; −1 if neither exists
	// onTable is true if other is a column of the table of records, and false if it is a computed
	// value.
	onTable    bool
	rows, cols int // size of the table
	// If direct is true, each element i of the table is a function of coordinate base+i alone. If
	// same is true, each element i equals coordinate base+i.
	direct, same bool
	base         int
}

// size returns the number of elements of the table.
func (f *leaf) size() int { return f.rows * f.cols }

// A span is a range of consecutive coordinates. It begins with the coordinate from and ends before
// the coordinate to.
type span struct{ from, to int }

// A plan tells how to compute the gradients of a program. It divides the leaves into components.
// Leaves that depend on the same coordinates of θ are in the same component, so two components
// never share a coordinate.
type plan struct {
	m      *model.Model
	d      int
	leaves []leaf
	// alone has leaves that are alone in their component, if each element of their table depends on
	// one coordinate. For the norm of such a component's gradient, there is a closed form.
	alone []*leaf
	// merged has the components with several leaves that all select table elements by index. A
	// record uses few coordinates of such a component. Its contributions to one coordinate are
	// added before they are squared.
	merged [][]*leaf
	// dense has all other components. Their gradients are computed for all coordinates of the
	// component.
	dense []*denseLayout
	// sparse is true if a record uses only a few coordinates of some leaf.
	sparse bool
	// row is the only leaf of the program, if every record's contribution is a multiple of its row
	// in the table of records. Otherwise row is nil.
	row *leaf
	// generic turns the fused kernels off.
	generic bool
}

// maxDense and maxJacobian limit the size of a dense component.
const (
	maxDense    = 1 << 12 // maximum number of coordinates, and of elements of all tables together
	maxJacobian = 1 << 18 // maximum number of elements of the Jacobian
)

func newPlan(m *model.Model, generic bool) (*plan, error) {
	v := m.Verified()
	p := &plan{m: m, d: m.Dim(), generic: generic}
	shared := m.Shared()
	coords := coordinates(v, shared)
	used := v.Differentiated(v.Program().Likelihood)
	var spans [][]span
	for i := range v.Program().Nodes {
		f, ok := newLeaf(v, i, coords)
		if !ok || !used[i] {
			continue
		}
		f.index = len(p.leaves)
		p.leaves = append(p.leaves, f)
		spans = append(spans, f.support(v, shared))
	}
	for _, group := range components(spans) {
		var members []*leaf
		var support []span
		for _, k := range group {
			members = append(members, &p.leaves[k])
			support = append(support, spans[k]...)
		}
		if err := p.addComponent(shared, members, support); err != nil {
			return nil, fmt.Errorf("compile %s: %w", m.Name(), err)
		}
	}
	if len(p.leaves) == 1 && p.leaves[0].isRow(p.d) {
		p.row = &p.leaves[0]
	}
	p.sparse = slices.ContainsFunc(p.leaves, func(f leaf) bool { return f.gathers() && f.direct })
	return p, nil
}

// isRow reports whether the leaf is the product of a row of the table of records and θ, which has d
// coordinates.
func (f *leaf) isRow(d int) bool {
	return f.op == ir.Linear && f.onTable && f.same && f.base == 0 && f.cols == d
}

func (f *leaf) gathers() bool { return f.op == ir.Gather || f.op == ir.GatherRow }

func (p *plan) addComponent(shared *model.Shared, members []*leaf, support []span) error {
	direct := !slices.ContainsFunc(members, func(f *leaf) bool { return !f.direct })
	gathers := !slices.ContainsFunc(members, func(f *leaf) bool { return !f.gathers() })
	switch {
	case direct && len(members) == 1:
		p.alone = append(p.alone, members[0])
	case direct && gathers:
		p.merged = append(p.merged, members)
	default:
		layout, err := newDenseLayout(shared, members, support)
		if err != nil {
			return err
		}
		p.dense = append(p.dense, layout)
	}
	return nil
}

// A coordinate describes how the elements of a node that all records share depend on θ. If ok is
// true, each element i is a function of coordinate base+i alone. If same is true, each element i
// equals coordinate base+i.
type coordinate struct {
	base     int
	ok, same bool
}

func coordinates(v *ir.Verified, shared *model.Shared) []coordinate {
	p := v.Program()
	out := make([]coordinate, len(p.Nodes))
	for i, n := range p.Nodes {
		switch {
		case v.Phase(i) != ir.Shared:
		case n.Op == ir.Param:
			kind := p.Parameters[n.Ref].Constraint.Kind
			out[i] = coordinate{shared.Offset(n.Ref), kind != ir.Simplex && kind != ir.Ordered, kind == ir.Unconstrained}
		case n.Op == ir.Slice || n.Op == ir.Element:
			out[i] = out[n.Args[0]]
			out[i].base += n.Ref
		case n.Op == ir.Stack:
			out[i] = stacked(out, n.Args)
		case n.Op.Elementwise():
			out[i] = mapped(v, out, i)
		}
	}
	return out
}

// stacked describes how a vector that consists of the scalars args depends on θ. The result has ok
// true only if the scalars are consecutive coordinates of θ.
func stacked(out []coordinate, args []int) coordinate {
	first := out[args[0]]
	for k, a := range args {
		if c := out[a]; !c.ok || !c.same || c.base != first.base+k {
			return coordinate{}
		}
	}
	return first
}

// mapped describes how the result of an elementwise operation depends on θ: in the same way as the
// only argument that is not constant, but through a function. The result has ok false if several
// arguments are not constant, or if this argument is a scalar and the result has several elements.
func mapped(v *ir.Verified, out []coordinate, i int) coordinate {
	c := coordinate{}
	shared := 0
	for _, a := range v.Program().Nodes[i].Args {
		if v.Phase(a) == ir.Fixed {
			continue
		}
		shared++
		c = out[a]
		c.ok = c.ok && v.Shape(a) == v.Shape(i)
	}
	c.ok = c.ok && shared == 1
	c.same = false
	return c
}

func newLeaf(v *ir.Verified, i int, coords []coordinate) (leaf, bool) {
	n := &v.Program().Nodes[i]
	if v.Phase(i) != ir.Record {
		return leaf{}, false
	}
	f := leaf{node: i, op: n.Op, other: -1}
	switch n.Op {
	case ir.Global:
		f.table = n.Args[0]
	case ir.Gather, ir.GatherRow, ir.MatVec:
		f.table, f.other = n.Args[0], n.Args[1]
	case ir.Linear:
		f.table, f.other = n.Args[1], n.Args[0]
	default:
		return leaf{}, false
	}
	if v.Phase(f.table) != ir.Shared { // a constant table has no gradient
		return leaf{}, false
	}
	shape := v.Shape(f.table)
	f.rows, f.cols = shape.Rows, shape.Cols
	if n.Op == ir.Linear { // the product of a vector x and a table with one row
		f.rows, f.cols = 1, shape.Rows
	}
	f.onTable = f.other >= 0 && v.Phase(f.other) == ir.Data
	c := coords[f.table]
	f.direct, f.same, f.base = c.ok, c.ok && c.same, c.base
	return f, true
}

// support returns the coordinates on which the table of the leaf depends.
func (f *leaf) support(v *ir.Verified, shared *model.Shared) []span {
	if f.direct {
		return []span{{f.base, f.base + f.size()}}
	}
	var out []span
	for _, q := range shared.Path(f.table).Parameters {
		from := shared.Offset(q)
		out = append(out, span{from, from + v.Program().Parameters[q].Free()})
	}
	return out
}

// components groups leaves that depend on the same coordinates, directly or through other leaves.
// It returns the indices of the leaves in each group. spans[i] has the coordinates of leaf i.
func components(spans [][]span) [][]int {
	group := make([]int, len(spans))
	for i := range group {
		group[i] = i
	}
	for i := range spans {
		for j := range i {
			if group[i] != group[j] && overlap(spans[i], spans[j]) {
				from, to := group[i], group[j]
				for k := range group {
					if group[k] == from {
						group[k] = to
					}
				}
			}
		}
	}
	var out [][]int
	index := map[int]int{}
	for i, g := range group {
		if _, ok := index[g]; !ok {
			index[g] = len(out)
			out = append(out, nil)
		}
		out[index[g]] = append(out[index[g]], i)
	}
	return out
}

func overlap(a, b []span) bool {
	for _, x := range a {
		for _, y := range b {
			if x.from < y.to && y.from < x.to {
				return true
			}
		}
	}
	return false
}

// A denseLayout is a component in which every record gets a gradient with respect to all
// coordinates, even if it depends on only a few.
type denseLayout struct {
	leaves []*leaf
	coords []int32 // coordinates of the component in ascending order
	// paths has a path for each table whose elements are not single coordinates of θ. A gradient is
	// first computed with respect to the elements of such a table. The Jacobian of the path then
	// converts it to a gradient with respect to the coordinates.
	paths  []*tape.Path
	tables []int // for each path, the node of its table
	start  []int // index of each table's first element among the elements of all tables
	size   int   // number of elements of all tables
	of     []int // index of each leaf's table, or −1 if the leaf's elements are coordinates
	local  []int // position in coords of a leaf's first coordinate, for leaves whose elements are coordinates
}

func newDenseLayout(shared *model.Shared, leaves []*leaf, support []span) (*denseLayout, error) {
	c := &denseLayout{leaves: leaves}
	seen := map[int32]bool{}
	for _, s := range support {
		if s.to-s.from > maxDense {
			return nil, fmt.Errorf("a record depends on %d coordinates in several ways or through a function of many; at most %d are allowed", s.to-s.from, maxDense)
		}
		for k := s.from; k < s.to; k++ {
			if !seen[int32(k)] {
				seen[int32(k)] = true
				c.coords = append(c.coords, int32(k))
			}
		}
	}
	slices.Sort(c.coords)
	for _, f := range leaves {
		number := -1
		if !f.direct {
			if number = slices.Index(c.tables, f.table); number < 0 {
				number = len(c.tables)
				c.tables, c.start = append(c.tables, f.table), append(c.start, c.size)
				c.paths = append(c.paths, shared.Path(f.table))
				c.size += f.size()
			}
		}
		c.of = append(c.of, number)
		c.local = append(c.local, slices.Index(c.coords, int32(f.base)))
	}
	if len(c.coords) > maxDense || c.size > maxDense || len(c.coords)*c.size > maxJacobian {
		return nil, fmt.Errorf("the gradient of a record would be formed over %d coordinates and %d elements of tables; "+
			"at most %d of each and a product of %d are allowed", len(c.coords), c.size, maxDense, maxJacobian)
	}
	return c, nil
}
