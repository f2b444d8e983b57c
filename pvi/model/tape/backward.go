package tape

import (
	"math"

	"fedpvi/internal/special"
	"fedpvi/pvi/model/ir"
)

// backward propagates the adjoint of node i to the adjoints of its arguments, in the first n lanes.
// Node i must not be a leaf, and must not be an operation that lets a record read parameters.
func (m *Machine) backward(i, n int) {
	node := &m.nodes[i]
	adj, size := m.Adjoint[i], m.size[i]
	switch node.Op {
	case ir.DensityOp:
		m.densityBackward(i, n)
	case ir.Dot:
		m.dotBackward(node.Args[0], node.Args[1], adj[:n], n)
		m.dotBackward(node.Args[1], node.Args[0], adj[:n], n)
	case ir.Stack:
		for e, a := range node.Args {
			if m.active[a] {
				add(m.Adjoint[a][:n], m.lane(adj, size, e, n))
			}
		}
	case ir.Select:
		m.selectBackward(i, n)
	case ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Max, ir.Min:
		m.binaryBackward(i, n)
	case ir.Less, ir.Equal, ir.Draw, ir.Detach: // no derivatives pass through these operations
	default:
		if a := node.Args[0]; m.active[a] {
			m.oneBackward(i, a, n)
		}
	}
}

// oneBackward does the work of backward for a node i whose only argument is a.
func (m *Machine) oneBackward(i, a, n int) {
	node, adj, size := &m.nodes[i], m.Adjoint[i], m.size[i]
	switch node.Op {
	case ir.Sum:
		for e := range m.size[a] {
			add(m.lane(m.Adjoint[a], m.size[a], e, n), adj[:n])
		}
	case ir.LogSumExp:
		m.logSumExpBackward(i, a, n)
	case ir.Softmax, ir.LogSoftmax:
		m.rescaleBackward(node.Op, i, a, n)
	case ir.Element, ir.Slice:
		to := m.Adjoint[a][node.Ref*m.lanes:]
		for k, x := range adj[:size*m.lanes] {
			to[k] += x
		}
	default:
		for e := range size {
			unaryBackward(node.Op, m.lane(m.Adjoint[a], m.size[a], e, n), m.lane(adj, size, e, n),
				m.lane(m.Value[a], m.size[a], e, n), m.lane(m.Value[i], size, e, n))
		}
	}
}

func add(dst, x []float64) { sums(dst, dst, x) }

// unaryBackward adds g·f′(x) to dst, where f is the operation op, y is f(x), and g is the adjoint
// of y.
func unaryBackward(op ir.Op, dst, g, x, y []float64) {
	g, x, y = g[:len(dst)], x[:len(dst)], y[:len(dst)]
	switch op {
	case ir.Neg:
		differences(dst, dst, g)
	case ir.Exp:
		addProducts(dst, g, y)
	case ir.Log:
		for l := range dst {
			dst[l] += g[l] / x[l]
		}
	case ir.Tanh:
		for l := range dst {
			dst[l] += g[l] * (1 - y[l]*y[l])
		}
	case ir.Square:
		for l := range dst {
			dst[l] += 2 * g[l] * x[l]
		}
	default:
		for l := range dst {
			dst[l] += g[l] * slope(op, x[l], y[l])
		}
	}
}

// slope returns the derivative f′(x), where f is the operation op. The caller passes f(x) as y.
func slope(op ir.Op, x, y float64) float64 {
	switch op {
	case ir.Log1p:
		return 1 / (1 + x)
	case ir.Expm1:
		return 1 + y
	case ir.Sqrt:
		return .5 / y
	case ir.Inv:
		return -y * y
	case ir.InvLogit:
		return y * (1 - y)
	case ir.LogInvLogit:
		return special.InvLogit(-x)
	case ir.Softplus:
		return special.InvLogit(x)
	case ir.Phi:
		const invRoot2Pi = .398942280401432677939946059934
		return invRoot2Pi * math.Exp(-.5*x*x)
	case ir.Abs:
		return math.Copysign(1, x)
	case ir.Lgamma:
		return special.Digamma(x)
	case ir.Sin:
		return math.Cos(x)
	case ir.Cos:
		return -math.Sin(x)
	case ir.LogPhi:
		_, slope := special.LogPhi(x)
		return slope
	}
	return math.NaN()
}

// selectBackward adds the adjoint of node i, a Select, to that of the selected argument. If the
// other argument contains a division by zero, the gradient becomes NaN, because 0·∞ is NaN.
func (m *Machine) selectBackward(i, n int) {
	mask, size := m.nodes[i].Args[0], m.size[i]
	for k, a := range m.nodes[i].Args[1:] {
		if !m.active[a] || m.isSettled(i, k+1) {
			continue
		}
		for e := range size {
			on, g, dst := m.lane(m.Value[mask], m.size[mask], e, n), m.lane(m.Adjoint[i], size, e, n), m.lane(m.Adjoint[a], m.size[a], e, n)
			for l := range dst {
				if (on[l] != 0) == (k == 0) {
					dst[l] += g[l]
				}
			}
		}
	}
}

func (m *Machine) binaryBackward(i, n int) {
	node := &m.nodes[i]
	a, b, size := node.Args[0], node.Args[1], m.size[i]
	for e := range size {
		g := m.lane(m.Adjoint[i], size, e, n)
		x, y := m.lane(m.Value[a], m.size[a], e, n), m.lane(m.Value[b], m.size[b], e, n)
		if m.active[a] && !m.isSettled(i, 0) {
			leftBackward(node.Op, m.lane(m.Adjoint[a], m.size[a], e, n), g, x, y)
		}
		if m.active[b] && !m.isSettled(i, 1) {
			rightBackward(node.Op, m.lane(m.Adjoint[b], m.size[b], e, n), g, x, y)
		}
	}
}

// isSettled reports whether argument k of node i gets its adjoint without a backward step (see
// planSweep).
func (m *Machine) isSettled(i, k int) bool { return m.settled[i] != nil && m.settled[i][k] }

// leftBackward adds g·∂(x op y)/∂x to dst. If op is max or min and the arguments are equal, x gets
// the whole derivative.
func leftBackward(op ir.Op, dst, g, x, y []float64) {
	g, x, y = g[:len(dst)], x[:len(dst)], y[:len(dst)]
	switch op {
	case ir.Add, ir.Sub:
		add(dst, g)
	case ir.Mul:
		addProducts(dst, g, y)
	case ir.Div:
		for l := range dst {
			dst[l] += g[l] / y[l]
		}
	default:
		for l := range dst {
			if (op == ir.Max) == (x[l] >= y[l]) || x[l] == y[l] {
				dst[l] += g[l]
			}
		}
	}
}

// rightBackward adds g·∂(x op y)/∂y to dst. If op is max or min and the arguments are equal, y gets
// nothing.
func rightBackward(op ir.Op, dst, g, x, y []float64) {
	g, x, y = g[:len(dst)], x[:len(dst)], y[:len(dst)]
	switch op {
	case ir.Add:
		add(dst, g)
	case ir.Sub:
		differences(dst, dst, g)
	case ir.Mul:
		addProducts(dst, g, x)
	case ir.Div:
		for l := range dst {
			dst[l] -= g[l] * x[l] / (y[l] * y[l])
		}
	default:
		for l := range dst {
			if (op == ir.Max) == (y[l] > x[l]) && x[l] != y[l] {
				dst[l] += g[l]
			}
		}
	}
}

func (m *Machine) logSumExpBackward(i, a, n int) {
	size, work := m.size[a], m.work[:n]
	g, total := m.Adjoint[i][:n], m.Value[i][:n]
	for e := range size {
		x, dst := m.lane(m.Value[a], size, e, n), m.lane(m.Adjoint[a], size, e, n)
		differences(work, x, total)
		special.ExpAll(work, work)
		addProducts(dst, g, work)
	}
}

// rescaleBackward adds to the adjoint of x, the argument of a softmax or log softmax. Let s =
// softmax(x), and let a bar mark an adjoint. The adjoint of x gets
//
//	s∘(s̄ − s·s̄)	for the result s,
//	ȳ − s Σȳ	for the result y = log softmax(x),
//
// where ∘ multiplies element by element, and s·s̄ is a dot product.
func (m *Machine) rescaleBackward(op ir.Op, i, a, n int) {
	size, total, s := m.size[a], m.work[:n], m.scratch[:n]
	clear(total)
	for e := range size {
		g, y := m.lane(m.Adjoint[i], size, e, n), m.lane(m.Value[i], size, e, n)
		for l := range total {
			if op == ir.Softmax {
				total[l] += g[l] * y[l]
			} else {
				total[l] += g[l]
			}
		}
	}
	for e := range size {
		g, y := m.lane(m.Adjoint[i], size, e, n), m.lane(m.Value[i], size, e, n)
		dst := m.lane(m.Adjoint[a], size, e, n)
		if op == ir.Softmax {
			for l := range dst {
				dst[l] += y[l] * (g[l] - total[l])
			}
			continue
		}
		special.ExpAll(s, y)
		for l := range dst {
			dst[l] += g[l] - s[l]*total[l]
		}
	}
}

func (m *Machine) dotBackward(to, other int, g []float64, n int) {
	if !m.active[to] {
		return
	}
	for e := range m.size[to] {
		dst, y := m.lane(m.Adjoint[to], m.size[to], e, n), m.lane(m.Value[other], m.size[other], e, n)
		addProducts(dst, g, y)
	}
}
