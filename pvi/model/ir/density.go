package ir

// Density is a family of log densities (or log probabilities).
type Density uint8

// These are the densities. Arguments follow the variate in the given order. The numbers are
// part of the canonical form.
const (
	NoDensity Density = iota

	Normal          // mean, sd
	StudentT        // degrees of freedom, location, scale
	Cauchy          // location, scale
	Gamma           // shape, rate
	InvGamma        // shape, scale
	Exponential     // rate
	Beta            // a, b
	Dirichlet       // concentrations; the variate is a simplex
	BernoulliLogit  // log odds of 1
	BernoulliProbit // probit of the probability of 1
	PoissonLog      // log mean
	NegBinomialLog  // log mean, φ; variance μ + μ²/φ
	Categorical     // a vector of logits; the variate counts from 0

	densities
)

// Support is the set on which a density lives.
type Support uint8

// These are the supports.
const (
	OnReals Support = iota
	OnPositive
	OnUnit // (0, 1)
	OnSimplex
	OnBinary
	OnCounts
	OnClasses
)

// DensityInfo describes a density.
type DensityInfo struct {
	Name    string
	Support Support
	// Positive reports, for each argument, whether it must be positive.
	Positive []bool
	// Record and Prior report where the density may be used.
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
}

// Info returns the description of the density. It reports false for an unknown number.
func (d Density) Info() (DensityInfo, bool) {
	if d == NoDensity || d >= densities {
		return DensityInfo{}, false
	}
	return densityTable[d], true
}

// String returns the density's name.
func (d Density) String() string {
	info, ok := d.Info()
	if !ok {
		return "invalid"
	}
	return info.Name
}
