package model

import (
	"math"

	"fedpvi/internal/quadrature"
	"fedpvi/internal/special"
	"fedpvi/pvi/model/ir"
)

const (
	// The search for the mode starts at 0 and takes searchSteps steps. In a step, no latent changes by
	// more than longestStep.
	searchSteps = 3
	longestStep = 2.0
	// latentStep is the step with which finite differences in a latent are computed.
	latentStep = 5e-3
	// mostGrowth is the largest factor by which the search assumes that the curvature changes within a
	// step.
	mostGrowth = 50.0
	// mostCorrelation is the largest correlation of two latents that is assumed when quadrature points
	// are placed.
	mostCorrelation = 0.99
)

// A Quadrature is a rule for integrating over latents.
type Quadrature struct {
	Points int // number of points along each axis
	// LeastPrecision is the smallest precision that the rule assumes, where the precision is the
	// negative second derivative of the log integrand. Use 1 if the latents are standard normal, since
	// records can only make them more precise.
	LeastPrecision float64
}

// Integrate returns log ∫ exp(f) du, where u stands for one or two latents, and f is the sum of
// joint and more. It uses adaptive Gauss–Hermite quadrature (Naylor and Smith, "Applications of a
// method for the efficient computation of posterior distributions", 1982). The number of operations
// does not depend on the data. The latents should have a scale of about 1, and f should have one
// mode at a distance of at most 6 from 0.
//
// The points are placed around the mode of f, at distances that follow from the curvature there.
// Derivatives treat the points as constants. The derivative of the result is therefore a weighted
// mean of the derivatives of f. It approximates the derivative of the integral, which by Fisher's
// identity is the mean over the conditional distribution of u.
func (b *Builder) Integrate(latents []Expr, q Quadrature, joint Expr, more ...Expr) Expr {
	joint, rest := b.split(joint)
	for _, e := range more {
		e, others := b.split(e)
		joint, rest = b.Add(joint, e), append(rest, others...)
	}
	rule := quadrature.Product(len(latents), q.Points)
	l := laplace{b, b.replacing(joint, latents), len(latents), q.LeastPrecision}
	if copies := searchSteps*l.evaluations() + len(rule.Weights); copies*len(b.path(joint, latents)) > ir.MaxNodes {
		return b.fail("the log density has %d operations that depend on latents, and is computed %d times for each record; at most %d operations are allowed",
			len(b.path(joint, latents)), copies, ir.MaxNodes)
	}
	mode, spread := l.mode()
	for i := range l.k {
		mode[i] = b.Detach(mode[i])
		for j := i; j < l.k; j++ {
			spread[i][j] = b.Detach(spread[i][j])
		}
	}
	terms := make([]Expr, len(rule.Weights))
	for p, w := range rule.Weights {
		x := rule.Points[p*l.k : (p+1)*l.k]
		constant := math.Log(w) + float64(l.k)*special.HalfLogTwoPi
		for _, v := range x {
			constant += v * v / 2
		}
		terms[p] = b.Add(l.at(l.point(mode, spread, x)), b.Number(constant))
	}
	for i := range l.k {
		rest = append(rest, b.Apply(ir.Log, spread[i][i]))
	}
	return b.Add(b.Apply(ir.LogSumExp, b.Apply(ir.Stack, terms...)), rest...)
}

// split divides the terms of the sum e into a part that depends on latents, the unobserved numbers
// of a record, and the rest.
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

func (b *Builder) sub(x, y Expr) Expr { return b.Apply(ir.Sub, x, y) }
func (b *Builder) div(x, y Expr) Expr { return b.Apply(ir.Div, x, y) }

// clamp limits x to the interval [−limit, limit].
func (b *Builder) clamp(x, limit Expr) Expr {
	return b.Apply(ir.Max, b.Apply(ir.Min, x, limit), b.Apply(ir.Neg, limit))
}

// laplace searches for the mode of a function of k latents, the log of an integrand, and for its
// curvature there. It adds the necessary expressions to the program.
type laplace struct {
	*Builder
	at    func(u []Expr) Expr
	k     int
	least float64 // see [Quadrature]
}

// evaluations returns the number of times that one search step evaluates the function.
func (l laplace) evaluations() int {
	if l.k == 1 {
		return len(stencil)
	}
	return len(stencil) + 6 // the stencil on a line, and 6 more points in the plane
}

// A triangle is an upper triangular matrix with one or two rows.
type triangle [2][2]Expr

// mode returns the mode u of the function, and a matrix S with SSᵀ = A⁻¹, where A is minus the
// matrix of second derivatives near the mode.
func (l laplace) mode() (u []Expr, spread triangle) {
	for range l.k {
		u = append(u, l.Detach(l.Number(0)))
	}
	for range searchSteps {
		if l.k == 1 {
			move, precision := l.along(u, []Expr{l.Number(1)})
			u, spread[0][0] = []Expr{l.Add(u[0], move)}, l.Apply(ir.Inv, l.Apply(ir.Sqrt, precision))
			continue
		}
		var direction []Expr
		direction, spread = l.newton(u)
		move, _ := l.along(u, direction)
		u = l.moved(u, direction, move)
	}
	return u, spread
}

// moved returns u + by·direction.
func (l laplace) moved(u, direction []Expr, by Expr) []Expr {
	to := make([]Expr, l.k)
	for i := range to {
		to[i] = l.Add(u[i], l.Mul(by, direction[i]))
	}
	return to
}

// stencil holds the points at which [laplace.along] evaluates the function. They are distances from
// the current point in units of latentStep.
var stencil = []float64{-1.5, -.5, .5, 1.5}

// along searches for the mode of the function on the line through u in a direction of length 1. It
// returns the signed length of the step to the mode, and the precision there.
//
// Newton's step ends at the mode if the second derivative is constant. But many log densities have
// terms such as eᵘ. Therefore along assumes that the second derivative is proportional to
// e^(rate·u). If Newton's step is n, the step to the mode is
//
//	log(1 + rate·n)/rate,
//
// and on the way the second derivative changes by the factor 1 + rate·n.
func (l laplace) along(u, direction []Expr) (move, precision Expr) {
	var f [4]Expr
	for i, x := range stencil {
		f[i] = l.at(l.moved(u, direction, l.Number(x*latentStep)))
	}
	outer, inner := l.sub(f[3], f[0]), l.sub(f[2], f[1])
	slope := l.times(inner, 1/latentStep)
	precision = l.times(l.sub(l.Add(f[1], f[2]), l.Add(f[0], f[3])), 1/(2*latentStep*latentStep))
	third := l.times(l.sub(l.times(inner, 3), outer), 1/(latentStep*latentStep*latentStep)) // derivative of the precision

	precision = l.atLeast(l.Apply(ir.Abs, precision), l.least)
	inverse := l.Apply(ir.Inv, precision)
	newton := l.Mul(slope, inverse)
	factor := l.Add(l.Mul(l.Mul(third, inverse), newton), l.Number(1))
	factor = l.atLeast(l.Apply(ir.Min, factor, l.Number(mostGrowth)), 1/mostGrowth)
	growth, tiny := l.sub(factor, l.Number(1)), l.Number(1e-12) // this makes the quotient 1 where growth is 0
	bend := l.div(l.Add(l.Mul(growth, l.Apply(ir.Log, factor)), tiny), l.Add(l.Apply(ir.Square, growth), tiny))
	move = l.clamp(l.Mul(newton, bend), l.Number(longestStep))
	return move, l.atLeast(l.Mul(precision, factor), l.least)
}

func (l laplace) atLeast(x Expr, least float64) Expr { return l.Apply(ir.Max, x, l.Number(least)) }

func (l laplace) times(x Expr, by float64) Expr { return l.Mul(x, l.Number(by)) }

// newton computes Newton's step from u for two latents, and returns its direction with length 1. It
// also returns S with SSᵀ = A⁻¹, where A is minus the matrix of second derivatives at u. The
// derivatives are finite differences.
func (l laplace) newton(u []Expr) (direction []Expr, spread triangle) {
	f := func(x, y float64) Expr {
		return l.at([]Expr{l.Add(u[0], l.Number(x*latentStep)), l.Add(u[1], l.Number(y*latentStep))})
	}
	at, up, square := f(0, 0), []Expr{f(1, 0), f(0, 1)}, 1/(latentStep*latentStep)
	var slope []Expr
	var precision triangle
	for i, down := range []Expr{f(-1, 0), f(0, -1)} {
		slope = append(slope, l.times(l.sub(up[i], down), 1/(2*latentStep)))
		precision[i][i] = l.times(l.sub(l.sub(at, up[i]), l.sub(down, at)), square)
	}
	precision[0][1] = l.times(l.sub(l.sub(up[0], at), l.sub(f(1, 1), up[1])), square)
	spread = l.inverseRoot(precision)
	y := []Expr{l.Mul(spread[0][0], slope[0]), l.Add(l.Mul(spread[0][1], slope[0]), l.Mul(spread[1][1], slope[1]))}
	step := l.product(spread, y)
	length := l.Apply(ir.Sqrt, l.Add(l.Apply(ir.Square, step[0]), l.Apply(ir.Square, step[1]), l.Number(1e-12)))
	for _, x := range step {
		direction = append(direction, l.div(x, length))
	}
	return direction, spread
}

// inverseRoot returns S with SSᵀ = A⁻¹ for a 2×2 matrix A. It first makes A positive definite: it
// raises the diagonal to l.least, and limits the correlation to ±mostCorrelation.
func (l laplace) inverseRoot(a triangle) (s triangle) {
	sd := func(i int) Expr { return l.Apply(ir.Sqrt, l.atLeast(a[i][i], l.least)) }
	s[0][0] = l.Apply(ir.Inv, sd(0))
	second := sd(1)
	across := l.clamp(l.Mul(a[0][1], s[0][0]), l.times(second, mostCorrelation))
	s[1][1] = l.Apply(ir.Inv, l.Apply(ir.Sqrt, l.sub(l.Apply(ir.Square, second), l.Apply(ir.Square, across))))
	s[0][1] = l.Apply(ir.Neg, l.Mul(l.Mul(across, s[0][0]), s[1][1]))
	return s
}

// product returns Sx.
func (l laplace) product(s triangle, x []Expr) (y []Expr) {
	for i := range l.k {
		sum := l.Mul(s[i][i], x[i])
		for j := i + 1; j < l.k; j++ {
			sum = l.Add(sum, l.Mul(s[i][j], x[j]))
		}
		y = append(y, sum)
	}
	return y
}

// point returns u + Sx.
func (l laplace) point(u []Expr, spread triangle, x []float64) (to []Expr) {
	numbers := make([]Expr, l.k)
	for i, v := range x {
		numbers[i] = l.Number(v)
	}
	for i, move := range l.product(spread, numbers) {
		to = append(to, l.Add(u[i], move))
	}
	return to
}
