package program

import (
	"math"
	"slices"

	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// A pencil is a [pen] for random numbers that all have the same shape.
type pencil struct {
	pen
	shape  shape
	record bool // whether each record has its own numbers
}

// random returns the value of a call such as normal_rng(mu, sigma). name is the density, without
// the suffix.
func (s *stager) random(name string, e *syntax.Expr) value {
	if !s.generating {
		s.fail("E401", e.At, "%s draws a random number, which a log density does not have. Move it to the generated quantities.", e.Text)
	}
	d := s.densityOf(name, e.At)
	if d.draw == nil {
		s.fail("E403", e.At, "the function %s is not in the language.", e.Text)
	}
	variate := &syntax.Expr{Kind: syntax.Number, Value: 1, Whole: true, At: e.At}
	_, args := s.arguments(d, name, variate, e.Args, e.At)
	return s.drawn(d, args, s.loop > 0, e.At)
}

// drawn returns random numbers from the density d. args holds the arguments after d.change was
// applied. If they are containers of the same shape, the result is a container of independent
// numbers.
func (s *stager) drawn(d density, args []value, record bool, at syntax.Span) value {
	p, role := pencil{pen: pen{s, at}}, plain
	for k, a := range args {
		for _, b := range args[:k+1] {
			role = max(role, s.roleOf(a, b, at))
		}
		switch {
		case d.vector || a.shape.single():
		case !p.shape.single() && !p.shape.equal(a.shape):
			s.fail("E402", at, "the sizes do not fit: %v and %v.", p.shape.dims, a.shape.dims)
		default:
			p.shape = a.shape
		}
	}
	p.record = record || role == rows
	args = slices.Clone(args)
	for k := range args {
		args[k].role = plain
	}
	out := d.draw(p, args)
	out.role, out.whole, out.from = role, d.whole, nil
	return out
}

// law draws random numbers by an operation of record programs.
func (p pencil) law(law ir.Law, args ...value) value {
	for k, a := range args {
		if !p.shape.single() {
			args[k] = p.add(constants(p.shape, make([]float64, p.shape.size())), a)
		}
	}
	return value{shape: p.shape, known: true, in: real, node: p.b.Draw(law, p.record, p.nodesOf(args)...)}
}

// normal returns standard normal numbers.
func (p pencil) normal() value { return p.law(ir.NormalLaw, constant(0), constant(1)) }

// uniform returns numbers with the uniform distribution on (0, 1).
func (p pencil) uniform() value { return p.is(ir.Phi, p.normal()) }

// logUniform returns logs of uniform numbers on (0, 1).
func (p pencil) logUniform() value { return p.is(ir.LogPhi, p.normal()) }

func (p pencil) gamma(shape value) value { return p.law(ir.GammaLaw, shape, constant(1)) }

// shifted returns a[0] + a[1]·x.
func (p pencil) shifted(a []value, x value) value { return p.add(a[0], p.mul(a[1], x)) }

func drawNormal(p pencil, a []value) value { return p.shifted(a, p.normal()) }

func drawStudent(p pencil, a []value) value {
	half := p.mul(a[0], constant(.5))
	return p.shifted(a[1:], p.div(p.normal(), p.is(ir.Sqrt, p.div(p.gamma(half), half))))
}

func drawCauchy(p pencil, a []value) value { return p.shifted(a, p.div(p.normal(), p.normal())) }

func drawLaplace(p pencil, a []value) value {
	return p.shifted(a, p.sub(p.logUniform(), p.logUniform()))
}

func drawLogistic(p pencil, a []value) value {
	z := p.normal()
	return p.shifted(a, p.sub(p.is(ir.LogPhi, z), p.is(ir.LogPhi, p.neg(z))))
}

func drawGumbel(p pencil, a []value) value {
	return p.shifted(a, p.neg(p.log(p.neg(p.logUniform()))))
}

func drawLogNormal(p pencil, a []value) value { return p.is(ir.Exp, drawNormal(p, a)) }

func drawGamma(p pencil, a []value) value { return p.law(ir.GammaLaw, a[0], a[1]) }

func drawInvGamma(p pencil, a []value) value { return p.div(a[1], p.gamma(a[0])) }

func drawExponential(p pencil, a []value) value { return p.div(p.neg(p.logUniform()), a[0]) }

func drawWeibull(p pencil, a []value) value {
	return p.mul(a[1], p.is(ir.Exp, p.div(p.log(p.neg(p.logUniform())), a[0])))
}

func drawBeta(p pencil, a []value) value {
	first, second := p.gamma(a[0]), p.gamma(a[1])
	return p.div(first, p.add(first, second))
}

func drawUniform(p pencil, a []value) value {
	return p.add(a[0], p.mul(p.sub(a[1], a[0]), p.uniform()))
}

func drawBernoulli(p pencil, a []value) value {
	return p.binary(ir.Less, p.uniform(), a[0], p.at)
}

func drawBernoulliLogit(p pencil, a []value) value {
	return drawBernoulli(p, []value{p.is(ir.InvLogit, a[0])})
}

func drawBinomial(p pencil, a []value) value { return p.law(ir.BinomialLaw, a[0], a[1]) }

func drawBinomialLogit(p pencil, a []value) value {
	return p.law(ir.BinomialLaw, a[0], p.is(ir.InvLogit, a[1]))
}

func drawBetaBinomial(p pencil, a []value) value {
	return p.law(ir.BinomialLaw, a[0], drawBeta(p, a[1:]))
}

func drawPoissonLog(p pencil, a []value) value { return p.law(ir.PoissonLaw, p.is(ir.Exp, a[0])) }

func drawNegBinomialLog(p pencil, a []value) value {
	factor := p.div(p.gamma(a[1]), a[1])
	return p.law(ir.PoissonLaw, p.mul(factor, p.is(ir.Exp, a[0])))
}

// drawCategorical draws a class, numbered from 1, given the log odds a[0].
func drawCategorical(p pencil, a []value) value {
	logits := a[0]
	p.few(len(logits.shape.dims) == 1, logits.shape.size())
	probabilities := value{shape: logits.shape, known: true, in: real}
	if logits.fixed() {
		top := slices.Max(logits.numbers)
		for _, x := range logits.numbers {
			probabilities.numbers = append(probabilities.numbers, math.Exp(x-top))
		}
		probabilities = p.div(probabilities, p.sum(probabilities, p.at))
	} else {
		probabilities.node = p.b.Apply(ir.Softmax, p.nodeOf(logits))
	}
	parts := p.scalars(probabilities, p.at)
	below, reached := constant(0), make([]value, len(parts)-1)
	for k := range reached {
		below = p.add(below, parts[k])
		reached[k] = below
	}
	return p.class(reached)
}

// class draws a class from 1 to len(upTo) + 1. The class is at most k + 1 with probability upTo[k].
func (p pencil) class(upTo []value) value {
	u, out := p.uniform(), constant(1)
	for _, probability := range upTo {
		out = p.add(out, p.not(p.binary(ir.Less, u, probability, p.at)))
	}
	return out
}

// few refuses a random class if there are more than mostPicked classes. If vector is false, it also
// refuses arguments that belong to more than a single record.
func (p pencil) few(vector bool, n int) {
	if !vector || n > mostPicked {
		p.fail("E402", p.at, "a random class needs the arguments of one record, with at most %d classes. Write a loop over the records.", mostPicked)
	}
}

func drawOrdered(p pencil, a []value) value       { return p.ordered(a, ir.InvLogit) }
func drawOrderedProbit(p pencil, a []value) value { return p.ordered(a, ir.Phi) }

// ordered draws a class, numbered from 1. a holds the predictor η and the cut points c. The class
// is at most k with probability F(c_k − η), where below computes F.
func (p pencil) ordered(a []value, below ir.Op) value {
	eta, cuts := a[0], a[1]
	p.few(eta.shape.single() && len(cuts.shape.dims) == 1, cuts.shape.size()+1)
	var reached []value
	for _, cut := range p.scalars(cuts, p.at) {
		reached = append(reached, p.is(below, p.sub(cut, eta)))
	}
	return p.class(reached)
}
