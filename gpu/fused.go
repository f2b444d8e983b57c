package gpu

import (
	"math"
	"slices"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/model/tape"
)

// This file finds out whether a program is a generalised linear model, and then evaluates it with a
// fast fused kernel. The program of such a model has one outcome. One argument of the density of
// the outcome, the linear predictor, is x·β plus scalars that all records share. The other
// arguments are constants or shared scalars. The fused kernel computes the linear predictor, the
// density and the derivatives in one pass over a row. Package tape computes the same numbers node
// by node. Norms and sums are computed by the same code in both cases.

// glm describes a program that is a generalised linear model.
type glm struct {
	density ir.Density
	node    int // node of the log density
	outcome int
	linear  int   // node of x·β
	shifts  []int // nodes of the shared scalars that are added to x·β
	eta     int   // index of the linear predictor among the arguments of the density
}

// recognise finds out whether a program is a generalised linear model. If so, it returns the parts
// of the model, and otherwise nil.
func recognise(v *ir.Verified) *glm {
	p := v.Program()
	top := &p.Nodes[p.Likelihood]
	if top.Op != ir.DensityOp || v.Phase(top.Args[0]) != ir.Data || v.Shape(top.Args[0]).Size() != 1 {
		return nil
	}
	g := &glm{density: ir.Density(top.Ref), node: p.Likelihood, outcome: top.Args[0], linear: -1}
	for k, a := range top.Args[1:] {
		op := p.Nodes[a].Op
		switch {
		case v.Shape(a).Size() != 1:
			return nil
		case v.Phase(a) == ir.Fixed || op == ir.Global:
		case g.linear < 0 && g.predictor(v, a):
			g.eta = k
		default:
			return nil
		}
	}
	if g.linear < 0 {
		return nil
	}
	return g
}

// predictor reports whether a node can be a linear predictor: a sum of shared scalars with at most
// one product of covariates and coefficients. It records these terms in g.
func (g *glm) predictor(v *ir.Verified, node int) bool {
	n := &v.Program().Nodes[node]
	switch n.Op {
	case ir.Add:
		return g.predictor(v, n.Args[0]) && g.predictor(v, n.Args[1])
	case ir.Global:
		g.shifts = append(g.shifts, node)
		return v.Shape(node).Size() == 1
	case ir.Linear:
		if g.linear >= 0 {
			return false
		}
		g.linear = node
		return true
	}
	return false
}

// glmLanes evaluates a generalised linear model on blocks of rows.
type glmLanes struct {
	g       *glm
	x, y    []float64
	beta    []float64
	records *tape.Records
	density *tape.DensityLanes
	eta     []float64
	outcome []float64
	value   []float64
	slope   []float64 // ∂ℓ/∂η
}

// newGLMLanes returns the fused kernel for a program. It returns nil if the program is not a
// generalised linear model, or if package tape has no fast code for the density. It also returns
// nil if the density uses a shared scalar twice, because the fused kernel cannot add up the
// derivatives of two uses.
func newGLMLanes(m *model.Model, table *model.Table, shared *model.Shared, r *tape.Records) *glmLanes {
	v := m.Verified()
	g := recognise(v)
	if g == nil || g.repeats(v) {
		return nil
	}
	n := &v.Program().Nodes[g.linear]
	k := &glmLanes{
		g: g, records: r, x: table.Nodes[n.Args[0]], y: table.Nodes[g.outcome], beta: shared.Value[n.Args[1]],
		density: tape.NewDensityLanes(g.density, block),
		eta:     make([]float64, block), outcome: make([]float64, block), value: make([]float64, block),
		slope: r.Adjoint[g.linear],
	}
	if k.density == nil {
		return nil
	}
	for _, s := range g.shifts {
		r.Adjoint[s] = k.slope // every term of a sum has the same adjoint as the sum
	}
	return k
}

// repeats reports whether the density uses a shared scalar twice.
func (g *glm) repeats(v *ir.Verified) bool {
	scalars := slices.Clone(g.shifts)
	for k, a := range v.Program().Nodes[g.node].Args[1:] {
		if k != g.eta && v.Program().Nodes[a].Op == ir.Global {
			scalars = append(scalars, a)
		}
	}
	slices.Sort(scalars)
	return len(slices.Compact(slices.Clone(scalars))) < len(scalars)
}

// forward returns the log densities of a block of rows. In the same pass, it computes each log
// density's derivatives with respect to the arguments of the density.
func (k *glmLanes) forward(m *ir.Verified, rows []int32) []float64 {
	n := len(rows)
	k.predict(m, rows)
	k.density.Run(k.value[:n], k.outcome[:n])
	return k.value[:n]
}

// slopes returns ∂ℓ/∂η for the rows of a block, where ℓ is the log density and η the linear
// predictor. If ℓ is not finite, neither is the slope.
func (k *glmLanes) slopes(m *ir.Verified, rows []int32) []float64 {
	n := len(rows)
	k.predict(m, rows)
	slope := k.slope[:n]
	if k.density.RunSlopes(k.outcome[:n]) {
		return slope
	}
	k.density.Run(k.value[:n], k.outcome[:n])
	for l, v := range k.value[:n] {
		if v-v != 0 {
			slope[l] = math.NaN()
		}
	}
	return slope
}

// predict gets the density ready for a block of rows: it computes the linear predictor of each row,
// copies the outcomes, and sets the arguments of the density.
func (k *glmLanes) predict(m *ir.Verified, rows []int32) {
	n := len(rows)
	eta, y := k.eta[:n], k.outcome[:n]
	tape.DotRows(eta, k.x, rows, k.beta)
	for l, row := range rows {
		y[l] = k.y[row]
	}
	for _, s := range k.g.shifts {
		shift := k.records.Value[s][0]
		for l := range eta {
			eta[l] += shift
		}
	}
	for i, a := range m.Program().Nodes[k.g.node].Args[1:] {
		if i == k.g.eta {
			k.density.Argument(i, eta, k.slope[:n], false)
			continue
		}
		var derivative []float64
		if adj := k.records.Adjoint[a]; adj != nil {
			derivative = adj[:n]
		}
		k.density.Argument(i, k.records.Value[a][:n], derivative, true)
	}
}
