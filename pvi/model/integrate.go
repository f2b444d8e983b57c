package model

import (
	"math"

	"fedpvi/internal/quadrature"
	"fedpvi/pvi/model/ir"
)

const (
	// newtonSteps is the number of Newton steps from 0 to the mode, and longestStep is the greatest
	// length of a step along each axis. Longer steps can pass the mode so far that the next steps
	// do not return.
	newtonSteps = 6
	longestStep = 1.0
	// latentStep is the step of the differences that give derivatives with respect to a latent.
	latentStep = 1e-3
	// leastPrecision is the least curvature, and mostCorrelation the largest correlation, with
	// which a Newton step is computed and the points of the quadrature are placed.
	leastPrecision  = 0.01
	mostCorrelation = 0.99
)

// Integrate returns log ∫ exp(f) du, where u are one or two latents and f is the sum of joint and
// more. It uses adaptive Gauss–Hermite quadrature with the given number of points along each axis
// (Naylor and Smith, "Applications of a method for the efficient computation of posterior
// distributions", 1982). The number of operations does not depend on values. The latents should
// have about unit scale. f should have one mode, at a distance of at most 6 from 0.
//
// The points are placed around the mode of f, and the distances between them follow from the
// curvature of f at the mode. The points count as constants in derivatives. With fixed points, the
// derivative of the result is the mean of the derivatives of f, with the weights of the quadrature.
// This is an approximation of the derivative of the integral. By Fisher's identity, that derivative
// is the mean of the derivatives of f over the conditional distribution of u.
func (b *Builder) Integrate(latents []Expr, points int, joint Expr, more ...Expr) Expr {
	joint, rest := b.split(joint)
	for _, e := range more {
		e, others := b.split(e)
		joint, rest = b.Add(joint, e), append(rest, others...)
	}
	rule := quadrature.Product(len(latents), points)
	l := laplace{b, b.replacing(joint, latents), len(latents)}
	if copies := newtonSteps*l.evaluations() + len(rule.Weights); copies*len(b.path(joint, latents)) > ir.MaxNodes {
		return b.fail("the log density has %d operations that depend on latents, and is computed %d times for each record; at most %d operations are allowed",
			len(b.path(joint, latents)), copies, ir.MaxNodes)
	}
	mode, root := l.mode()
	for i := range l.k {
		mode[i] = b.Detach(mode[i])
		for j := i; j < l.k; j++ {
			root[i][j] = b.Detach(root[i][j])
		}
	}
	terms := make([]Expr, len(rule.Weights))
	for p, w := range rule.Weights {
		x := rule.Points[p*l.k : (p+1)*l.k]
		constant := math.Log(w) + float64(l.k)*logRoot2Pi
		for _, v := range x {
			constant += v * v / 2
		}
		terms[p] = b.Add(l.at(l.point(mode, root, x)), b.Number(constant))
	}
	scale := b.Number(0)
	for i := range l.k {
		scale = b.sub(scale, b.Apply(ir.Log, root[i][i]))
	}
	return b.Add(b.Apply(ir.LogSumExp, b.Apply(ir.Stack, terms...)), append(rest, scale)...)
}

// split divides the sum e into a part that depends on latents (unobserved numbers of a record) and
// summands that do not.
func (b *Builder) split(e Expr) (hidden Expr, rest []Expr) {
	for {
		n := &b.program.Nodes[e.node]
		if n.Op != ir.Add && n.Op != ir.Sub {
			return e, rest
		}
		left, right := Expr{n.Args[0]}, Expr{n.Args[1]}
		switch {
		case !b.Hidden(right) && n.Op == ir.Add:
			e, rest = left, append(rest, right)
		case !b.Hidden(right):
			e, rest = left, append(rest, b.Apply(ir.Neg, right))
		case !b.Hidden(left) && n.Op == ir.Add:
			e, rest = right, append(rest, left)
		default:
			return e, rest
		}
	}
}

const logRoot2Pi = 0.91893853320467274178

func (b *Builder) sub(x, y Expr) Expr { return b.Apply(ir.Sub, x, y) }
func (b *Builder) div(x, y Expr) Expr { return b.Apply(ir.Div, x, y) }

// clamp returns x, or ±limit if |x| exceeds the positive number limit.
func (b *Builder) clamp(x, limit Expr) Expr {
	return b.Apply(ir.Max, b.Apply(ir.Min, x, limit), b.Apply(ir.Neg, limit))
}

// laplace finds the mode and the curvature of a function of k latents.
type laplace struct {
	*Builder
	at func(u []Expr) Expr
	k  int
}

// evaluations returns how often a Newton step evaluates the function.
func (l laplace) evaluations() int { return 1 + 2*l.k + l.k*(l.k-1)/2 }

// A factor is an upper triangular matrix R of at most two rows.
type factor [2][2]Expr

// mode returns the mode u of the function, and a factor R. The product RᵀR is the precision at the
// mode, which is the matrix of negative second derivatives.
func (l laplace) mode() (u []Expr, root factor) {
	for range l.k {
		u = append(u, l.Detach(l.Number(0)))
	}
	for range newtonSteps {
		slope, precision := l.derivatives(u)
		root = l.cholesky(precision)
		for i, move := range l.solve(root, slope) {
			u[i] = l.Add(u[i], l.clamp(move, l.Number(longestStep)))
		}
	}
	return u, root
}

// derivatives returns the gradient of the function at u and its negative second derivatives, by
// central differences.
func (l laplace) derivatives(u []Expr) (slope []Expr, precision factor) {
	moved := func(sign float64, axes ...int) Expr {
		to := append([]Expr(nil), u...)
		for _, i := range axes {
			to[i] = l.Add(u[i], l.Number(sign*latentStep))
		}
		return l.at(to)
	}
	at, square := l.at(u), l.Number(1/(latentStep*latentStep))
	var up [2]Expr
	for i := range l.k {
		up[i] = moved(1, i)
		down := moved(-1, i)
		slope = append(slope, l.Mul(l.sub(up[i], down), l.Number(1/(2*latentStep))))
		precision[i][i] = l.Mul(l.sub(l.sub(at, up[i]), l.sub(down, at)), square)
	}
	if l.k == 2 {
		precision[0][1] = l.Mul(l.sub(l.sub(up[0], at), l.sub(moved(1, 0, 1), up[1])), square)
	}
	return slope, precision
}

// cholesky returns the factor of a matrix. If the matrix is not positive definite, cholesky returns
// the factor of a positive definite matrix that is close to the given one.
func (l laplace) cholesky(a factor) (r factor) {
	sd := func(i int) Expr { return l.Apply(ir.Sqrt, l.Apply(ir.Max, a[i][i], l.Number(leastPrecision))) }
	r[0][0] = sd(0)
	if l.k == 2 {
		second := sd(1)
		r[0][1] = l.clamp(l.div(a[0][1], r[0][0]), l.Mul(second, l.Number(mostCorrelation)))
		r[1][1] = l.Apply(ir.Sqrt, l.sub(l.Apply(ir.Square, second), l.Apply(ir.Square, r[0][1])))
	}
	return r
}

// solve returns x with RᵀR x = g.
func (l laplace) solve(r factor, g []Expr) []Expr {
	y := []Expr{l.div(g[0], r[0][0])}
	if l.k == 2 {
		y = append(y, l.div(l.sub(g[1], l.Mul(r[0][1], y[0])), r[1][1]))
	}
	return l.back(r, y)
}

// back returns x with R x = y.
func (l laplace) back(r factor, y []Expr) []Expr {
	if l.k == 1 {
		return []Expr{l.div(y[0], r[0][0])}
	}
	second := l.div(y[1], r[1][1])
	return []Expr{l.div(l.sub(y[0], l.Mul(r[0][1], second)), r[0][0]), second}
}

// point returns u + R⁻¹x.
func (l laplace) point(u []Expr, r factor, x []float64) []Expr {
	numbers := make([]Expr, l.k)
	for i, v := range x {
		numbers[i] = l.Number(v)
	}
	to := l.back(r, numbers)
	for i := range to {
		to[i] = l.Add(u[i], to[i])
	}
	return to
}
