package formula

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// outcome says what kind of values the outcome of a family has.
type outcome byte

const (
	anyReal    outcome = iota
	positive           // numbers above 0
	nonneg             // numbers that are at least 0
	inUnit             // numbers between 0 and 1, excluding both
	unitOrZero         // numbers between 0 and 1, including 0 and excluding 1
	binary
	counts
	classes // levels without an order
	grades  // levels with an order
)

// A family is a distribution of the outcome, together with its parameters and links. A link is a
// function that maps the location to the linear predictor mu.
type family struct {
	name    string
	links   []string // possible links, beginning with the default
	outcome outcome
	further []string // names of the parameters other than mu
	trials  bool     // whether the outcome counts successes in a number of trials
	cens    bool     // whether outcomes may be censored or truncated
	// density returns the density of the outcome under the given link. y is the name of the outcome in
	// the program.
	density func(w *writer, y, link string) density
}

// A density says how a program writes the density of an outcome. It is the name of a Stan density
// and its arguments or, if name is empty, an expression for the log density.
type density struct {
	name, args string
	log        string
}

// lpdf returns the log density as an expression.
func (d density) lpdf(y string) string {
	if d.name == "" {
		return d.log
	}
	suffix := "_lpdf"
	if slices.Contains([]string{"bernoulli", "bernoulli_logit", "binomial", "poisson_log", "neg_binomial_2_log", "binomial_logit", "beta_binomial", "categorical_logit", "ordered_logistic", "ordered_probit"}, d.name) {
		suffix = "_lpmf"
	}
	return fmt.Sprintf("%s%s(%s | %s)", d.name, suffix, y, d.args)
}

// fixed returns a density function for a [family] whose density does not depend on the outcome's
// name or the link.
func fixed(name, args string) func(w *writer, y, link string) density {
	return func(*writer, string, string) density { return density{name: name, args: args} }
}

// These are expressions for log probabilities. noCount and poissonTail are those of a Poisson count
// being 0 and being positive. noneOf and negativeTail are the same for a negative binomial count.
const (
	noCount      = "-exp(mu)"
	noneOf       = "-shape * log1p_exp(mu - log(shape))"
	poissonTail  = "log1m_exp(" + noCount + ")"
	negativeTail = "log1m_exp(" + noneOf + ")"
)

// inflated returns a zero-inflated density. The outcome is 0 with probability zi, and otherwise has
// the log density log, in which %s stands for the outcome. none is an expression for the log
// probability of 0 under log.
func inflated(none, log string) func(w *writer, y, link string) density {
	return func(_ *writer, y, _ string) density {
		return density{log: fmt.Sprintf("%s == 0 ? log_sum_exp(log(zi), log1m(zi) + %s) : log1m(zi) + %s", y, enclosed(none), fmt.Sprintf(log, y))}
	}
}

// hurdle returns the density of an outcome that is 0 with probability share, and otherwise positive
// with the log density log, in which %s stands for the outcome. If log cannot be computed for an
// outcome of 0, placeholder is used in its place.
func hurdle(share, placeholder, log string) func(w *writer, y, link string) density {
	return func(w *writer, y, _ string) density {
		above := y
		if placeholder != "" {
			above = w.local("above", fmt.Sprintf("%s > 0 ? %s : %s", y, y, placeholder))
		}
		return density{log: fmt.Sprintf("%s == 0 ? log(%s) : log1m(%s) + %s", y, share, share, fmt.Sprintf(log, above))}
	}
}

func enclosed(text string) string { return "(" + text + ")" }

var families = []family{
	{name: "gaussian", links: []string{"identity"}, further: []string{"sigma"}, cens: true, density: func(w *writer, _, _ string) density {
		return density{name: "normal", args: "mu, " + w.noise}
	}},
	{name: "student", links: []string{"identity"}, further: []string{"sigma", "nu"}, density: func(w *writer, _, _ string) density {
		return density{name: "student_t", args: "nu, mu, " + w.noise}
	}},
	{name: "lognormal", links: []string{"identity"}, outcome: positive, further: []string{"sigma"}, cens: true, density: fixed("lognormal", "mu, sigma")},
	{name: "bernoulli", links: []string{"logit", "probit", "cloglog"}, outcome: binary, density: func(_ *writer, _, link string) density {
		switch link {
		case "probit":
			return density{name: "bernoulli", args: "Phi(mu)"}
		case "cloglog":
			return density{name: "bernoulli", args: "-expm1(-exp(mu))"}
		}
		return density{name: "bernoulli_logit", args: "mu"}
	}},
	{name: "binomial", links: []string{"logit", "probit"}, outcome: counts, trials: true, density: func(w *writer, _, link string) density {
		if link == "probit" {
			return density{name: "binomial", args: w.trials + ", Phi(mu)"}
		}
		return density{name: "binomial_logit", args: w.trials + ", mu"}
	}},
	{name: "beta_binomial", links: []string{"logit"}, outcome: counts, trials: true, further: []string{"phi"}, density: func(w *writer, _, _ string) density {
		return density{name: "beta_binomial", args: w.trials + ", phi * inv_logit(mu), phi * inv_logit(-mu)"}
	}},
	{name: "poisson", links: []string{"log"}, outcome: counts, density: fixed("poisson_log", "mu")},
	{name: "negbinomial", links: []string{"log"}, outcome: counts, further: []string{"shape"}, density: fixed("neg_binomial_2_log", "mu, shape")},
	{name: "categorical", links: []string{"logit"}, outcome: classes},
	{name: "cumulative", links: []string{"logit", "probit"}, outcome: grades, density: func(_ *writer, _, link string) density {
		return density{name: map[string]string{"logit": "ordered_logistic", "probit": "ordered_probit"}[link], args: "mu, Intercept"}
	}},
	{name: "Gamma", links: []string{"log"}, outcome: positive, further: []string{"shape"}, density: fixed("gamma", "shape, shape * exp(-mu)")},
	{name: "weibull", links: []string{"log"}, outcome: positive, further: []string{"shape"}, cens: true, density: fixed("weibull", "shape, exp(mu - lgamma(1 + 1 / shape))")},
	{name: "exponential", links: []string{"log"}, outcome: positive, cens: true, density: fixed("exponential", "exp(-mu)")},
	{name: "piecewise_exponential", links: []string{"log"}, outcome: positive, cens: true},
	{name: "Beta", links: []string{"logit"}, outcome: inUnit, further: []string{"phi"}, density: fixed("beta", "phi * inv_logit(mu), phi * inv_logit(-mu)")},
	{name: "zero_inflated_poisson", links: []string{"log"}, outcome: counts, further: []string{"zi"}, density: inflated(noCount, "poisson_log_lpmf(%s | mu)")},
	{name: "zero_inflated_negbinomial", links: []string{"log"}, outcome: counts, further: []string{"shape", "zi"}, density: inflated(noneOf, "neg_binomial_2_log_lpmf(%s | mu, shape)")},
	{name: "zero_inflated_binomial", links: []string{"logit"}, outcome: counts, trials: true, further: []string{"zi"}, density: func(w *writer, y, link string) density {
		return inflated(w.trials+" * log_inv_logit(-mu)", "binomial_logit_lpmf(%s | "+w.trials+", mu)")(w, y, link)
	}},
	{name: "zero_inflated_beta", links: []string{"logit"}, outcome: unitOrZero, further: []string{"phi", "zi"}, density: hurdle("zi", "0.5", "beta_lpdf(%s | phi * inv_logit(mu), phi * inv_logit(-mu))")},
	{name: "hurdle_poisson", links: []string{"log"}, outcome: counts, further: []string{"hu"}, density: hurdle("hu", "", "poisson_log_lpmf(%s | mu) - "+poissonTail)},
	{name: "hurdle_negbinomial", links: []string{"log"}, outcome: counts, further: []string{"shape", "hu"}, density: hurdle("hu", "", "neg_binomial_2_log_lpmf(%s | mu, shape) - "+negativeTail)},
	{name: "hurdle_gamma", links: []string{"log"}, outcome: nonneg, further: []string{"shape", "hu"}, density: hurdle("hu", "1.0", "gamma_lpdf(%s | shape, shape * exp(-mu))")},
	{name: "hurdle_lognormal", links: []string{"identity"}, outcome: nonneg, further: []string{"sigma", "hu"}, density: hurdle("hu", "1.0", "lognormal_lpdf(%s | mu, sigma)")},
}

// Families returns the names of all families.
func Families() []string {
	var all []string
	for _, f := range families {
		all = append(all, f.name)
	}
	return all
}

// A chosen is a family with its link. If the family is piecewise exponential, it has the times at
// which the hazard may change instead.
type chosen struct {
	*family
	link string
	cuts []float64
}

// says writes the family as it appears in a study, such as "bernoulli(probit)".
func (c *chosen) says() string {
	inside := c.link
	for k := range c.cuts {
		if inside += ", "; k == 0 {
			inside = ""
		}
		inside += short(c.cuts[k], 10)
	}
	return c.name + "(" + inside + ")"
}

// A FamilyError is an error in the text of a family. It concerns the name, the link or the times.
type FamilyError struct{ text string }

func (e *FamilyError) Error() string { return e.text }

func refuseFamily(format string, args ...any) {
	panic(&FamilyError{fmt.Sprintf(format, args...)})
}

// familyOf parses a family such as "bernoulli(probit)". If the text is wrong, it panics with a
// [*FamilyError].
func familyOf(source string) chosen {
	called, rest, brackets := strings.Cut(strings.TrimSpace(source), "(")
	called = strings.TrimSpace(called)
	i := slices.IndexFunc(families, func(f family) bool { return strings.EqualFold(f.name, called) })
	switch {
	case slices.Contains([]string{"cox", "coxph"}, strings.ToLower(called)):
		refuseFamily(`the partial likelihood of Cox's model compares each record with all records that are still at risk, so it is not a sum over records. The model with a constant hazard between public times is such a sum, and has the same coefficients: family = "piecewise_exponential(30, 90, 365)"`)
	case i < 0:
		refuseFamily("%q is not a family: the families are %s", source, strings.Join(Families(), ", "))
	}
	c := chosen{family: &families[i], link: families[i].links[0]}
	inside, ended := strings.CutSuffix(strings.TrimSpace(rest), ")")
	switch {
	case brackets && !ended:
		refuseFamily("%q has no closing bracket", source)
	case c.name == "piecewise_exponential":
		c.cuts = cutsOf(inside)
	case brackets:
		link := inside
		if key, value, named := strings.Cut(inside, "="); named && strings.TrimSpace(key) == "link" {
			link = value
		}
		c.link = strings.Trim(strings.TrimSpace(link), `"'`)
		if !slices.Contains(c.links, c.link) {
			refuseFamily("%q is not a link of %s: write %s", c.link, c.name, orList(c.links))
		}
	}
	return c
}

func orList(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}

const mostCuts = 50

func cutsOf(inside string) []float64 {
	var cuts []float64
	for _, field := range strings.Split(inside, ",") {
		var x float64
		if n, err := fmt.Sscanf(strings.TrimSpace(field)+";", "%g;", &x); n != 1 || err != nil || !(x > 0) || math.IsInf(x, 0) || len(cuts) > 0 && x <= cuts[len(cuts)-1] || len(cuts) == mostCuts {
			refuseFamily(`write the public times at which the hazard may change, in increasing order: family = "piecewise_exponential(30, 90, 365)"`)
		}
		cuts = append(cuts, x)
	}
	return cuts
}

// check refuses column i as the outcome if the family does not allow its values. The error points
// to n, the node with the name of the column.
func (w *writer) check(n *node, i int) {
	c, f := &w.columns[i], w.family
	levels := len(c.Levels) > 0
	wrong := func(format string, args ...any) {
		fail("E604", n.at, "%s of the family %s %s", c.Name, f.name, fmt.Sprintf(format, args...))
	}
	switch f.outcome {
	case binary:
		if w.request.Positive == "" && len(c.Levels) != 2 && !(c.Whole && c.Low == 0 && c.High == 1) {
			wrong(`must be 0 or 1, or one of two levels. Write the condition under which it is 1:  positive = ">= 10"`)
		}
	case classes, grades:
		if len(c.Levels) < 2 || f.outcome == grades && len(c.Levels) < 3 {
			wrong("must be a column with levels, at least %d", map[outcome]int{classes: 2, grades: 3}[f.outcome])
		}
	case counts:
		if levels || !c.Whole || c.Low < 0 {
			wrong("must be a count: a numeric column without a transform, whose bounds are whole numbers and not negative")
		}
	default:
		if levels {
			wrong("must be a number, but the column has levels")
		}
		w.checkRange(c, wrong)
	}
	if w.request.Positive != "" && f.outcome != binary {
		refuseFamily("positive is for the family bernoulli")
	}
}

func (w *writer) checkRange(c *Column, wrong func(format string, args ...any)) {
	switch of := w.family.outcome; {
	case of == positive && !(c.Low > 0):
		wrong("must be above 0, but the column may have %s: raise the lower bound", short(c.Low, 6))
	case of == inUnit && !(c.Low > 0):
		wrong("must be above 0, but the column may have %s: raise the lower bound, or write zero_inflated_beta", short(c.Low, 6))
	case (of == inUnit || of == unitOrZero) && !(c.High < 1):
		wrong("must be below 1, but the column may have %s: lower the upper bound", short(c.High, 6))
	case (of == nonneg || of == unitOrZero) && c.Low < 0:
		wrong("must be at least 0, but the column may have %s", short(c.Low, 6))
	}
}

// A scale holds public numbers about a linear predictor, from which default priors are computed.
type scale struct {
	centre, sd float64 // mean and standard deviation of the intercept's prior
	unit       float64 // typical spread of the predictor
	effect     float64 // prior standard deviation of the change in the predictor when a covariate changes by its spread, relative to unit
	middle     string  // says where the prior of the intercept comes from
	says       string  // description of unit
}

// ofEffects describes the prior standard deviation of an effect.
func (s *scale) ofEffects() string {
	switch {
	case s.effect == 1:
		return s.says
	case s.unit == 1:
		return short(s.effect, 3) + " " + strings.TrimPrefix(s.says, "1 ")
	}
	return short(s.effect, 3) + " times " + s.says
}

// From this version of the study language on, a formula has the same default priors as a family for
// a measured outcome and for positive parameters. Before, the prior standard deviation of effects
// was 2.5 times as large, and a noisy sum of scores could move the posterior far into the tails of
// the priors of positive parameters.
const since = 3

const (
	wideEffect = 2.5 // effect of a [scale]
	// prior median and factor of the noise, relative to half the width of the outcome's bounds
	noiseMedian, noiseFactor = 0.2, 4
	// prior median and factor of all other positive parameters, such as the shape of a negative
	// binomial count
	shapeMedian, shapeFactor = 3, 5
)

// ofMeasured returns the effect in the [scale] of a measured outcome.
func (w *writer) ofMeasured() float64 {
	if w.request.Version < since {
		return wideEffect
	}
	return 1
}

// scale computes public numbers for the default priors of the predictor mu. c is the column of the
// outcome.
func (w *writer) scale(c *Column) scale {
	logs := func() (middle, half float64) {
		low, high := max(c.Low, .5), max(c.High, 1)
		switch w.family.outcome {
		case positive:
			low, high = c.Low, c.High
		case nonneg:
			low, high = max(c.Low, c.High/1000), c.High
		}
		middle, half = (math.Log(low)+math.Log(high))/2, (math.Log(high)-math.Log(low))/(2*math.Sqrt(3))
		if c.Spread > 0 && c.Centre > 0 {
			middle, half = math.Log(c.Centre), c.Spread/c.Centre
		}
		return middle, half
	}
	switch name := strings.TrimPrefix(w.family.name, "hurdle_"); {
	case name == "lognormal":
		middle, half := logs()
		return scale{middle, 2.5 * half, half, w.ofMeasured(), "middle and 2.5 spreads of log " + c.Name, short(half, 3) + ", the spread of log " + c.Name}
	case w.family.link == "identity":
		return scale{
			c.centre(), 2.5 * c.spread(), c.spread(), w.ofMeasured(), "middle and 2.5 spreads of " + c.Name,
			fmt.Sprintf("%s, the spread of %s (%s)", short(c.spread(), 3), c.Name, c.from()),
		}
	case w.family.link == "log":
		middle, half := logs()
		return scale{middle, max(2.5, half), 1, wideEffect, "the middle of log " + c.Name + " within its bounds", "1 on the log scale"}
	}
	return unitScale(0, w.family.link)
}

// unitScale returns the [scale] of a predictor that does not depend on the scale of the outcome,
// such as log odds. centre is the prior mean of the intercept.
func unitScale(centre float64, link string) scale {
	return scale{centre, 2.5, 1, wideEffect, "2.5 on the " + link + " scale", "1 on the " + link + " scale"}
}

// A shape has the defaults of a parameter other than mu.
type shape struct {
	lower, upper string // bounds of the parameter, as text
	link         string // link to use if the parameter has a formula, or "" if it cannot have one
	prior        string
	centre, sd   float64 // mean and standard deviation of the prior of the intercept, if the parameter has a formula
	effect       float64 // effect of the [scale] of this formula
	says         string
}

// lognormal returns the defaults of a positive parameter. A prior standard deviation above or below
// the median multiplies or divides it by factor.
func lognormal(median, factor float64, says string) shape {
	s := shape{lower: "0", link: "log", centre: math.Log(median), sd: math.Log(factor), effect: 1}
	s.prior = fmt.Sprintf("lognormal(%s, %s)", rounded(s.centre, s.sd), short(s.sd, 3))
	s.says = fmt.Sprintf("median %s%s; one sd is a factor of %s", short(median, 3), says, short(factor, 3))
	return s
}

// shapeOf returns the defaults of the named parameter. s is the [scale] of mu.
func (w *writer) shapeOf(name string, s scale) shape {
	switch name {
	case "nu":
		return shape{lower: "1", prior: "gamma(2, 0.1)", says: "weakly informative, mean 20"}
	case "zi", "hu":
		return shape{lower: "0", upper: "1", link: "logit", prior: "beta(1, 1)", sd: 2.5, effect: wideEffect, says: "uniform"}
	}
	switch weibull := name == "shape" && w.family.name == "weibull"; {
	case w.request.Version < since:
		return formerShape(name, weibull, s)
	case name == "sigma":
		return lognormal(noiseMedian*math.Sqrt(3)*s.unit, noiseFactor, fmt.Sprintf(", %.2g of %s", noiseMedian*math.Sqrt(3), s.says))
	case weibull:
		return lognormal(1, math.E, ", the exponential distribution")
	}
	return lognormal(shapeMedian, shapeFactor, "")
}

// formerShape returns the defaults that a positive parameter had before version [since] of the
// study language. weibull is true for the shape of a Weibull distribution.
func formerShape(name string, weibull bool, s scale) shape {
	d := shape{lower: "0", link: "log", prior: "gamma(2, 0.1)", sd: 2.5, effect: wideEffect, says: "weakly informative, mean 20"}
	switch {
	case name == "sigma":
		d.prior, d.centre, d.says = fmt.Sprintf("student_t(3, 0, %s)", short(s.unit, 3)), math.Log(s.unit), "half of a Student t with scale "+s.says
	case weibull:
		d.prior, d.says = "lognormal(0, 1)", "median 1, the exponential distribution"
	}
	return d
}
