package tape

import (
	"math"

	"fedpvi/internal/special"
	"fedpvi/pvi/model/ir"
)

// priorTerm returns the log density d at x, and its derivatives with respect to x and up to three
// arguments. Except for Uniform and Dirichlet, the density is normalised over its whole support. If
// a constraint excludes part of the support, as with a half-Cauchy prior, the log density is too
// small by a constant.
func priorTerm(d ir.Density, x float64, a [3]float64) (value, dx float64, da [3]float64) {
	switch d {
	case ir.Normal:
		z := (x - a[0]) / a[1]
		dx = -z / a[1]
		return -.5*z*z - math.Log(a[1]) - special.HalfLogTwoPi, dx, [3]float64{-dx, (z*z - 1) / a[1]}
	case ir.Uniform: // this omits a constant, the log of the width
		return 0, 0, da
	case ir.LogNormal:
		value, dx, da = priorTerm(ir.Normal, math.Log(x), a)
		return value - math.Log(x), (dx - 1) / x, da
	case ir.Logistic:
		z := (x - a[0]) / a[1]
		w := 2*special.InvLogit(z) - 1
		return -special.Softplus(z) - special.Softplus(-z) - math.Log(a[1]), -w / a[1], [3]float64{w / a[1], (z*w - 1) / a[1]}
	case ir.DoubleExponential:
		z := (x - a[0]) / a[1]
		sign := math.Copysign(1, z)
		return -math.Abs(z) - math.Log(2*a[1]), -sign / a[1], [3]float64{sign / a[1], (math.Abs(z) - 1) / a[1]}
	case ir.Weibull:
		l := math.Log(x / a[1])
		w := math.Exp(a[0] * l)
		return math.Log(a[0]/a[1]) + (a[0]-1)*l - w, (a[0] - 1 - a[0]*w) / x, [3]float64{1/a[0] + l - w*l, a[0] / a[1] * (w - 1)}
	case ir.Cauchy:
		z := (x - a[0]) / a[1]
		w := 2 * z / (1 + z*z)
		dx = -w / a[1]
		return -math.Log1p(z*z) - math.Log(a[1]) - logPi, dx, [3]float64{-dx, (w*z - 1) / a[1]}
	case ir.StudentT:
		return priorStudent(x, a)
	case ir.Gamma:
		logX, logB := math.Log(x), math.Log(a[1])
		return a[0]*logB - special.Lgamma(a[0]) + (a[0]-1)*logX - a[1]*x, (a[0]-1)/x - a[1],
			[3]float64{logB + logX - special.Digamma(a[0]), a[0]/a[1] - x}
	case ir.InvGamma:
		logX, logB := math.Log(x), math.Log(a[1])
		return a[0]*logB - special.Lgamma(a[0]) - (a[0]+1)*logX - a[1]/x, (a[1]/x - a[0] - 1) / x,
			[3]float64{logB - logX - special.Digamma(a[0]), a[0]/a[1] - 1/x}
	case ir.Exponential:
		return math.Log(a[0]) - a[0]*x, -a[0], [3]float64{1/a[0] - x}
	case ir.Beta:
		logX, logR := math.Log(x), math.Log1p(-x)
		ab := special.Digamma(a[0] + a[1])
		value = special.Lgamma(a[0]+a[1]) - special.Lgamma(a[0]) - special.Lgamma(a[1]) + (a[0]-1)*logX + (a[1]-1)*logR
		return value, (a[0]-1)/x - (a[1]-1)/(1-x), [3]float64{ab - special.Digamma(a[0]) + logX, ab - special.Digamma(a[1]) + logR}
	// The method prior adds the rest of the normalising constant, which depends on the sum of the
	// concentrations.
	case ir.Dirichlet:
		return (a[0]-1)*math.Log(x) - special.Lgamma(a[0]), (a[0] - 1) / x, [3]float64{math.Log(x) - special.Digamma(a[0])}
	}
	return math.NaN(), math.NaN(), [3]float64{}
}

func priorStudent(x float64, a [3]float64) (value, dx float64, da [3]float64) {
	nu, sd := a[0], a[2]
	z := (x - a[1]) / sd
	norm, slope := studentNorm(nu), studentSlope(nu)
	l := math.Log1p(z * z / nu)
	w := (nu + 1) / (nu + z*z)
	dx = -w * z / sd
	return norm - math.Log(sd) - .5*(nu+1)*l, dx, [3]float64{.5 * (slope - l + w*z*z/nu), -dx, (w*z*z - 1) / sd}
}

// LogPrior returns the log density of the prior in the unconstrained space, including the log
// Jacobians, at the point that was last passed to Set. If grad is not nil, LogPrior adds the
// gradient to it.
func (s *Shared) LogPrior(grad []float64) float64 {
	total := s.logJacobian
	s.clear()
	for _, p := range s.v.Program().Priors {
		total += s.prior(&p)
	}
	for _, i := range s.v.Program().Factors {
		total += s.Value[i][0]
		s.Adjoint[i][0]++
	}
	if grad != nil {
		s.sweep(s.order)
		s.pullAll(grad, 1)
	}
	return total
}

func (s *Shared) prior(p *ir.Prior) (total float64) {
	x, adj := s.values[p.Parameter], s.adjoints[p.Parameter]
	var a [3]float64
	concentration, slope := 0., 0.
	if p.Density == ir.Dirichlet {
		for e := range x {
			concentration += s.argument(p.Args[0], e)
		}
		total, slope = special.Lgamma(concentration), special.Digamma(concentration)
	}
	for e := range x {
		for k, arg := range p.Args {
			a[k] = s.argument(arg, e)
		}
		value, dx, da := priorTerm(p.Density, x[e], a)
		total += value
		adj[e] += dx
		for k, arg := range p.Args {
			if s.active[arg] {
				s.Adjoint[arg][min(e, s.size[arg]-1)] += da[k]
				if p.Density == ir.Dirichlet {
					s.Adjoint[arg][min(e, s.size[arg]-1)] += slope
				}
			}
		}
	}
	return total
}

// ElementPrior returns the log density of the prior for element e of a parameter, at the
// unconstrained coordinate x and including the log Jacobian. The arguments of the prior must be
// constants, and the constraint must be elementwise.
func (s *Shared) ElementPrior(p *ir.Prior, e int, x float64) float64 {
	var value [1]float64
	var a [3]float64
	logJacobian := constrain(s.v.Program().Parameters[p.Parameter].Constraint, value[:], []float64{x})
	for k, arg := range p.Args {
		a[k] = s.argument(arg, e)
	}
	log, _, _ := priorTerm(p.Density, value[0], a)
	return log + logJacobian
}

func (s *Shared) argument(i, e int) float64 { return s.Value[i][min(e, s.size[i]-1)] }
