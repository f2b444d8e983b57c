package tape

import (
	"math"

	"fedpvi/internal/special"
	"fedpvi/pvi/model/ir"
)

// constrain converts u to constrained values, which it writes to x, and returns the log absolute
// determinant of the Jacobian. For a simplex, the Jacobian leaves out the last element of x,
// because the others determine it.
func constrain(c ir.Constraint, x, u []float64) (logJacobian float64) {
	switch c.Kind {
	case ir.Unconstrained:
		copy(x, u)
	case ir.Lower:
		for i, v := range u {
			x[i] = c.Lower + math.Exp(v)
			logJacobian += v
		}
	case ir.Upper:
		for i, v := range u {
			x[i] = c.Upper - math.Exp(v)
			logJacobian += v
		}
	case ir.Both:
		for i, v := range u {
			x[i] = c.Lower + (c.Upper-c.Lower)*special.InvLogit(v)
			logJacobian += math.Log(c.Upper-c.Lower) - special.Softplus(v) - special.Softplus(-v)
		}
	case ir.Simplex:
		logJacobian = breakStick(x, u)
	case ir.Ordered:
		x[0] = u[0]
		for i := 1; i < len(u); i++ {
			x[i] = x[i-1] + math.Exp(u[i])
			logJacobian += u[i]
		}
	}
	return logJacobian
}

// breakStick writes K positive numbers with sum 1 to x and returns the log Jacobian. The numbers
// are pieces of a stick of length 1. For k = 1..K−1, piece k is the fraction σ(u_k − log(K−k)) of
// the remaining stick, where σ is the logistic function. So u = 0 gives equal pieces. (Stan used
// the same transform up to release 2.36.)
func breakStick(x, u []float64) (logJacobian float64) {
	left := 0. // log of the length that remains
	for k, v := range u {
		z := v - math.Log(float64(len(u)-k))
		share, rest := -special.Softplus(-z), -special.Softplus(z)
		x[k] = math.Exp(left + share)
		logJacobian += left + share + rest
		left += rest
	}
	x[len(u)] = math.Exp(left)
	return logJacobian
}

// pull is the backward step of [constrain]. adj is the gradient of a function f with respect to x.
// pull adds the gradient of f(x(u)) with respect to u to g, plus jacobian times the gradient of the
// log Jacobian.
func pull(c ir.Constraint, g, adj, x, u []float64, jacobian float64) {
	switch c.Kind {
	case ir.Unconstrained:
		for i := range g {
			g[i] += adj[i]
		}
	case ir.Lower:
		for i := range g {
			g[i] += adj[i]*math.Exp(u[i]) + jacobian
		}
	case ir.Upper:
		for i := range g {
			g[i] += jacobian - adj[i]*math.Exp(u[i])
		}
	case ir.Both:
		for i, v := range u {
			s, r := special.InvLogit(v), special.InvLogit(-v)
			g[i] += adj[i]*(c.Upper-c.Lower)*s*r + jacobian*(r-s)
		}
	case ir.Simplex:
		mendStick(g, adj, x, u, jacobian)
	case ir.Ordered:
		tail := 0.
		for i := len(u) - 1; i > 0; i-- {
			tail += adj[i]
			g[i] += tail*math.Exp(u[i]) + jacobian
		}
		g[0] += tail + adj[0]
	}
}

func mendStick(g, adj, x, u []float64, jacobian float64) {
	k := len(u)
	left := x[k] * adj[k] // adjoint of the log of the length that remains
	for k--; k >= 0; k-- {
		z := u[k] - math.Log(float64(len(u)-k))
		share := x[k]*adj[k] + jacobian
		rest := left + jacobian
		left += x[k]*adj[k] + jacobian
		g[k] += share*special.InvLogit(-z) - rest*special.InvLogit(z)
	}
}
