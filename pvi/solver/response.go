package solver

import (
	"fmt"
	"math"

	"fedpvi/internal/special"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/study"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Response is the likelihood of one record's outcome y given its predictors η. It may keep a
// workspace, so it is not safe for concurrent use.
type Response interface {
	// Size returns the number of predictors.
	Size() int

	// Eval returns the log likelihood of y at eta. It writes the gradient to g, and the Hessian to
	// h by rows.
	Eval(y float64, eta, g, h []float64) float64

	// Mean returns the expected outcome, or NaN if the outcome is one of several classes.
	Mean(eta []float64) float64

	// Program writes this response in a record program: it returns the log likelihood, and makes
	// the program predict y. eta is the predictor of the location, or a vector with the log odds of
	// all classes. scale is the scale of the outcome, if any.
	Program(b *model.Builder, y, eta, scale model.Expr) model.Expr

	// Typical returns typical sizes of the derivatives with respect to the predictor of the
	// location, for defaults such as the clip.
	Typical(p Public) Typical

	// Draw returns a random outcome, given the predictors of the location and the scale, if any.
	Draw(eta []float64, scale float64, r Source) float64
}

// A Described response has a Fisher information and can draw outcomes from public random numbers.
// All responses without groups are Described.
type Described interface {
	Response

	// Information writes the Fisher information at eta to w, by rows. It is the expected negative
	// Hessian of the log likelihood in the predictors.
	Information(eta, w []float64)

	// Outcome returns the outcome at eta for two independent standard normal numbers z. It is
	// continuous in both, except where a discrete outcome jumps.
	Outcome(eta []float64, z [2]float64) float64
}

// A Public holds public numbers about the outcome, on the model's scale.
type Public struct {
	Scale      float64 // scale of the outcome if it is known, otherwise its prior median
	LeastScale float64 // scale of the outcome if it is known, otherwise a plausible lower bound
	Mean       float64 // expected value of exp(η) under the prior
	Most       float64 // bound on the absolute value of the outcome
}

// A Typical holds typical sizes of derivatives with respect to the predictor of the location.
type Typical struct {
	Slope     float64 // typical size of a large first derivative
	Curvature float64 // typical size of the second derivative; 0 if unknown
	// plausible upper bound on the natural parameters of one record's likelihood, for regressors of
	// length 1
	Bound float64
}

// A Source returns random numbers that need not be secret, such as a Rand of math/rand/v2.
type Source interface {
	Uint64() uint64
	Float64() float64     // Float64 returns a uniform number in [0, 1).
	NormFloat64() float64 // standard normal
}

// regressions has the response of each family that is a regression, without effects of groups,
// which [varying] adds.
var regressions = map[study.Family]func(o *Outcome) Response{
	study.Linear:           newNormal,
	study.Logistic:         func(*Outcome) Response { return logit{} },
	study.Probit:           func(*Outcome) Response { return probit{} },
	study.Poisson:          func(*Outcome) Response { return poisson{} },
	study.NegativeBinomial: func(*Outcome) Response { return negativeBinomial{} },
	study.Robust:           func(o *Outcome) Response { return newStudent(o.DegreesOfFreedom) },
	study.Softmax:          func(o *Outcome) Response { return softmax{o.Classes} },
}

// An Outcome is the distribution of a record's outcome given its predictors. They come in this
// order:
//
//   - the predictor of the location or, in a softmax model, of every class but the first
//   - the log of the scale, if it is learned
//   - two predictors for each effect that varies between groups: the log of its sd between groups,
//     and the regressor times the standardised effect of the record's group
type Outcome struct {
	Family           study.Family
	NoiseSD          float64 // sd of the noise of a linear model; 0 if the sd is learned
	DegreesOfFreedom float64 // degrees of freedom of a robust model
	Classes          int     // number of classes of a softmax model
	Effects          int     // number of effects that vary between groups
}

// Response returns the likelihood of an outcome. It panics if the family is not a regression.
func (o Outcome) Response() Response {
	base, ok := regressions[o.Family]
	if !ok {
		panic(fmt.Sprintf("solver: %q is not a regression", o.Family))
	}
	if o.Effects > 0 {
		return newVarying(base(&o), o.Effects)
	}
	return base(&o)
}

// Described returns the response of an outcome, or an error if coefficients vary between groups.
func (o Outcome) Described() (Described, error) {
	r, ok := o.Response().(Described)
	if !ok {
		return nil, fmt.Errorf("the information of a record of a %s model with groups is not known", o.Family)
	}
	return r, nil
}

// logit is the response with P(y = 1) = 1/(1 + exp(−η)).
type logit struct{}

func (logit) Mean(eta []float64) float64 { return 1 / (1 + math.Exp(-eta[0])) }

func (logit) Size() int { return 1 }

func (logit) Eval(y float64, eta, g, h []float64) float64 {
	e := math.Exp(-math.Abs(eta[0]))
	p := 1 / (1 + e) // probability of the more likely of the two outcomes
	if eta[0] < 0 {
		p = e / (1 + e)
	}
	g[0] = y - p
	h[0] = -e / ((1 + e) * (1 + e))
	return y*eta[0] - max(eta[0], 0) - math.Log1p(e)
}

func (logit) Program(b *model.Builder, y, eta, _ model.Expr) model.Expr {
	b.Predict(ir.Probability, y, b.Apply(ir.InvLogit, eta))
	return b.LogDensity(ir.BernoulliLogit, y, eta)
}

// Typical implements [Response] with the largest possible derivatives.
func (logit) Typical(Public) Typical { return Typical{1, 1. / 4, 1} }

func (l logit) Draw(eta []float64, _ float64, r Source) float64 {
	return indicator(r.Float64() < l.Mean(eta))
}

// probit is the response with P(y = 1) = Φ(η).
type probit struct{}

func (probit) Mean(eta []float64) float64 { return math.Erfc(-eta[0]/math.Sqrt2) / 2 }

func (probit) Size() int { return 1 }

func (probit) Eval(y float64, eta, g, h []float64) float64 {
	sign := 2*y - 1
	log, ratio := logNormalCDF(sign * eta[0])
	g[0] = sign * ratio
	h[0] = -ratio * (ratio + sign*eta[0])
	return log
}

func (probit) Program(b *model.Builder, y, eta, _ model.Expr) model.Expr {
	b.Predict(ir.Probability, y, b.Apply(ir.Phi, eta))
	return b.LogDensity(ir.BernoulliProbit, y, eta)
}

// Typical implements [Response]. Slope is twice the derivative at η = 0 for y = 1, φ(0)/Φ(0),
// because the derivative has no upper bound.
func (probit) Typical(Public) Typical { return Typical{2 * math.Sqrt(2/math.Pi), 2 / math.Pi, 1} }

func (p probit) Draw(eta []float64, _ float64, r Source) float64 {
	return indicator(r.Float64() < p.Mean(eta))
}

// logNormalCDF returns log Φ(x) and φ(x)/Φ(x). For x ≤ −5 it avoids cancellation by the continued
// fraction of Mills' ratio.
func logNormalCDF(x float64) (log, ratio float64) {
	if x > -5 {
		cdf := math.Erfc(-x/math.Sqrt2) / 2
		return math.Log(cdf), math.Exp(-x*x/2-special.HalfLogTwoPi) / cdf
	}
	f := inverseMills(-x)
	return -x*x/2 - special.HalfLogTwoPi - math.Log(f), f
}

// inverseMills returns φ(t)/Φ(−t), the inverse of Mills' ratio, for t ≥ 5.
func inverseMills(t float64) float64 {
	const terms = 60
	f := t
	for k := terms; k >= 1; k-- {
		f = t + float64(k)/f
	}
	return f
}

// poisson is the response of a count with mean exp(η).
type poisson struct{}

func (poisson) Mean(eta []float64) float64 { return math.Exp(eta[0]) }

func (poisson) Size() int { return 1 }

func (poisson) Eval(y float64, eta, g, h []float64) float64 {
	mean := math.Exp(eta[0])
	g[0] = y - mean
	h[0] = -mean
	return y*eta[0] - mean - special.Lgamma(y+1)
}

func (poisson) Program(b *model.Builder, y, eta, _ model.Expr) model.Expr {
	b.Predict(ir.Mean, y, b.Apply(ir.Exp, eta))
	return b.LogDensity(ir.PoissonLog, y, eta)
}

// Typical implements [Response]. Slope is the derivative for a count two sds above its mean.
func (poisson) Typical(p Public) Typical {
	return Typical{2 * math.Sqrt(max(1, min(p.Mean, p.Most/2))), 0, 1 + p.Most}
}

func (p poisson) Draw(eta []float64, _ float64, r Source) float64 { return drawCount(p.Mean(eta), r) }

// drawCount returns a Poisson count, or +Inf if the mean is 1e9 or larger.
func drawCount(mean float64, r Source) float64 {
	switch {
	case !(mean < 1e9):
		return math.Inf(1)
	case mean == 0:
		return 0
	}
	return distuv.Poisson{Lambda: mean, Src: r}.Rand()
}

// negativeBinomial is the response of a count with mean μ = exp(η₀) and variance μ + μ²/exp(η₁).
type negativeBinomial struct{}

func (negativeBinomial) Mean(eta []float64) float64 { return math.Exp(eta[0]) }

func (negativeBinomial) Size() int { return 2 }

func (negativeBinomial) Eval(y float64, eta, g, h []float64) float64 {
	phi := math.Exp(eta[1])
	t := eta[0] - eta[1]
	e := math.Exp(-math.Abs(t))
	p := 1 / (1 + e)
	if t < 0 {
		p = e / (1 + e)
	}
	softplus := max(t, 0) + math.Log1p(e)
	bend := (y + phi) * e / ((1 + e) * (1 + e))
	rise, fall, log := risingFactorial(phi, y)
	g[0] = y - (y+phi)*p
	g[1] = -g[0] - phi*softplus + phi*rise
	h[0] = -bend
	h[1] = bend - phi*p
	h[2] = h[1]
	h[3] = phi*(2*p-softplus+rise) - bend + phi*phi*fall
	return y*t - (y+phi)*softplus + log - special.Lgamma(y+1)
}

func (negativeBinomial) Program(b *model.Builder, y, eta, scale model.Expr) model.Expr {
	b.Predict(ir.Mean, y, b.Apply(ir.Exp, eta))
	return b.LogDensity(ir.NegBinomialLog, y, eta, scale)
}

func (negativeBinomial) Typical(p Public) Typical { return poisson{}.Typical(p) }

// Draw implements [Response]. The mean of the Poisson count has a gamma distribution.
func (n negativeBinomial) Draw(eta []float64, scale float64, r Source) float64 {
	return drawCount(n.Mean(eta)*distuv.Gamma{Alpha: scale, Beta: scale, Src: r}.Rand(), r)
}

// risingFactorial returns log Γ(φ + n) − log Γ(φ) for a whole number n ≥ 0, and its first two
// derivatives in φ.
func risingFactorial(phi, n float64) (first, second, value float64) {
	const few = 32
	if n <= few {
		for k := range int(n) {
			x := phi + float64(k)
			first += 1 / x
			second -= 1 / (x * x)
			value += math.Log(x)
		}
		return first, second, value
	}
	above, below := special.Lgamma(phi+n), special.Lgamma(phi)
	return special.Digamma(phi+n) - special.Digamma(phi), special.Trigamma(phi+n) - special.Trigamma(phi), above - below
}

// newNormal returns the response of a normal outcome with known or learned noise.
func newNormal(o *Outcome) Response {
	if o.NoiseSD > 0 {
		return knownNormal{variance: o.NoiseSD * o.NoiseSD}
	}
	return normal{}
}

// normal is the response of an outcome with distribution N(η₀, exp(2η₁)).
type normal struct{}

func (normal) Mean(eta []float64) float64 { return eta[0] }

func (normal) Size() int { return 2 }

func (normal) Eval(y float64, eta, g, h []float64) float64 {
	w := math.Exp(-2 * eta[1])
	r := y - eta[0]
	g[0], g[1] = r*w, r*r*w-1
	h[0], h[1], h[2], h[3] = -w, -2*r*w, -2*r*w, -2*r*r*w
	return -eta[1] - r*r*w/2 - special.HalfLogTwoPi
}

func (normal) Program(b *model.Builder, y, eta, scale model.Expr) model.Expr {
	b.Predict(ir.Mean, y, eta)
	return b.LogDensity(ir.Normal, y, eta, scale)
}

// Typical implements [Response]. Slope is the absolute derivative for an outcome two sds from its
// mean.
func (normal) Typical(p Public) Typical {
	return Typical{2 / p.Scale, 1 / (p.Scale * p.Scale), 1 / (p.LeastScale * p.LeastScale)}
}

func (normal) Draw(eta []float64, scale float64, r Source) float64 {
	return eta[0] + scale*r.NormFloat64()
}

// knownNormal is the response of an outcome with distribution N(η, variance).
type knownNormal struct {
	normal
	variance float64
}

func (knownNormal) Size() int { return 1 }

func (k knownNormal) Eval(y float64, eta, g, h []float64) float64 {
	r := y - eta[0]
	g[0], h[0] = r/k.variance, -1/k.variance
	return -r*r/(2*k.variance) - math.Log(k.variance)/2 - special.HalfLogTwoPi
}

// student is the response of an outcome with Student's t distribution, with ν degrees of
// freedom, location η₀ and scale exp(η₁).
type student struct{ nu, constant float64 }

func newStudent(nu float64) student {
	return student{nu, special.Lgamma((nu+1)/2) - special.Lgamma(nu/2) - math.Log(nu*math.Pi)/2}
}

func (student) Mean(eta []float64) float64 { return eta[0] }

func (student) Size() int { return 2 }

func (s student) Eval(y float64, eta, g, h []float64) float64 {
	inv := math.Exp(-eta[1])
	z := (y - eta[0]) * inv
	a := (s.nu + 1) / (s.nu + z*z)
	b := a * (s.nu - z*z) / (s.nu + z*z)
	g[0], g[1] = a*z*inv, a*z*z-1
	h[0] = -b * inv * inv
	h[1] = -z * inv * (a + b)
	h[2] = h[1]
	h[3] = -z * z * (a + b)
	return s.constant - eta[1] - (s.nu+1)/2*math.Log1p(z*z/s.nu)
}

func (s student) Program(b *model.Builder, y, eta, scale model.Expr) model.Expr {
	b.Predict(ir.Mean, y, eta)
	return b.LogDensity(ir.StudentT, y, b.Number(s.nu), eta, scale)
}

func (student) Typical(p Public) Typical { return normal{}.Typical(p) }

func (s student) Draw(eta []float64, scale float64, r Source) float64 {
	noise := r.NormFloat64()
	noise /= math.Sqrt(distuv.ChiSquared{K: s.nu, Src: r}.Rand() / s.nu)
	return eta[0] + scale*noise
}

// softmax is the response with P(y = k) ∝ exp(η_k). The first class is the baseline, with η = 0,
// and has no predictor.
type softmax struct{ classes int }

func (softmax) Mean([]float64) float64 { return math.NaN() }

func (s softmax) Size() int { return s.classes - 1 }

func (s softmax) Eval(y float64, eta, g, h []float64) float64 {
	largest, total := chances(g, eta)
	for k, p := range g {
		row := h[k*len(g) : (k+1)*len(g)]
		for l, q := range g {
			row[l] = p * q
		}
		row[k] -= p
	}
	for k := range g {
		g[k] = -g[k]
	}
	value := -largest - math.Log(total)
	if y >= 1 && y <= float64(len(g)) {
		g[int(y)-1]++
		value += eta[int(y)-1]
	}
	return value
}

// chances writes the probabilities of all classes except the baseline to p. That of the baseline is
// exp(−largest)/total, where largest is the largest η.
func chances(p, eta []float64) (largest, total float64) {
	for _, e := range eta {
		largest = max(largest, e)
	}
	total = math.Exp(-largest)
	for k, e := range eta {
		p[k] = math.Exp(e - largest)
		total += p[k]
	}
	for k := range p {
		p[k] /= total
	}
	return largest, total
}

func (softmax) Program(b *model.Builder, y, eta, _ model.Expr) model.Expr {
	b.Predict(ir.Probabilities, y, b.Apply(ir.Softmax, eta))
	return b.LogDensity(ir.Categorical, y, eta)
}

func (softmax) Typical(Public) Typical { return Typical{math.Sqrt2, 1. / 4, 1} }

func (softmax) Draw(eta []float64, _ float64, r Source) float64 { return class(eta, r.Float64()) }

// class returns the class, counted from 0, at u of the distribution function. eta holds the log
// odds of the other classes relative to class 0.
func class(eta []float64, u float64) float64 {
	largest := 0.0 // log odds of the baseline class
	for _, e := range eta {
		largest = max(largest, e)
	}
	total := math.Exp(-largest)
	for _, e := range eta {
		total += math.Exp(e - largest)
	}
	u = u*total - math.Exp(-largest)
	for k, e := range eta {
		if u < 0 {
			return float64(k)
		}
		u -= math.Exp(e - largest)
	}
	return float64(len(eta))
}

// varying adds effects that vary between groups to a base response. Each adds e^κ·p to the first
// predictor of the base, where κ is the log of the effect's sd between groups and p is the
// regressor times the standardised effect of the record's group. The pairs κ, p come after the
// base's predictors.
type varying struct {
	Response // base response
	effects  int
	eta      []float64 // predictors of base
	g, h     []float64
	v        []float64 // derivatives of the base's first predictor with respect to those of the effects
}

func newVarying(base Response, effects int) *varying {
	b := base.Size()
	return &varying{base, effects, make([]float64, b), make([]float64, b), make([]float64, b*b), make([]float64, b+2*effects)}
}

func (r *varying) Size() int { return r.Response.Size() + 2*r.effects }

func (r *varying) Mean(eta []float64) float64 {
	b := r.Response.Size()
	copy(r.eta, eta[:b])
	for j := b; j < len(eta); j += 2 {
		r.eta[0] += math.Exp(eta[j]) * eta[j+1]
	}
	return r.Response.Mean(r.eta)
}

func (r *varying) Eval(y float64, eta, g, h []float64) float64 {
	b, k := r.Response.Size(), r.Size()
	copy(r.eta, eta[:b])
	for j := b; j < k; j += 2 {
		spread := math.Exp(eta[j])
		r.v[j], r.v[j+1] = spread*eta[j+1], spread
		r.eta[0] += spread * eta[j+1]
	}
	value := r.Response.Eval(y, r.eta, r.g, r.h)
	copy(g, r.g)
	for a := range b {
		copy(h[a*k:], r.h[a*b:(a+1)*b])
	}
	for x := b; x < k; x++ {
		g[x] = r.g[0] * r.v[x]
		for a := range b {
			h[x*k+a] = r.h[a] * r.v[x]
			h[a*k+x] = h[x*k+a]
		}
		for z := b; z < k; z++ {
			h[x*k+z] = r.h[0] * r.v[x] * r.v[z]
		}
	}
	for j := b; j < k; j += 2 {
		h[j*k+j] += r.g[0] * r.v[j]
		h[j*k+j+1] += r.g[0] * r.v[j+1]
		h[(j+1)*k+j] += r.g[0] * r.v[j+1]
	}
	return value
}
