package program

import (
	"math"
	"slices"
	"strings"

	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program/syntax"
)

// suffixes lists the endings that names of log density functions may have.
var suffixes = []string{"_lpdf", "_lpmf", "_lupdf", "_lupmf"}

// densityName returns the name of the density in a call such as normal_lpdf(y | mu, sigma), or
// false if e is not such a call.
func densityName(e *syntax.Expr) (string, bool) {
	if e.Kind != syntax.Apply {
		return "", false
	}
	return densityIn(e.Text)
}

// densityIn removes the suffix from a name such as normal_lpdf. It returns false if the name has no
// such suffix.
func densityIn(function string) (string, bool) {
	for _, suffix := range suffixes {
		if name, ok := strings.CutSuffix(function, suffix); ok {
			return name, true
		}
	}
	return "", false
}

// A density is a probability density in the Stan language. It has args arguments.
type density struct {
	args int
	// write computes the log density of each element of y from simpler operations, given the arguments
	// a. It is nil if this can be done only by fused.
	write func(p pen, y value, a []value) value
	// fused is the operation of record programs that computes this density in one step, or NoDensity
	// if there is none. It requires that the variate depends only on the row.
	fused ir.Density
	// prior is the density that record programs use for a parameter with this prior, or NoDensity if
	// there is none.
	prior ir.Density
	// change converts the variate and the arguments from the form in Stan to the form that fused,
	// prior and write use. It may be nil.
	change func(p pen, y value, a []value) (value, []value)
	// draw returns random numbers from this density. It is nil if the language cannot draw them.
	draw func(p pencil, a []value) value
	// mean returns the mean of the density. It is nil if the compiler cannot compute it.
	mean func(p pen, a []value) value
	// vector is true if even a single variate has a vector as argument, such as the log odds of
	// classes.
	vector bool
	// whole is true if the variate must be an integer, at least least.
	whole bool
	least float64
}

func (s *stager) densityOf(name string, at syntax.Span) density {
	d, ok := densities[name]
	if !ok {
		instead := ""
		switch {
		case strings.HasPrefix(name, "multi_normal"):
			instead = ": write independent normal densities"
		case strings.HasPrefix(name, "lkj"):
			instead = ": declare cholesky_factor_corr[K] L and write L ~ lkj_corr_cholesky(2)"
		}
		s.fail("E403", at, "the density %s is not in the language yet%s.", name, instead)
	}
	return d
}

// tilde evaluates a statement such as y ~ normal(mu, sigma). It may end with a truncation.
func (s *stager) tilde(t *syntax.Statement) {
	s.inModel(t.At)
	if t.Truncated != nil {
		s.truncated(t)
	}
	for _, suffix := range suffixes {
		if f := s.functions[t.Name+suffix]; f != nil {
			s.add(s.evaluate(f, append([]*syntax.Expr{t.Target}, t.Args...), t.At), t.At)
			return
		}
	}
	s.density(t.Name, t.Target, t.Args, t.At)
}

// truncated adds the term for a truncation to the log density: minus the log of the probability
// between the bounds. If a prior has constant arguments and is truncated at the bounds of its
// parameter, this term is constant and is left out. A parameter's density may not be truncated in
// any other way.
func (s *stager) truncated(t *syntax.Statement) {
	fixed := true
	for _, a := range t.Args {
		v := s.eval(a)
		fixed = fixed && v.fixed()
	}
	v := s.eval(t.Target)
	if v.from == nil {
		s.add(s.probability(t), *t.Truncated)
		return
	}
	if !fixed || s.loop > 0 {
		s.fail("E403", *t.Truncated, "a truncated density of a parameter is in the language only as its prior, with constant arguments.")
	}
	c := v.from.constraint
	declared := func(e *syntax.Expr, kind ir.ConstraintKind, at float64) {
		if e == nil {
			return
		}
		if bound := s.eval(e); !bound.fixed() || bound.number() != at || c.Kind != kind && c.Kind != ir.Both {
			s.fail("E403", e.At, "the truncation must be the bound with which %s is declared.", v.from.name)
		}
	}
	declared(t.Low, ir.Lower, c.Lower)
	declared(t.High, ir.Upper, c.Upper)
}

// density adds the log density of a variate to the program. If the variate consists of elements of
// a parameter, the density becomes their prior where possible. In all other cases it becomes a term
// of the log density.
func (s *stager) density(name string, variate *syntax.Expr, arguments []*syntax.Expr, at syntax.Span) {
	if name == "lkj_corr_cholesky" {
		s.correlation(variate, arguments, at)
		return
	}
	d := s.densityOf(name, at)
	y, args := s.arguments(d, name, variate, arguments, at)
	if s.addProper(d, name, y, args, at) {
		return
	}
	if s.phase(y) == ir.Data {
		if !s.mask.known {
			s.variates = append(s.variates, y)
		}
		s.outcome = outcome{nameOf(variate), d, y, slices.Clone(args), s.mask.known}
	}
	s.add(s.termOf(d, name, y, args, at), at)
}

func (s *stager) densityValue(name string, e *syntax.Expr) value {
	d := s.densityOf(name, e.At)
	if len(e.Args) == 0 {
		s.fail("E402", e.At, "%s needs a variate.", e.Text)
	}
	y, args := s.arguments(d, name, e.Args[0], e.Args[1:], e.At)
	return s.termOf(d, name, y, args, e.At)
}

func (s *stager) arguments(d density, name string, variate *syntax.Expr, arguments []*syntax.Expr, at syntax.Span) (y value, args []value) {
	if len(arguments) != d.args {
		s.fail("E402", at, "%s has %d arguments, not %d.", name, d.args, len(arguments))
	}
	y = s.joined(s.eval(variate), variate.At)
	for _, a := range arguments {
		args = append(args, s.joined(s.eval(a), a.At))
	}
	for _, v := range append(args, y) {
		if v.role != plain && v.role != rows {
			s.fail("E206", at, "%s has no density.", said(v.role, v.shape))
		}
	}
	if d.change != nil {
		y, args = d.change(pen{s, at}, y, args)
	}
	return y, args
}

// isPrior reports whether a density statement looks like a prior. That requires that y consists of
// elements of one parameter, that the arguments do not depend on a record, and that the statement
// is neither in a loop over records nor under a condition.
func (s *stager) isPrior(y value, args []value) bool {
	if y.from == nil || y.role != plain || s.loop > 0 || s.mask.known {
		return false
	}
	for _, a := range args {
		if p := s.phase(a); a.role != plain || p != ir.Fixed && p != ir.Shared {
			return false
		}
		if y.mixed && !a.shape.single() {
			return false
		}
	}
	return true
}

// termOf returns the sum of the log densities of the elements of y. It refuses a variate that may
// have values outside the domain of the density.
func (s *stager) termOf(d density, name string, y value, args []value, at syntax.Span) value {
	if d.whole && (!y.in.Whole || !(y.in.Low >= d.least)) {
		s.fail("E402", at, "%s is a density of whole numbers from %g on: declare the variate int<lower=%g>, with such bounds of the column.", name, d.least, d.least)
	}
	if out, ok := s.fused(d, y, args, at); ok {
		return out
	}
	if d.write == nil {
		s.fail("E403", at, "%s is in the language only as the prior of a parameter and for data of the row.", name)
	}
	out := s.sum(d.write(pen{s, at}, y, args), at)
	s.markDensity(y, out)
	return out
}

// markDensity tells the builder that out is the log density of a variate. It does so only if the
// variate is data and out depends on a record and on parameters.
func (s *stager) markDensity(variate, out value) {
	if s.phase(variate) == ir.Data && s.phase(out) == ir.Record {
		s.b.MarkDensity(s.nodeOf(out), s.nodeOf(variate))
	}
}

// fused computes the log density of y by a single density operation. It returns false if there is
// no such operation.
func (s *stager) fused(d density, y value, args []value, at syntax.Span) (value, bool) {
	if d.fused == ir.NoDensity || s.phase(y) != ir.Data {
		return value{}, false
	}
	info, _ := d.fused.Info()
	of, role := y.shape, y.role
	for k, a := range args {
		if info.Positive[k] && !a.above {
			return value{}, false
		}
		if d.fused == ir.Categorical {
			continue
		}
		role = s.roleOf(value{role: role, shape: of, node: y.node, known: true}, a, at)
		switch {
		case of.single():
			of = a.shape
		case !a.shape.single() && !a.shape.equal(of):
			s.fail("E402", at, "the sizes do not fit: %v and %v.", of.dims, a.shape.dims)
		}
	}
	out := value{role: role, shape: of, known: true, in: real}
	for k, a := range args {
		args[k] = s.asProduct(a, at)
	}
	out.node = s.b.LogDensity(d.fused, y.node, s.nodesOf(args)...)
	return s.sum(out, at), true
}

var densities map[string]density

// logRoot2Pi is log √(2π).
const logRoot2Pi = .918938533204672741780329736406

func init() {
	densities = map[string]density{
		"normal":             {args: 2, write: writeNormal, draw: drawNormal, mean: meanFirst, fused: ir.Normal, prior: ir.Normal},
		"std_normal":         {write: writeNormal, draw: drawNormal, mean: meanFirst, fused: ir.Normal, prior: ir.Normal, change: standard},
		"student_t":          {args: 3, write: writeStudent, draw: drawStudent, mean: meanStudent, fused: ir.StudentT, prior: ir.StudentT},
		"cauchy":             {args: 2, write: writeCauchy, draw: drawCauchy, prior: ir.Cauchy},
		"double_exponential": {args: 2, write: writeLaplace, draw: drawLaplace, mean: meanFirst, prior: ir.DoubleExponential},
		"logistic":           {args: 2, write: writeLogistic, draw: drawLogistic, mean: meanFirst, prior: ir.Logistic},
		"gumbel":             {args: 2, write: writeGumbel, draw: drawGumbel, mean: meanGumbel},
		"lognormal":          {args: 2, write: writeLogNormal, draw: drawLogNormal, mean: meanLogNormal, prior: ir.LogNormal},
		"gamma":              {args: 2, write: writeGamma, draw: drawGamma, mean: meanGamma, prior: ir.Gamma},
		"inv_gamma":          {args: 2, write: writeInvGamma, draw: drawInvGamma, prior: ir.InvGamma},
		"chi_square":         {args: 1, write: writeGamma, draw: drawGamma, mean: meanGamma, prior: ir.Gamma, change: chiSquare},
		"exponential":        {args: 1, write: writeExponential, draw: drawExponential, mean: meanExponential, prior: ir.Exponential},
		"weibull":            {args: 2, write: writeWeibull, draw: drawWeibull, mean: meanWeibull, prior: ir.Weibull},
		"beta":               {args: 2, write: writeBeta, draw: drawBeta, mean: meanBeta, prior: ir.Beta},
		"beta_proportion":    {args: 2, write: writeBeta, draw: drawBeta, mean: meanBeta, prior: ir.Beta, change: proportion},
		"uniform":            {args: 2, write: writeUniform, draw: drawUniform, mean: meanUniform},
		"dirichlet":          {args: 1, prior: ir.Dirichlet},

		"bernoulli":           {args: 1, write: writeBernoulli, draw: drawBernoulli, mean: meanFirst, whole: true},
		"bernoulli_logit":     {args: 1, write: writeBernoulliLogit, draw: drawBernoulliLogit, mean: meanLogit, fused: ir.BernoulliLogit, whole: true},
		"bernoulli_logit_glm": {args: 3, write: writeBernoulliLogit, draw: drawBernoulliLogit, mean: meanLogit, fused: ir.BernoulliLogit, change: linear, whole: true},
		"binomial":            {args: 2, write: writeBinomial, draw: drawBinomial, mean: meanBinomial, whole: true},
		"beta_binomial":       {args: 3, write: writeBetaBinomial, draw: drawBetaBinomial, mean: meanBetaBinomial, whole: true},
		"binomial_logit":      {args: 2, write: writeBinomialLogit, draw: drawBinomialLogit, mean: meanBinomialLogit, whole: true},
		"poisson":             {args: 1, write: writePoissonLog, draw: drawPoissonLog, mean: meanLog, fused: ir.PoissonLog, change: logFirst, whole: true},
		"poisson_log":         {args: 1, write: writePoissonLog, draw: drawPoissonLog, mean: meanLog, fused: ir.PoissonLog, whole: true},
		"poisson_log_glm":     {args: 3, write: writePoissonLog, draw: drawPoissonLog, mean: meanLog, fused: ir.PoissonLog, change: linear, whole: true},
		"neg_binomial_2":      {args: 2, draw: drawNegBinomialLog, mean: meanLog, fused: ir.NegBinomialLog, change: logFirst, whole: true},
		"neg_binomial_2_log":  {args: 2, draw: drawNegBinomialLog, mean: meanLog, fused: ir.NegBinomialLog, whole: true},
		"neg_binomial_2_log_glm": {
			args: 4, fused: ir.NegBinomialLog, draw: drawNegBinomialLog, mean: meanLog, change: linear, whole: true,
		},
		"normal_id_glm":     {args: 4, write: writeNormal, draw: drawNormal, mean: meanFirst, fused: ir.Normal, change: linear},
		"categorical_logit": {args: 1, vector: true, draw: drawCategorical, fused: ir.Categorical, change: fromZero, whole: true},
		"categorical":       {args: 1, vector: true, draw: drawCategorical, fused: ir.Categorical, change: logOdds, whole: true},
		"ordered_logistic":  {args: 2, vector: true, write: writeOrdered, draw: drawOrdered, whole: true, least: 1},
		"ordered_probit":    {args: 2, vector: true, write: writeOrderedProbit, draw: drawOrderedProbit, whole: true, least: 1},
	}
}

func standard(_ pen, y value, _ []value) (value, []value) {
	return y, []value{constant(0), constant(1)}
}

func chiSquare(p pen, y value, a []value) (value, []value) {
	return y, []value{p.mul(a[0], constant(.5)), constant(.5)}
}

// proportion converts the mean μ and the precision κ of a beta density to the shapes μκ and (1 −
// μ)κ.
func proportion(p pen, y value, a []value) (value, []value) {
	first := p.mul(a[0], a[1])
	second := p.sub(a[1], first)
	second.above = a[1].above && a[0].from != nil && a[0].from.constraint.Kind == ir.Both && a[0].from.constraint.Upper <= 1
	return y, []value{first, second}
}

// linear replaces three arguments of a generalised linear model, the regressors x, the intercept α
// and the coefficients β, by the predictor xβ + α.
func linear(p pen, y value, a []value) (value, []value) {
	return y, append([]value{p.add(p.product(a[0], a[2], p.at), a[1])}, a[3:]...)
}

func logFirst(p pen, y value, a []value) (value, []value) {
	return y, append([]value{p.log(a[0])}, a[1:]...)
}

// fromZero converts classes 1, 2, ... to 0, 1, ....
func fromZero(p pen, y value, a []value) (value, []value) {
	if len(a[0].shape.dims) != 1 || !y.shape.single() {
		p.fail("E402", p.at, "a class needs a vector of log odds.")
	}
	if n := a[0].shape.dims[0]; !y.in.Whole || !(y.in.Low >= 1) || !(y.in.High <= float64(n)) {
		p.fail("E310", p.at, "the class lies in %g..%g, but there are %d classes.", y.in.Low, y.in.High, n)
	}
	role := y.role
	y.role = plain
	out := p.sub(y, constant(1))
	out.role = role
	return out, a
}

func logOdds(p pen, y value, a []value) (value, []value) {
	return fromZero(p, y, []value{p.log(a[0])})
}

// A pen does arithmetic on values. For messages it has at, the place in the program.
type pen struct {
	*stager
	at syntax.Span
}

func (p pen) add(a value, rest ...value) value {
	for _, b := range rest {
		a = p.binary(ir.Add, a, b, p.at)
	}
	return a
}
func (p pen) sub(a, b value) value       { return p.binary(ir.Sub, a, b, p.at) }
func (p pen) mul(a, b value) value       { return p.binary(ir.Mul, a, b, p.at) }
func (p pen) div(a, b value) value       { return p.binary(ir.Div, a, b, p.at) }
func (p pen) is(op ir.Op, a value) value { return p.unary(op, a, p.at) }
func (p pen) neg(a value) value          { return p.is(ir.Neg, a) }
func (p pen) log(a value) value          { return p.is(ir.Log, a) }
func (p pen) log1m(a value) value        { return p.is(ir.Log1p, p.neg(a)) }

// standardised returns (y − location)/scale.
func (p pen) standardised(y value, a []value) value { return p.div(p.sub(y, a[0]), a[1]) }

func writeNormal(p pen, y value, a []value) value {
	z := p.is(ir.Square, p.standardised(y, a))
	return p.sub(p.sub(p.mul(z, constant(-.5)), p.log(a[1])), constant(logRoot2Pi))
}

func writeStudent(p pen, y value, a []value) value {
	half := p.mul(p.add(a[0], constant(1)), constant(.5))
	norm := p.sub(p.is(ir.Lgamma, half), p.is(ir.Lgamma, p.mul(a[0], constant(.5))))
	norm = p.sub(norm, p.mul(p.log(p.mul(a[0], constant(math.Pi))), constant(.5)))
	z := p.is(ir.Square, p.standardised(y, a[1:]))
	return p.sub(p.sub(norm, p.log(a[2])), p.mul(half, p.is(ir.Log1p, p.div(z, a[0]))))
}

func writeCauchy(p pen, y value, a []value) value {
	z := p.is(ir.Square, p.standardised(y, a))
	return p.sub(p.sub(p.neg(p.is(ir.Log1p, z)), p.log(a[1])), constant(math.Log(math.Pi)))
}

func writeLaplace(p pen, y value, a []value) value {
	return p.sub(p.neg(p.is(ir.Abs, p.standardised(y, a))), p.log(p.mul(a[1], constant(2))))
}

func writeLogistic(p pen, y value, a []value) value {
	z := p.standardised(y, a)
	return p.sub(p.sub(p.neg(p.is(ir.Softplus, z)), p.is(ir.Softplus, p.neg(z))), p.log(a[1]))
}

func writeGumbel(p pen, y value, a []value) value {
	z := p.neg(p.standardised(y, a))
	return p.sub(p.sub(z, p.is(ir.Exp, z)), p.log(a[1]))
}

func writeLogNormal(p pen, y value, a []value) value {
	l := p.log(y)
	return p.sub(writeNormal(p, l, a), l)
}

func writeGamma(p pen, y value, a []value) value {
	norm := p.sub(p.mul(a[0], p.log(a[1])), p.is(ir.Lgamma, a[0]))
	return p.sub(p.add(norm, p.mul(p.sub(a[0], constant(1)), p.log(y))), p.mul(a[1], y))
}

func writeInvGamma(p pen, y value, a []value) value {
	norm := p.sub(p.mul(a[0], p.log(a[1])), p.is(ir.Lgamma, a[0]))
	return p.sub(p.sub(norm, p.mul(p.add(a[0], constant(1)), p.log(y))), p.div(a[1], y))
}

func writeExponential(p pen, y value, a []value) value {
	return p.sub(p.log(a[0]), p.mul(a[0], y))
}

func writeWeibull(p pen, y value, a []value) value {
	l := p.sub(p.log(y), p.log(a[1]))
	power := p.mul(a[0], l)
	return p.sub(p.add(p.sub(p.log(a[0]), p.log(y)), power), p.is(ir.Exp, power))
}

func writeBeta(p pen, y value, a []value) value {
	norm := p.sub(p.sub(p.is(ir.Lgamma, p.add(a[0], a[1])), p.is(ir.Lgamma, a[0])), p.is(ir.Lgamma, a[1]))
	first := p.mul(p.sub(a[0], constant(1)), p.log(y))
	return p.add(norm, first, p.mul(p.sub(a[1], constant(1)), p.log1m(y)))
}

// writeUniform returns 0, which is the log of a uniform density up to a constant. The variate must
// be a parameter whose declared bounds lie within the bounds of the density.
func writeUniform(p pen, y value, a []value) value {
	if y.from == nil || !a[0].fixed() || !a[1].fixed() || !a[0].shape.single() || !a[1].shape.single() {
		p.fail("E403", p.at, "uniform is in the language only as the prior of a parameter, with constant bounds.")
	}
	if c := y.from.constraint; c.Kind != ir.Both || c.Lower < a[0].number() || c.Upper > a[1].number() {
		p.fail("E302", p.at, "%s can leave the interval: declare %s<lower=%g, upper=%g>.", y.from.name, y.from.name, a[0].number(), a[1].number())
	}
	return constant(0)
}

func writeBernoulli(p pen, y value, a []value) value {
	return p.add(p.mul(y, p.log(a[0])), p.mul(p.sub(constant(1), y), p.log1m(a[0])))
}

func writeBernoulliLogit(p pen, y value, a []value) value {
	return p.sub(p.mul(y, a[0]), p.is(ir.Softplus, a[0]))
}

// choices returns the log of the binomial coefficient n over y.
func (p pen) choices(n, y value) value {
	all := p.is(ir.Lgamma, p.add(n, constant(1)))
	return p.sub(p.sub(all, p.is(ir.Lgamma, p.add(y, constant(1)))), p.is(ir.Lgamma, p.add(p.sub(n, y), constant(1))))
}

func writeBinomial(p pen, y value, a []value) value {
	return p.add(p.choices(a[0], y), p.mul(y, p.log(a[1])), p.mul(p.sub(a[0], y), p.log1m(a[1])))
}

func writeBinomialLogit(p pen, y value, a []value) value {
	yes, no := p.is(ir.LogInvLogit, a[1]), p.is(ir.LogInvLogit, p.neg(a[1]))
	return p.add(p.choices(a[0], y), p.mul(y, yes), p.mul(p.sub(a[0], y), no))
}

func writeBetaBinomial(p pen, y value, a []value) value {
	out := p.add(p.choices(a[0], y), p.logBeta(p.add(y, a[1]), p.add(p.sub(a[0], y), a[2])))
	return p.sub(out, p.logBeta(a[1], a[2]))
}

func writePoissonLog(p pen, y value, a []value) value {
	return p.sub(p.sub(p.mul(y, a[0]), p.is(ir.Exp, a[0])), p.is(ir.Lgamma, p.add(y, constant(1))))
}

// writeOrdered returns the log probability of a class, given a predictor η and ordered cut points
// c. With the logistic function F, class k has the probability
//
//	F(c_k − η) − F(c_{k−1} − η) = F(c_k − η)·F(η − c_{k−1})·(1 − e^{c_{k−1} − c_k}).
func writeOrdered(p pen, y value, a []value) value {
	return p.ordered("ordered_logistic", y, a, ir.LogInvLogit, func(low, high, eta value) value {
		gap := p.logRest(p.sub(low, high))
		return p.add(p.is(ir.LogInvLogit, p.sub(high, eta)), p.is(ir.LogInvLogit, p.sub(eta, low)), gap)
	})
}

// writeOrderedProbit does the same as writeOrdered for the normal distribution function.
func writeOrderedProbit(p pen, y value, a []value) value {
	return p.ordered("ordered_probit", y, a, ir.LogPhi, func(low, high, eta value) value {
		return p.logDifference(p.is(ir.LogPhi, p.sub(high, eta)), p.is(ir.LogPhi, p.sub(low, eta)))
	})
}

// ordered returns the log probability of a class, given a predictor η and ordered cut points c.
// below is the operation that computes log F, where F is a symmetric distribution function. between
// returns the log probability between two cut points.
func (p pen) ordered(name string, y value, a []value, below ir.Op, between func(low, high, eta value) value) value {
	eta, cuts := a[0], a[1]
	if cuts.role != plain || len(cuts.shape.dims) != 1 || !eta.shape.single() || !y.shape.single() {
		p.fail("E402", p.at, "%s takes a number and an ordered vector of cut points.", name)
	}
	c := p.scalars(cuts, p.at)
	if !(y.in.High <= float64(len(c)+1)) || len(c)+1 > mostPicked {
		p.fail("E310", p.at, "the class lies in %g..%g, but %d cut points make %d classes.", y.in.Low, y.in.High, len(c), len(c)+1)
	}
	role := p.roleOf(y, eta, p.at)
	y.role, eta.role = plain, plain
	out := p.is(below, p.sub(eta, c[len(c)-1]))
	for k := len(c) - 1; k >= 0; k-- {
		var class value
		if k > 0 {
			class = between(c[k-1], c[k], eta)
		} else {
			class = p.is(below, p.sub(c[k], eta))
		}
		out = p.choose(p.binary(ir.Equal, y, constant(float64(k+1)), p.at), class, out, p.at)
	}
	out.role = role
	return out
}
