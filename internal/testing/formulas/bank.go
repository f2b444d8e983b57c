package formulas

import (
	"math"
	"slices"

	"fedpvi/internal/special"
)

// numeric returns the column of a numeric outcome.
func numeric(name string, low, high float64) []formulaColumn {
	return []formulaColumn{{name: name, low: low, high: high}}
}

// levelled returns the column of an outcome with n levels.
func levelled(name string, n int) []formulaColumn {
	return []formulaColumn{{name: name, levels: named("l", n)}}
}

func join(all ...[]formulaColumn) (out []formulaColumn) {
	for _, c := range all {
		out = append(out, c...)
	}
	return out
}

// Bank lists the formulas. Their studies use the default priors. The samplers draw the true
// parameters from narrower distributions.
var Bank = []Formula{
	{
		Name: "interaction", Text: "y ~ x * arm", Family: "gaussian", columns: numeric("y", -10, 10),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", 0, 1), d.normal("b_x", 0, 1), d.arm(1)
			slope := []float64{0, d.normal("b_x_x_arm_a2", 0, .5), d.normal("b_x_x_arm_a3", 0, .5)}
			sigma := d.positive("sigma", 1, .3)
			return func(c covariates) []float64 {
				return []float64{a + (b+slope[c.arm])*c.x + arm[c.arm] + sigma*d.NormFloat64()}
			}
		},
	},
	{
		Name: "polynomial", Text: "y ~ poly(x, 3) + scale(z)", Family: "gaussian", columns: numeric("y", -10, 10),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b := d.normal("Intercept", 0, 1), d.normal("b_scale_z", 0, 1)
			p1, p2, p3 := d.normal("b_poly_x_1", 0, .7), d.normal("b_poly_x_2", 0, .3), d.normal("b_poly_x_3", 0, .2)
			sigma := d.positive("sigma", 1, .3)
			return func(c covariates) []float64 {
				t := c.x / math.Sqrt(3)
				mu := a + p1*math.Sqrt(3)*t + p2*math.Sqrt(5)*(3*t*t-1)/2 + p3*math.Sqrt(7)*(5*t*t*t-3*t)/2 + b*c.z
				return []float64{mu + sigma*d.NormFloat64()}
			}
		},
	},
	{
		Name: "curve", Text: "y ~ s(x, k = 5) + z", Family: "gaussian", columns: numeric("y", -10, 10),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, z := d.normal("Intercept", 0, 1), d.normal("b_s_x", 0, .7), d.normal("b_z", 0, 1)
			tau := d.spread("sds_x", 1)
			s, sigma := d.effects("s_x", 5, tau), d.positive("sigma", 1, .3)
			return func(c covariates) []float64 {
				mu := a + b*c.x + z*c.z
				for j, v := range s {
					k := float64(j + 1)
					mu += v * math.Sqrt2 * math.Cos(math.Pi*k*(c.x+3)/6) / (k * k)
				}
				return []float64{mu + sigma*d.NormFloat64()}
			}
		},
	},
	{
		Name: "slopes", Text: "y ~ x + (1 + x || site)", Family: "gaussian", columns: numeric("y", -10, 10),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b := d.normal("Intercept", 0, 1), d.normal("b_x", 0, 1)
			one := d.effects("r_site_Intercept", sites, d.spread("sd_site_Intercept", 1))
			two := d.effects("r_site_x", sites, d.spread("sd_site_x", .5))
			sigma := d.positive("sigma", 1, .3)
			return func(c covariates) []float64 {
				return []float64{a + one[c.site] + (b+two[c.site])*c.x + sigma*d.NormFloat64()}
			}
		},
	},
	{
		Name: "known-error", Text: "y | se(error) ~ x + z", Family: "gaussian", columns: join(numeric("y", -10, 10), numeric("error", .5, 2)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, z := d.normal("Intercept", 0, 1), d.normal("b_x", 0, 1), d.normal("b_z", 0, 1)
			return func(c covariates) []float64 {
				error := .5 + 1.5*d.Float64()
				return []float64{a + b*c.x + z*c.z + error*d.NormFloat64(), error}
			}
		},
	},
	{
		Name: "student", Text: "y ~ x + arm, sigma ~ z", Family: "student", columns: numeric("y", -15, 15),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", 0, 1), d.normal("b_x", 0, 1), d.arm(1)
			s, z := d.normal("Intercept_sigma", 0, .3), d.normal("b_sigma_z", 0, .3)
			nu := 1 + d.positive("nu", 5, .4)
			return func(c covariates) []float64 {
				return []float64{a + b*c.x + arm[c.arm] + math.Exp(s+z*c.z)*d.student(nu)}
			}
		},
	},
	{
		Name: "logit", Text: "y ~ x + z + arm", Family: "bernoulli", columns: levelled("y", 2),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, z, arm := d.normal("Intercept", 0, 1), d.normal("b_x", 0, 1), d.normal("b_z", 0, 1), d.arm(1)
			return func(c covariates) []float64 {
				return []float64{d.bernoulli(sigmoid(a + b*c.x + z*c.z + arm[c.arm]))}
			}
		},
	},
	{
		Name: "probit-groups", Text: "y ~ x + (1 | site)", Family: "bernoulli(probit)", columns: levelled("y", 2),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b := d.normal("Intercept", 0, .5), d.normal("b_x", 0, .5)
			one := d.effects("r_site_Intercept", sites, d.spread("sd_site_Intercept", .7))
			return func(c covariates) []float64 {
				return []float64{grade(a+b*c.x+one[c.site]+d.NormFloat64(), []float64{0})}
			}
		},
	},
	{
		Name: "cloglog", Text: "y ~ x + arm", Family: "bernoulli(cloglog)", columns: levelled("y", 2),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", -1, .7), d.normal("b_x", 0, .5), d.arm(.5)
			return func(c covariates) []float64 {
				return []float64{d.bernoulli(-math.Expm1(-math.Exp(a + b*c.x + arm[c.arm])))}
			}
		},
	},
	{
		Name: "binomial", Text: "y | trials(n) ~ x + z", Family: "binomial", columns: join(numeric("y", 0, 20), numeric("n", 1, 20)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, z := d.normal("Intercept", 0, 1), d.normal("b_x", 0, .7), d.normal("b_z", 0, .7)
			return func(c covariates) []float64 {
				n := float64(1 + d.IntN(20))
				return []float64{d.binomial(n, sigmoid(a+b*c.x+z*c.z)), n}
			}
		},
	},
	{
		Name: "beta-binomial", Text: "y | trials(n) ~ x", Family: "beta_binomial", columns: join(numeric("y", 0, 20), numeric("n", 1, 20)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, phi := d.normal("Intercept", 0, 1), d.normal("b_x", 0, .7), d.positive("phi", 8, .5)
			return func(c covariates) []float64 {
				n := float64(1 + d.IntN(20))
				return []float64{d.binomial(n, d.beta(clamp(sigmoid(a+b*c.x), 1e-6, 1-1e-6), phi)), n}
			}
		},
	},
	{
		Name: "exposure", Text: "y ~ x + arm + offset(log(days))", Family: "poisson", columns: join(numeric("y", 0, 100), numeric("days", 1, 30)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", -2, .7), d.normal("b_x", 0, .4), d.arm(.5)
			return func(c covariates) []float64 {
				days := 1 + 29*d.Float64()
				return []float64{d.poisson(days * math.Exp(a+b*c.x+arm[c.arm])), days}
			}
		},
	},
	{
		Name: "poisson-groups", Text: "y | rate(days) ~ x + (1 | site)", Family: "poisson", columns: join(numeric("y", 0, 100), numeric("days", 1, 30)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b := d.normal("Intercept", -2, .5), d.normal("b_x", 0, .4)
			one := d.effects("r_site_Intercept", sites, d.spread("sd_site_Intercept", .5))
			return func(c covariates) []float64 {
				days := 1 + 29*d.Float64()
				return []float64{d.poisson(days * math.Exp(a+b*c.x+one[c.site])), days}
			}
		},
	},
	{
		Name: "zero-truncated", Text: "y | trunc(lb = 1) ~ x + arm", Family: "poisson", columns: numeric("y", 1, 50),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", .7, .5), d.normal("b_x", 0, .3), d.arm(.4)
			return func(c covariates) []float64 {
				return []float64{above(0, func() float64 { return d.poisson(math.Exp(a + b*c.x + arm[c.arm])) })}
			}
		},
	},
	{
		Name: "negbinomial", Text: "y ~ x + arm, shape ~ z", Family: "negbinomial", columns: numeric("y", 0, 100),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", 1, .5), d.normal("b_x", 0, .3), d.arm(.4)
			s, z := d.normal("Intercept_shape", .7, .4), d.normal("b_shape_z", 0, .3)
			return func(c covariates) []float64 {
				return []float64{d.count(math.Exp(a+b*c.x+arm[c.arm]), math.Exp(s+z*c.z))}
			}
		},
	},
	{
		Name: "nested", Text: "y ~ x + (1 | site/ward)", Family: "negbinomial", columns: numeric("y", 0, 100),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b := d.normal("Intercept", 1, .5), d.normal("b_x", 0, .3)
			one := d.effects("r_site_Intercept", sites, d.spread("sd_site_Intercept", .5))
			two := d.effects("r_site_ward_Intercept", sites*wards, d.spread("sd_site_ward_Intercept", .3))
			shape := d.positive("shape", 3, .4)
			return func(c covariates) []float64 {
				return []float64{d.count(math.Exp(a+b*c.x+one[c.site]+two[c.site*wards+c.ward]), shape)}
			}
		},
	},
	{
		Name: "zero-inflated", Text: "y ~ x, zi ~ z", Family: "zero_inflated_poisson", columns: numeric("y", 0, 50),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b := d.normal("Intercept", 1, .5), d.normal("b_x", 0, .3)
			s, z := d.normal("Intercept_zi", -.5, .7), d.normal("b_zi_z", 0, .5)
			return func(c covariates) []float64 {
				if d.bernoulli(sigmoid(s+z*c.z)) == 1 {
					return []float64{0}
				}
				return []float64{d.poisson(math.Exp(a + b*c.x))}
			}
		},
	},
	{
		Name: "hurdle", Text: "y ~ x, hu ~ z", Family: "hurdle_negbinomial", columns: numeric("y", 0, 100),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, shape := d.normal("Intercept", 1, .5), d.normal("b_x", 0, .3), d.positive("shape", 2, .4)
			s, z := d.normal("Intercept_hu", 0, .7), d.normal("b_hu_z", 0, .5)
			return func(c covariates) []float64 {
				if d.bernoulli(sigmoid(s+z*c.z)) == 1 {
					return []float64{0}
				}
				return []float64{above(0, func() float64 { return d.count(math.Exp(a+b*c.x), shape) })}
			}
		},
	},
	{
		Name: "gamma", Text: "y ~ x + arm", Family: "Gamma", columns: numeric("y", .001, 100),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", 1, .5), d.normal("b_x", 0, .3), d.arm(.4)
			shape := d.positive("shape", 3, .4)
			return func(c covariates) []float64 {
				return []float64{d.gamma(shape, math.Exp(a+b*c.x+arm[c.arm]))}
			}
		},
	},
	{
		Name: "monotonic", Text: "y ~ x + mo(grade)", Family: "Gamma", columns: join(numeric("y", .001, 100), levelled("grade", 4)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, step := d.normal("Intercept", 1, .5), d.normal("b_x", 0, .3), d.normal("b_mo_grade", 0, .4)
			shape := d.positive("shape", 3, .4)
			var steps [3]float64
			var total float64
			for i := range steps {
				steps[i] = d.ExpFloat64()
				total += steps[i]
			}
			return func(c covariates) []float64 {
				g, mu := d.IntN(4), a+b*c.x
				for _, s := range steps[:g] {
					mu += 3 * step * s / total
				}
				return []float64{d.gamma(shape, math.Exp(mu)), float64(g)}
			}
		},
	},
	{
		Name: "hurdle-gamma", Text: "y ~ x, hu ~ z", Family: "hurdle_gamma", columns: numeric("y", 0, 100),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, shape := d.normal("Intercept", 1, .5), d.normal("b_x", 0, .3), d.positive("shape", 3, .4)
			s, z := d.normal("Intercept_hu", 0, .7), d.normal("b_hu_z", 0, .5)
			return func(c covariates) []float64 {
				if d.bernoulli(sigmoid(s+z*c.z)) == 1 {
					return []float64{0}
				}
				return []float64{d.gamma(shape, math.Exp(a+b*c.x))}
			}
		},
	},
	{
		Name: "beta", Text: "y ~ x + arm, phi ~ z", Family: "Beta", columns: numeric("y", .0001, .9999),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", 0, .7), d.normal("b_x", 0, .4), d.arm(.5)
			s, z := d.normal("Intercept_phi", 2, .4), d.normal("b_phi_z", 0, .3)
			return func(c covariates) []float64 {
				return []float64{d.beta(sigmoid(a+b*c.x+arm[c.arm]), math.Exp(s+z*c.z))}
			}
		},
	},
	{
		Name: "categorical", Text: "grade ~ x + z", Family: "categorical", columns: levelled("grade", 3),
		draw: func(d *drawer) func(covariates) []float64 {
			var at [3][3]float64
			for k, name := range []string{"", "l2", "l3"} {
				if k > 0 {
					at[k] = [3]float64{d.normal("Intercept_"+name, 0, .7), d.normal("b_"+name+"_x", 0, .7), d.normal("b_"+name+"_z", 0, .7)}
				}
			}
			return func(c covariates) []float64 {
				best, level := math.Inf(-1), 0.
				for k, b := range at {
					if v := b[0] + b[1]*c.x + b[2]*c.z - math.Log(d.ExpFloat64()); v > best {
						best, level = v, float64(k)
					}
				}
				return []float64{level}
			}
		},
	},
	{
		Name: "cumulative", Text: "grade ~ x + arm", Family: "cumulative", columns: levelled("grade", 4),
		draw: func(d *drawer) func(covariates) []float64 {
			b, arm, cuts := d.normal("b_x", 0, 1), d.arm(.7), d.cuts(-1, 3)
			return func(c covariates) []float64 { return []float64{grade(b*c.x+arm[c.arm]+d.logistic(), cuts)} }
		},
	},
	{
		Name: "ordered-groups", Text: "grade ~ x + (1 | site)", Family: "cumulative(probit)", columns: levelled("grade", 4),
		draw: func(d *drawer) func(covariates) []float64 {
			b, cuts := d.normal("b_x", 0, .7), d.cuts(-1, 3)
			one := d.effects("r_site_Intercept", sites, d.spread("sd_site_Intercept", .7))
			return func(c covariates) []float64 {
				return []float64{grade(b*c.x+one[c.site]+d.NormFloat64(), cuts)}
			}
		},
	},
	{
		Name: "weibull", Text: "time | cens(1 - dead) ~ x + arm", Family: "weibull", columns: join(numeric("time", .001, 10), numeric("dead", 0, 1)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", 1, .4), d.normal("b_x", 0, .3), d.arm(.4)
			shape := d.positive("shape", 1.3, .3)
			return func(c covariates) []float64 {
				scale := math.Exp(a+b*c.x+arm[c.arm]) / math.Gamma(1+1/shape)
				return d.observed(scale * math.Pow(d.ExpFloat64(), 1/shape))
			}
		},
	},
	{
		Name: "lognormal", Text: "time | cens(1 - dead) ~ x + arm", Family: "lognormal", columns: join(numeric("time", .001, 10), numeric("dead", 0, 1)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", .7, .4), d.normal("b_x", 0, .3), d.arm(.4)
			sigma := d.positive("sigma", .8, .3)
			return func(c covariates) []float64 {
				return d.observed(math.Exp(a + b*c.x + arm[c.arm] + sigma*d.NormFloat64()))
			}
		},
	},
	{
		Name: "weights", Text: "time | weights(w) ~ x + arm", Family: "exponential", columns: join(numeric("time", .001, 50), numeric("w", 1, 4)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", .7, .4), d.normal("b_x", 0, .3), d.arm(.4)
			return func(c covariates) []float64 { // the outcome of a record is the mean of w separate times
				w := float64(1 + d.IntN(4))
				return []float64{d.gamma(w, math.Exp(a+b*c.x+arm[c.arm])), w}
			}
		},
	},
	{
		Name: "piecewise", Text: "time | cens(1 - dead) ~ x + arm", Family: "piecewise_exponential(2, 5)", columns: join(numeric("time", .001, 10), numeric("dead", 0, 1)),
		draw: func(d *drawer) func(covariates) []float64 {
			var hazard [3]float64
			for k := range hazard {
				hazard[k] = math.Exp(d.normal([]string{"log_hazard[1]", "log_hazard[2]", "log_hazard[3]"}[k], -1.5, .5))
			}
			b, arm := d.normal("b_x", 0, .4), d.arm(.5)
			return func(c covariates) []float64 {
				left, t := d.ExpFloat64()/math.Exp(b*c.x+arm[c.arm]), 0.
				for k, width := range []float64{2, 3, math.Inf(1)} {
					if left < hazard[k]*width {
						return d.observed(t + left/hazard[k])
					}
					left -= hazard[k] * width
					t += width
				}
				panic("unreachable")
			}
		},
	},
	{
		Name: "binomial-probit", Text: "y | trials(n) ~ x", Family: "binomial(probit)", columns: join(numeric("y", 0, 20), numeric("n", 1, 20)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b := d.normal("Intercept", 0, .6), d.normal("b_x", 0, .4)
			return func(c covariates) []float64 {
				n := float64(1 + d.IntN(20))
				return []float64{d.binomial(n, special.Phi(a+b*c.x)), n}
			}
		},
	},
	{
		Name: "zero-inflated-negbinomial", Text: "y ~ x", Family: "zero_inflated_negbinomial", columns: numeric("y", 0, 100),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, shape, zero := d.normal("Intercept", 1.5, .5), d.normal("b_x", 0, .3), d.positive("shape", 3, .4), d.share("zi", .5)
			return func(c covariates) []float64 {
				return []float64{(1 - d.bernoulli(zero)) * d.count(math.Exp(a+b*c.x), shape)}
			}
		},
	},
	{
		Name: "zero-inflated-binomial", Text: "y | trials(n) ~ x", Family: "zero_inflated_binomial", columns: join(numeric("y", 0, 20), numeric("n", 1, 20)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, zero := d.normal("Intercept", 0, 1), d.normal("b_x", 0, .7), d.share("zi", .5)
			return func(c covariates) []float64 {
				n := float64(1 + d.IntN(20))
				return []float64{(1 - d.bernoulli(zero)) * d.binomial(n, sigmoid(a+b*c.x)), n}
			}
		},
	},
	{
		Name: "zero-inflated-beta", Text: "y ~ x", Family: "zero_inflated_beta", columns: numeric("y", 0, .9999),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, phi, zero := d.normal("Intercept", 0, .7), d.normal("b_x", 0, .4), d.positive("phi", 8, .4), d.share("zi", .5)
			return func(c covariates) []float64 {
				return []float64{(1 - d.bernoulli(zero)) * d.beta(sigmoid(a+b*c.x), phi)}
			}
		},
	},
	{
		Name: "hurdle-poisson", Text: "y ~ x", Family: "hurdle_poisson", columns: numeric("y", 0, 50),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, zero := d.normal("Intercept", 1, .5), d.normal("b_x", 0, .3), d.share("hu", .6)
			return func(c covariates) []float64 {
				return []float64{(1 - d.bernoulli(zero)) * above(0, func() float64 { return d.poisson(math.Exp(a + b*c.x)) })}
			}
		},
	},
	{
		Name: "hurdle-lognormal", Text: "y ~ x", Family: "hurdle_lognormal", columns: numeric("y", 0, 100),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, sigma, zero := d.normal("Intercept", .7, .5), d.normal("b_x", 0, .3), d.positive("sigma", .7, .3), d.share("hu", .6)
			return func(c covariates) []float64 {
				return []float64{(1 - d.bernoulli(zero)) * math.Exp(a+b*c.x+sigma*d.NormFloat64())}
			}
		},
	},
}

// observed draws the time at which observation ends, uniformly between 1 and 10. If death comes
// first, observed returns the time of death and 1. Otherwise the record is censored, and observed
// returns the end of observation and 0.
func (d *drawer) observed(death float64) []float64 {
	if left := 1 + 9*d.Float64(); death > left {
		return []float64{left, 0}
	}
	return []float64{death, 1}
}

// Sampled returns the bank and one further formula, which is only compared with Stan.
func Sampled() []Formula {
	return append(slices.Clone(Bank), Formula{
		Name: "interval", Text: "time | cens(status, upper) ~ x + arm", Family: "lognormal",
		columns: join(numeric("time", .001, 10), []formulaColumn{{name: "status", levels: []string{"none", "right", "left", "interval"}}}, numeric("upper", .002, 11)),
		draw: func(d *drawer) func(covariates) []float64 {
			a, b, arm := d.normal("Intercept", .7, .4), d.normal("b_x", 0, .3), d.arm(.4)
			return func(c covariates) []float64 { // times above 8 and below .5 are censored; for half of the others, only an interval of length 1 is known
				death := math.Exp(a + b*c.x + arm[c.arm] + .8*d.NormFloat64())
				switch visited := d.IntN(2) == 0; {
				case death > 8:
					return []float64{8, 1, 9}
				case death < .5:
					return []float64{.5, 2, 1}
				case visited:
					low := math.Floor(death-.5) + .5
					return []float64{low, 3, low + 1}
				}
				return []float64{death, 0, death + 1}
			}
		},
	})
}
