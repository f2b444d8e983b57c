package program

import (
	"strings"

	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// cumulative computes the distribution function F of a density with args arguments. below returns
// log F(y), and above returns log(1 − F(y)).
type cumulative struct {
	args         int
	below, above func(p pen, y value, a []value) value
}

var cumulatives = map[string]cumulative{
	"normal":     symmetric(2, ir.LogPhi, pen.standardised),
	"std_normal": symmetric(0, ir.LogPhi, func(_ pen, y value, _ []value) value { return y }),
	"lognormal":  symmetric(2, ir.LogPhi, func(p pen, y value, a []value) value { return p.standardised(p.log(y), a) }),
	"logistic":   symmetric(2, ir.LogInvLogit, pen.standardised),
	"exponential": {
		1, func(p pen, y value, a []value) value { return p.logRest(p.neg(p.mul(a[0], y))) },
		func(p pen, y value, a []value) value { return p.neg(p.mul(a[0], y)) },
	},
	"weibull": {2, func(p pen, y value, a []value) value { return p.logRest(p.weibullTail(y, a)) }, pen.weibullTail},
	"gumbel":  {2, pen.gumbelBelow, func(p pen, y value, a []value) value { return p.logRest(p.gumbelBelow(y, a)) }},
}

// symmetric returns the [cumulative] for a density with F(−z) = 1 − F(z), where z is the
// standardised variate. The operation log computes log F(z).
func symmetric(args int, log ir.Op, z func(p pen, y value, a []value) value) cumulative {
	return cumulative{
		args,
		func(p pen, y value, a []value) value { return p.is(log, z(p, y, a)) },
		func(p pen, y value, a []value) value { return p.is(log, p.neg(z(p, y, a))) },
	}
}

func (p pen) weibullTail(y value, a []value) value {
	return p.neg(p.is(ir.Exp, p.mul(a[0], p.sub(p.log(y), p.log(a[1])))))
}

func (p pen) gumbelBelow(y value, a []value) value {
	return p.neg(p.is(ir.Exp, p.neg(p.standardised(y, a))))
}

// logRest returns log(1 − eˣ).
func (p pen) logRest(x value) value { return p.log(p.neg(p.is(ir.Expm1, x))) }

// logDifference returns log(eˣ − eʸ) for x > y.
func (p pen) logDifference(x, y value) value { return p.add(x, p.logRest(p.sub(y, x))) }

// logBeta returns the logarithm of the beta function at (a, b).
func (p pen) logBeta(a, b value) value {
	return p.sub(p.add(p.is(ir.Lgamma, a), p.is(ir.Lgamma, b)), p.is(ir.Lgamma, p.add(a, b)))
}

// cumulativeName splits the name of a distribution function, such as normal_lccdf, into the density
// and the suffix. above is true if the function is the log of 1 minus the distribution function. ok
// is false for all other names.
func cumulativeName(name string) (density string, above, ok bool) {
	if density, ok = strings.CutSuffix(name, "_lccdf"); ok {
		return density, true, true
	}
	density, ok = strings.CutSuffix(name, "_lcdf")
	return density, false, ok
}

// cumulative returns the value of a call such as normal_lcdf(y | mu, sigma). If all arguments are
// constants, as in the correction for a half-normal prior, the value would only add a constant to
// the log density. In that case cumulative returns 0, which leads to the same posterior.
func (s *stager) cumulative(e *syntax.Expr) value {
	args, fixed := make([]value, len(e.Args)), true
	for k, a := range e.Args {
		args[k] = s.joined(s.eval(a), a.At)
		fixed = fixed && args[k].fixed()
	}
	if fixed {
		return constant(0)
	}
	name, above, _ := cumulativeName(e.Text)
	c := s.cumulativeOf(name, e.At)
	if len(args) != c.args+1 {
		s.fail("E402", e.At, "%s has a variate and %d arguments.", e.Text, c.args)
	}
	f := c.below
	if above {
		f = c.above
	}
	return s.sum(f(pen{s, e.At}, args[0], args[1:]), e.At)
}

func (s *stager) cumulativeOf(name string, at syntax.Span) cumulative {
	c, ok := cumulatives[name]
	if !ok {
		s.fail("E403", at, "the distribution function of %s is in the language only for constants.", name)
	}
	return c
}

// probability returns the term that truncation adds to a log density: minus the log of the
// probability between the bounds.
func (s *stager) probability(t *syntax.Statement) value {
	p := pen{s, *t.Truncated}
	c := s.cumulativeOf(t.Name, p.at)
	y, args := s.arguments(density{args: c.args}, t.Name, t.Target, t.Args, p.at)
	bound := func(e *syntax.Expr) *value {
		if e == nil {
			return nil
		}
		v := s.joined(s.eval(e), e.At)
		if p := s.phase(v); p != ir.Fixed && p != ir.Data || !v.shape.single() || !y.shape.single() {
			s.fail("E402", e.At, "the bound of a truncated density must be a constant or a number of the row.")
		}
		return &v
	}
	low, high := bound(t.Low), bound(t.High)
	var log value
	switch {
	case low == nil && high == nil:
		s.fail("E402", p.at, "a truncated density needs a lower or an upper bound.")
	case high == nil:
		log = c.above(p, *low, args)
	case low == nil:
		log = c.below(p, *high, args)
	default:
		log = p.logDifference(c.below(p, *high, args), c.below(p, *low, args))
	}
	if y.role == rows {
		log.role = rows
	}
	return s.sum(p.neg(log), p.at)
}
