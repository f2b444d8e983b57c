package ir

// Density identifies a family of densities, such as Normal. If the variate is discrete, the density
// is a probability.
type Density uint8

// The first argument of a density is the variate. The comments list the other arguments. The
// constants' values are part of the canonical form.
const (
	NoDensity Density = iota

	Normal          // arguments: mean, sd
	StudentT        // arguments: degrees of freedom, location, scale
	Cauchy          // arguments: location, scale
	Gamma           // arguments: shape, rate
	InvGamma        // arguments: shape, scale
	Exponential     // argument: rate
	Beta            // arguments: shape parameters a and b
	Dirichlet       // argument: concentrations; the variate lies on the simplex
	BernoulliLogit  // argument: log odds of outcome 1
	BernoulliProbit // argument: probit of the probability of outcome 1
	PoissonLog      // argument: log mean
	NegBinomialLog  // arguments: log mean, φ; with mean μ the variance is μ + μ²/φ
	Categorical     // argument: vector of log odds; the variate is the index of a class, from 0

	Uniform           // no arguments; the parameter must have a lower and an upper bound
	LogNormal         // arguments: mean and sd of the logarithm
	Logistic          // arguments: location, scale
	DoubleExponential // arguments: location, scale
	Weibull           // arguments: shape, scale

	densities
)

// Support is the set of values where a density is positive.
type Support uint8

// The possible supports are these.
const (
	OnReals Support = iota
	OnPositive
	OnUnit // numbers in (0, 1)
	OnSimplex
	OnBinary
	OnCounts
	OnClasses
	OnInterval // the interval between the parameter's bounds
)

// DensityInfo describes a density.
type DensityInfo struct {
	Name    string
	Support Support
	// Positive has an element for each argument after the variate, which is true if the argument must
	// be positive.
	Positive []bool
	// Record is true if the density can be used for outcomes of records, and Prior if it can be used
	// for priors of parameters.
	Record, Prior bool
}

var densityTable = [densities]DensityInfo{
	Normal:          {"normal", OnReals, []bool{false, true}, true, true},
	StudentT:        {"student_t", OnReals, []bool{true, false, true}, true, true},
	Cauchy:          {"cauchy", OnReals, []bool{false, true}, false, true},
	Gamma:           {"gamma", OnPositive, []bool{true, true}, false, true},
	InvGamma:        {"inv_gamma", OnPositive, []bool{true, true}, false, true},
	Exponential:     {"exponential", OnPositive, []bool{true}, false, true},
	Beta:            {"beta", OnUnit, []bool{true, true}, false, true},
	Dirichlet:       {"dirichlet", OnSimplex, []bool{true}, false, true},
	BernoulliLogit:  {"bernoulli_logit", OnBinary, []bool{false}, true, false},
	BernoulliProbit: {"bernoulli_probit", OnBinary, []bool{false}, true, false},
	PoissonLog:      {"poisson_log", OnCounts, []bool{false}, true, false},
	NegBinomialLog:  {"neg_binomial_2_log", OnCounts, []bool{false, true}, true, false},
	Categorical:     {"categorical_logit", OnClasses, []bool{false}, true, false},

	Uniform:           {"uniform", OnInterval, nil, false, true},
	LogNormal:         {"lognormal", OnPositive, []bool{false, true}, false, true},
	Logistic:          {"logistic", OnReals, []bool{false, true}, false, true},
	DoubleExponential: {"double_exponential", OnReals, []bool{false, true}, false, true},
	Weibull:           {"weibull", OnPositive, []bool{true, true}, false, true},
}

// Info describes the density d. It returns false if d is not one of the densities above.
func (d Density) Info() (DensityInfo, bool) {
	if d == NoDensity || d >= densities {
		return DensityInfo{}, false
	}
	return densityTable[d], true
}

// String returns the name of the density.
func (d Density) String() string {
	info, ok := d.Info()
	if !ok {
		return "invalid"
	}
	return info.Name
}
