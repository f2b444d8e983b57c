// Package programs builds model programs for tests, one for each kind of likelihood. Studies get
// their programs from package fit, so some kinds of likelihood occur only in tests.
package programs

import (
	"math"
	"slices"

	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
)

// A Family is the distribution of a regression's outcome.
type Family uint8

// These are the families of outcomes.
const (
	Linear           Family = iota // normal; the standard deviation has a half-Cauchy(Scale) prior
	Logistic                       // 0 or 1; the linear predictor η is the log odds of 1
	Probit                         // 0 or 1; the probability of 1 is Φ(η), with the normal distribution function Φ
	Poisson                        // counts with mean e^η
	NegativeBinomial               // counts with mean μ = e^η and variance μ + μ²/φ, φ ~ gamma(2, 0.5)
	Robust                         // Student-t noise with 4 degrees of freedom, whose scale has a half-Cauchy(Scale) prior
)

// Regression describes a regression of the column y on the features in the column x. The linear
// predictor is η = α + x·β.
type Regression struct {
	Features     []string
	Bound        float64       // maximum of |x_j|; 0 for no limit
	Coefficients model.Normal  // prior of each β_j
	Intercept    *model.Normal // prior of the intercept α; nil for a model without an intercept
	Scale        float64       // scale of the prior of the noise; a value of 0 means 1
	Most         float64       // maximum count in an outcome
	Groups       Groups
}

// Groups describes effects that vary between the groups in the column g. For group k, each effect
// is τ·z_k, where τ is the sd of the effects and z_k is a standard normal coordinate. The zero
// value means that there are no such effects.
type Groups struct {
	Names  []string
	Slopes []string // features whose coefficients vary between groups; the intercept varies in any case
	Scale  float64  // scale of the half-normal prior of the sd τ of each effect

	// Correlation, if positive, makes the intercept and the single slope of a group correlated. The
	// prior density of the correlation r is proportional to (1−r²)^(Correlation−1).
	Correlation float64
}

func (r *Regression) columns(b *model.Builder, f Family) (y, x model.Expr) {
	switch f {
	case Linear, Robust:
		y = b.Real("y", math.Inf(-1), math.Inf(1))
	case Logistic, Probit:
		y = b.Integer("y", 0, 1)
	default:
		y = b.Integer("y", 0, r.Most)
	}
	return y, r.features(b)
}

func (r *Regression) features(b *model.Builder) model.Expr {
	bound := r.Bound
	if bound == 0 {
		bound = math.Inf(1)
	}
	return b.Reals("x", r.Features, -bound, bound)
}

// predictor returns α + x·β.
func (r *Regression) predictor(b *model.Builder, x model.Expr) model.Expr {
	eta := b.Linear(x, b.Vector("beta", r.Features, model.Free, b.Normal(r.Coefficients)))
	if r.Intercept != nil {
		eta = b.Add(eta, b.Scalar("alpha", model.Free, b.Normal(*r.Intercept)))
	}
	return eta
}

// Build returns the regression with outcomes of family f.
func (r Regression) Build(f Family) (*model.Model, error) {
	b := model.NewBuilder("regression")
	y, x := r.columns(b, f)
	eta := r.predictor(b, x)
	if len(r.Groups.Names) > 0 {
		index := b.Integer("g", 0, float64(len(r.Groups.Names)-1))
		if r.Groups.Correlation > 0 {
			eta = r.correlated(b, x, eta, index)
		} else {
			eta = r.varying(b, x, eta, index)
		}
	}
	return r.build(b, f, y, eta)
}

// varying returns eta plus the effects of the record's group, which are independent.
func (r *Regression) varying(b *model.Builder, x, eta, index model.Expr) model.Expr {
	effect := func(name string) model.Expr {
		tau := b.Scalar("sd_"+name, model.Positive, b.Normal(model.Normal{SD: r.Groups.Scale}))
		z := b.Vector("z_"+name, r.Groups.Names, model.Free, b.Normal(model.Normal{SD: 1}))
		return b.Gather(b.Mul(tau, z), index)
	}
	eta = b.Add(eta, effect("intercept"))
	for _, name := range r.Groups.Slopes {
		eta = b.Add(eta, b.Mul(effect(name), b.Element(x, slices.Index(r.Features, name))))
	}
	return eta
}

// correlated returns eta plus the correlated effects L·z_g for the group g of a record. L is the
// Cholesky factor of the covariance of intercept and slope. Their correlation is 2h − 1, where h
// has a beta distribution, as in the prior for correlation matrices of Lewandowski, Kurowicka and
// Joe (2009).
func (r *Regression) correlated(b *model.Builder, x, eta, index model.Expr) model.Expr {
	g, name := r.Groups, r.Groups.Slopes[0]
	one := b.Scalar("sd_intercept", model.Positive, b.Normal(model.Normal{SD: g.Scale}))
	two := b.Scalar("sd_"+name, model.Positive, b.Normal(model.Normal{SD: g.Scale}))
	h := b.Scalar("half_correlation", ir.Constraint{Kind: ir.Both, Upper: 1}, b.Of(ir.Beta, b.Number(g.Correlation), b.Number(g.Correlation)))
	z := b.Parameter(ir.Parameter{
		Name: "z", Rows: len(g.Names), Cols: 2, Entries: ir.NamesOf(pairs(g.Names, []string{"intercept", name})...),
	}, b.Normal(model.Normal{SD: 1}))
	correlation := b.Apply(ir.Sub, b.Mul(b.Number(2), h), b.Number(1))
	// √(1−r²) for the correlation r
	rest := b.Mul(b.Number(2), b.Apply(ir.Sqrt, b.Mul(h, b.Apply(ir.Sub, b.Number(1), h))))
	l := b.Slice(b.Apply(ir.Stack, one, b.Number(0), b.Mul(two, correlation), b.Mul(two, rest)), 0, 2, 2)
	v := b.MatVec(l, b.GatherRow(z, index))
	return b.Add(eta, b.Element(v, 0), b.Mul(b.Element(v, 1), b.Element(x, slices.Index(r.Features, name))))
}

// build adds the outcome y with the distribution f and the linear predictor eta. It returns the
// model.
func (r *Regression) build(b *model.Builder, f Family, y, eta model.Expr) (*model.Model, error) {
	sigma := func() model.Expr {
		scale := r.Scale
		if scale == 0 {
			scale = 1
		}
		return b.Scalar("sigma", model.Positive, b.Of(ir.Cauchy, b.Number(0), b.Number(scale)))
	}
	switch f {
	case Linear:
		b.Predict(ir.Mean, y, eta)
		return b.Build(b.LogDensity(ir.Normal, y, eta, sigma()))
	case Robust:
		b.Predict(ir.Mean, y, eta)
		return b.Build(b.LogDensity(ir.StudentT, y, b.Number(4), eta, sigma()))
	case Logistic:
		b.Predict(ir.Probability, y, b.Apply(ir.InvLogit, eta))
		return b.Build(b.LogDensity(ir.BernoulliLogit, y, eta))
	case Probit:
		b.Predict(ir.Probability, y, b.Apply(ir.Phi, eta))
		return b.Build(b.LogDensity(ir.BernoulliProbit, y, eta))
	case Poisson:
		b.Predict(ir.Mean, y, b.Apply(ir.Exp, eta))
		return b.Build(b.LogDensity(ir.PoissonLog, y, eta))
	default:
		phi := b.Scalar("phi", model.Positive, b.Of(ir.Gamma, b.Number(2), b.Number(.5)))
		b.Predict(ir.Mean, y, b.Apply(ir.Exp, eta))
		return b.Build(b.LogDensity(ir.NegBinomialLog, y, eta, phi))
	}
}

// Softmax returns a multinomial logistic regression on the features of r. The probability of class
// k is proportional to exp(η_k), where η_k = x·β_k + α_k. Every class has its own coefficients β_k
// and, unless r.Intercept is nil, its own intercept α_k.
func (r Regression) Softmax(classes []string) (*model.Model, error) {
	b := model.NewBuilder("softmax regression")
	y := b.Integer("y", 0, float64(len(classes)-1))
	x := r.features(b)
	eta := b.MatVec(b.Parameter(ir.Parameter{
		Name: "beta", Rows: len(classes), Cols: len(r.Features), Entries: ir.NamesOf(pairs(classes, r.Features)...),
	}, b.Normal(r.Coefficients)), x)
	if r.Intercept != nil {
		eta = b.Add(eta, b.Vector("alpha", classes, model.Free, b.Normal(*r.Intercept)))
	}
	b.Predict(ir.Probabilities, y, b.Apply(ir.Softmax, eta))
	return b.Build(b.LogDensity(ir.Categorical, y, eta))
}

// Characteristics returns a hierarchical logistic regression (section 3.3 of Prediger et al., d3p,
// 2022). A record of group g has the log odds x·w_g, with the coefficients
//
//	w_g = M c_g + β
//
// Here c_g = characteristics[g] is public, the elements of M have the prior mixing, and β are the
// coefficients that all groups share.
func (r Regression) Characteristics(characteristics [][]float64, mixing model.Normal) (*model.Model, error) {
	k := len(characteristics[0])
	var flat []float64
	for _, c := range characteristics {
		flat = append(flat, c...)
	}
	b := model.NewBuilder("hierarchical logistic regression")
	y, x := r.columns(b, Logistic)
	eta := r.predictor(b, x)
	index := b.Integer("g", 0, float64(len(characteristics)-1))
	c := b.GatherRow(b.Matrix(len(characteristics), k, flat), index)
	m := b.Parameter(ir.Parameter{Name: "M", Rows: len(r.Features), Cols: k}, b.Normal(mixing))
	return r.build(b, Logistic, y, b.Add(eta, b.Bilinear(x, m, c)))
}

// Network returns a neural network with one hidden layer of tanh units, and outcomes of family f.
// Its linear predictor is
//
//	η = v·tanh(Wx + b) + c
//
// The prior sd of a unit's weights is that of r.Coefficients divided by the square root of the
// number of inputs.
func (r Regression) Network(hidden int, f Family) (*model.Model, error) {
	b := model.NewBuilder("neural network")
	y, x := r.columns(b, f)
	prior := func(inputs int) model.Distribution {
		return b.Normal(model.Normal{Mean: r.Coefficients.Mean, SD: r.Coefficients.SD / math.Sqrt(float64(inputs))})
	}
	w := b.Parameter(ir.Parameter{Name: "W", Rows: hidden, Cols: len(r.Features)}, prior(len(r.Features)))
	bias := b.Parameter(ir.Parameter{Name: "b", Rows: hidden, Cols: 1}, prior(1))
	v := b.Parameter(ir.Parameter{Name: "v", Rows: hidden, Cols: 1}, prior(hidden))
	c := b.Scalar("c", model.Free, prior(1))
	return r.build(b, f, y, b.Add(b.Apply(ir.Dot, b.Apply(ir.Tanh, b.Dense(w, bias, x)), v), c))
}

// Mixture describes a mixture of Gaussians with independent variables in the column x. The log
// likelihood of a record n sums over its unknown component k:
//
//	ℓ_n = log Σ_k w_k Π_v N(x_nv | μ_vk, s_vk²)
//
// Here w_k are the weights, and μ_vk and s_vk are the mean and the sd of variable v in component k.
type Mixture struct {
	Components    int
	Variables     []string
	Concentration float64 // parameter of the symmetric Dirichlet prior of the weights
	Means         model.Normal
	Shape, Scale  float64 // parameters of the inverse-gamma prior of each variance
}

// Build returns the mixture.
func (o Mixture) Build(bound float64) (*model.Model, error) {
	k, variables := o.Components, len(o.Variables)
	b := model.NewBuilder("Gaussian mixture")
	x := b.Reals("x", o.Variables, -bound, bound)
	weights := b.Parameter(ir.Parameter{
		Name: "weight", Rows: k, Cols: 1, Constraint: ir.Constraint{Kind: ir.Simplex},
	}, b.Of(ir.Dirichlet, b.Number(o.Concentration)))
	mean := b.Parameter(ir.Parameter{Name: "mean", Rows: variables, Cols: k}, b.Normal(o.Means))
	variance := b.Parameter(ir.Parameter{
		Name: "variance", Rows: variables, Cols: k, Constraint: model.Positive,
	}, b.Of(ir.InvGamma, b.Number(o.Shape), b.Number(o.Scale)))
	sd := b.Apply(ir.Sqrt, variance)
	terms := b.Apply(ir.Log, weights)
	for v := range variables {
		terms = b.Add(terms, b.LogDensity(ir.Normal, b.Element(x, v), b.Slice(mean, v*k, k, 1), b.Slice(sd, v*k, k, 1)))
	}
	return b.Build(b.Apply(ir.LogSumExp, terms))
}

// pairs returns names for the elements of a matrix. A name consists of the row's name and the
// column's name.
func pairs(rows, cols []string) []string {
	var out []string
	for _, r := range rows {
		for _, c := range cols {
			out = append(out, r+","+c)
		}
	}
	return out
}
