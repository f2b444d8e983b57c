package scoring

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
)

// A dispersion is the likelihood of the overdispersion a in a Poisson regression, given the
// released sums. Each mean μ is multiplied by a random factor with mean 1 and variance a. Counts
// are then negative binomial with variance μ(1 + aμ). The prior gives a = 0 probability one half.
// Otherwise log a is uniform on a grid.
type dispersion struct{ logs [dispersionPoints]float64 }

const (
	dispersionPoints          = 31
	leastFrailty, mostFrailty = 0.02, 5.0

	// dispersionClip is the clipping bound for a record's squared residual, relative to the variance
	// of the count under the model. Without overdispersion, the mean of the squared residual is 1.
	dispersionClip = 8.0
	// dispersionSlack is the standard deviation of the error in the expected mean squared residual.
	// There is such an error because made-up columns differ from real ones, and because θ is not the
	// posterior mode.
	dispersionSlack = 0.03
)

// frailtyAt returns point i of the grid for a ([dispersion]). Point 0 is a = 0.
func frailtyAt(i int) float64 {
	if i == 0 {
		return 0
	}
	return leastFrailty * math.Pow(mostFrailty/leastFrailty, float64(i-1)/(dispersionPoints-2))
}

// residual returns the squared residual of a count, divided by its variance under the model.
func (s *workspace) residual(y float64) float64 {
	s.response.Eval(y, s.eta, s.g, s.h)
	s.response.Information(s.eta, s.w)
	if !(s.w[0] > 0) { // the mean underflows
		return 0
	}
	return s.g[0] * s.g[0] / s.w[0]
}

// learned returns b updated with a released sum of squared residuals at θ, whose noise has standard
// deviation sd. cov is the covariance of θ.
func (b dispersion) learned(m *madeUp, theta []float64, cov *mat.SymDense, sum, sd float64) dispersion {
	w, spread := m.workspace(), make([]float64, 1)
	means, drawn := make([]float64, madeUpRecords), make([]float64, madeUpRecords)
	for i := range means {
		w.predict(m.row(i), theta)
		w.predictorCovariance(spread, m.row(i), cov)
		means[i] = math.Exp(w.eta[0])
		drawn[i] = math.Exp(w.eta[0] + math.Sqrt(spread[0])*m.predict[0][i])
	}
	slack := dispersionSlack * m.Records
	for k := range b.logs {
		var expected float64
		for i := range means {
			expected += clippedResidual(means[i], drawn[i], frailtyAt(k)) * m.Records / madeUpRecords
		}
		gap := sum - expected
		b.logs[k] -= gap * gap / (2 * (sd*sd + slack*slack))
	}
	return b
}

// clippedResidual returns the mean of min((Y − mu)²/mu, dispersionClip). Y is negative binomial
// with the given mean, and frailty is the variance of the random factor.
func clippedResidual(mu, mean, frailty float64) (expected float64) {
	const many = 500
	if mean > many { // for a large count, a normal number with the same mean and variance is used
		variance := mean * (1 + frailty*mean)
		return clippedSquare((mean-mu)/math.Sqrt(mu), variance/mu)
	}
	share, size := 0.0, 0.0 // the probabilities of counts y satisfy p(y+1) = p(y)·share·(size + y)/(y + 1)
	p := math.Exp(-mean)
	if frailty > 0 {
		size = 1 / frailty
		share = mean / (mean + size)
		p = math.Exp(-size * math.Log1p(mean/size))
	}
	left := 1.0
	for y := 0.0; left > 1e-9 && (y < mu || (y-mu)*(y-mu) < dispersionClip*mu); y++ {
		expected += p * min((y-mu)*(y-mu)/mu, dispersionClip)
		left -= p
		if frailty > 0 {
			p *= share * (size + y) / (y + 1)
		} else {
			p *= mean / (y + 1)
		}
	}
	return expected + max(left, 0)*dispersionClip
}

// clippedSquare returns the mean of min(X², dispersionClip) for a normal X.
func clippedSquare(mean, variance float64) float64 {
	sd, bound := math.Sqrt(variance), math.Sqrt(dispersionClip)
	low, high := (-bound-mean)/sd, (bound-mean)/sd
	density := func(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }
	inside := special.Phi(high) - special.Phi(low)
	inner := (mean*mean+variance)*inside - 2*mean*sd*(density(high)-density(low)) - variance*(high*density(high)-low*density(low))
	return inner + (1-inside)*dispersionClip
}

func (b *dispersion) quantile(q float64) float64 {
	var weights [dispersionPoints]float64
	largest, total := math.Inf(-1), 0.0
	for _, l := range b.logs {
		largest = max(largest, l)
	}
	for i, l := range b.logs {
		weights[i] = math.Exp(l - largest)
		if i == 0 {
			weights[i] *= dispersionPoints - 1
		}
		total += weights[i]
	}
	return frailtyAt(pick(weights[:], q*total))
}

// The result exceeds 1 if counts vary more than under the Poisson model.
func (m *madeUp) inflation(theta []float64) float64 { return m.inflated(theta, m.frailty) }

// inflated returns the variance of the scores at θ, relative to that under the Poisson model, if
// means are multiplied by random factors with variance frailty.
func (m *madeUp) inflated(theta []float64, frailty float64) float64 {
	if frailty == 0 {
		return 1
	}
	w := m.workspace()
	var variance, model float64
	for i := range madeUpRecords {
		w.predict(m.row(i), theta)
		mean := math.Exp(w.eta[0])
		variance += mean * (1 + frailty*mean)
		model += mean
	}
	return variance / model
}

// Dispersion returns the median and the 95 % interval of how large the variance of the counts is,
// relative to a Poisson distribution. It returns false if no squared residuals have been released.
func (s *State) Dispersion() (median, low, high float64, ok bool) {
	if s.dispersion == (dispersion{}) {
		return 1, 1, 1, false
	}
	of := func(q float64) float64 { return s.madeUp.(*madeUp).inflated(s.theta, s.dispersion.quantile(q)) }
	return of(0.5), of(0.025), of(0.975), true
}
