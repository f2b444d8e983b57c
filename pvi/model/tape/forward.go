package tape

import (
	"math"

	"fedpvi/internal/special"
	"fedpvi/pvi/model/ir"
)

// forward computes the first n lanes of node i. The node must not be a leaf, and must not be an
// operation that lets a record read parameters.
func (m *Machine) forward(i, n int) {
	node := &m.nodes[i]
	out, size := m.Value[i], m.size[i]
	switch node.Op {
	case ir.DensityOp:
		m.densityForward(i, n)
	case ir.Sum:
		a := node.Args[0]
		copy(out[:n], m.Value[a][:n])
		for e := 1; e < m.size[a]; e++ {
			add(out[:n], m.lane(m.Value[a], m.size[a], e, n))
		}
	case ir.LogSumExp:
		m.logSumExp(out[:n], node.Args[0], n)
	case ir.Softmax, ir.LogSoftmax:
		m.rescale(node.Op, i, node.Args[0], n)
	case ir.Dot:
		m.dot(out[:n], node.Args[0], node.Args[1], n)
	case ir.Element, ir.Slice:
		from := m.Value[node.Args[0]]
		copy(out[:size*m.lanes], from[node.Ref*m.lanes:])
	case ir.Stack:
		for e, a := range node.Args {
			copy(m.lane(out, size, e, n), m.Value[a][:n])
		}
	case ir.Select:
		m.selectForward(i, n)
	case ir.Draw:
		m.draw(i, n)
	case ir.Detach:
		copy(out[:size*m.lanes], m.Value[node.Args[0]])
	case ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Max, ir.Min, ir.Less, ir.Equal:
		a, b := node.Args[0], node.Args[1]
		for e := range size {
			binary(node.Op, m.lane(out, size, e, n), m.lane(m.Value[a], m.size[a], e, n), m.lane(m.Value[b], m.size[b], e, n))
		}
	default:
		a := node.Args[0]
		for e := range size {
			unary(node.Op, m.lane(out, size, e, n), m.lane(m.Value[a], m.size[a], e, n))
		}
	}
}

func unary(op ir.Op, dst, x []float64) {
	x = x[:len(dst)]
	switch op {
	case ir.Neg:
		for l := range dst {
			dst[l] = -x[l]
		}
	case ir.Exp:
		special.ExpAll(dst, x)
	case ir.Log:
		special.LogAll(dst, x)
	case ir.Tanh:
		special.TanhAll(dst, x)
	case ir.Square:
		products(dst, x, x)
	case ir.Sqrt:
		for l := range dst {
			dst[l] = math.Sqrt(x[l])
		}
	case ir.Inv:
		for l := range dst {
			dst[l] = 1 / x[l]
		}
	case ir.Abs:
		for l := range dst {
			dst[l] = math.Abs(x[l])
		}
	default:
		f := slow[op]
		for l := range dst {
			dst[l] = f(x[l])
		}
	}
}

var slow = map[ir.Op]func(float64) float64{
	ir.Log1p: math.Log1p, ir.Expm1: math.Expm1, ir.InvLogit: special.InvLogit,
	ir.LogInvLogit: func(x float64) float64 { return -special.Softplus(-x) },
	ir.Softplus:    special.Softplus, ir.Phi: special.Phi, ir.Lgamma: special.Lgamma,
	ir.Sin: math.Sin, ir.Cos: math.Cos, ir.LogPhi: logPhi,
}

// logPhi returns log Φ(x). Its relative error is small for every x, so that differences are
// accurate even for large x.
func logPhi(x float64) float64 {
	if x > 0 {
		return math.Log1p(-special.Phi(-x))
	}
	value, _ := special.LogPhi(x)
	return value
}

func binary(op ir.Op, dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	switch op {
	case ir.Add:
		sums(dst, a, b)
	case ir.Sub:
		differences(dst, a, b)
	case ir.Mul:
		products(dst, a, b)
	case ir.Div:
		for l := range dst {
			dst[l] = a[l] / b[l]
		}
	case ir.Max:
		for l := range dst {
			dst[l] = max(a[l], b[l])
		}
	case ir.Min:
		for l := range dst {
			dst[l] = min(a[l], b[l])
		}
	case ir.Less:
		for l := range dst {
			dst[l] = oneIf(a[l] < b[l])
		}
	case ir.Equal:
		for l := range dst {
			dst[l] = oneIf(a[l] == b[l])
		}
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (m *Machine) selectForward(i, n int) {
	mask, a, b := m.nodes[i].Args[0], m.nodes[i].Args[1], m.nodes[i].Args[2]
	for e := range m.size[i] {
		on, dst := m.lane(m.Value[mask], m.size[mask], e, n), m.lane(m.Value[i], m.size[i], e, n)
		x, y := m.lane(m.Value[a], m.size[a], e, n), m.lane(m.Value[b], m.size[b], e, n)
		for l := range dst {
			if dst[l] = y[l]; on[l] != 0 {
				dst[l] = x[l]
			}
		}
	}
}

// logSumExp writes log Σ exp(x) over the elements x of node a to dst. It subtracts the largest
// element first, so that nothing overflows.
func (m *Machine) logSumExp(dst []float64, a, n int) {
	value, size := m.Value[a], m.size[a]
	top, work := m.work[:n], m.scratch[:n]
	copy(top, value[:n])
	for e := 1; e < size; e++ {
		for l, x := range m.lane(value, size, e, n) {
			top[l] = max(top[l], x)
		}
	}
	clear(dst)
	for e := range size {
		x := m.lane(value, size, e, n)
		differences(work, x, top)
		special.ExpAll(work, work)
		add(dst, work)
	}
	special.LogAll(dst, dst)
	add(dst, top)
}

// rescale computes node i, which is the softmax or log softmax of node a.
func (m *Machine) rescale(op ir.Op, i, a, n int) {
	value, size, total := m.Value[a], m.size[a], m.third[:n]
	m.logSumExp(total, a, n)
	for e := range size {
		x, dst := m.lane(value, size, e, n), m.lane(m.Value[i], size, e, n)
		differences(dst, x, total)
		if op == ir.Softmax {
			special.ExpAll(dst, dst)
		}
	}
}

func (m *Machine) dot(dst []float64, a, b, n int) {
	clear(dst)
	for e := range m.size[a] {
		x, y := m.lane(m.Value[a], m.size[a], e, n), m.lane(m.Value[b], m.size[b], e, n)
		addProducts(dst, x, y)
	}
}
