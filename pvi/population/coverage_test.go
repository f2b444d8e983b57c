package population

import (
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// A cell summarises many simulated studies with the same settings.
type cell struct {
	// share of 90 % intervals that contain the truth; intervals are between quantiles of the mixture,
	// or mean ± 1.645 standard deviations
	quantiles, moments float64
	pooled             float64 // mean probability that the pooled posterior gives to the 90 % intervals
	// geometric mean of the intervals' widths relative to the ideal widths; median over studies
	width      float64
	divergence float64 // median KL divergence from q to the pooled posterior
	between    float64 // median estimate of the standard deviation of θ between clients
	alike      float64 // share of studies in which the 5 % quantile of that standard deviation is 0
}

func (f federation) replicate(t *testing.T, replications int, seed uint64) cell {
	var c cell
	var widths, divergences, spreads []float64
	for k := range uint64(replications) {
		f.draw(1000*seed + k)
		s := f.run(t, k)
		q := s.Posterior()
		mean, covariance := q.Mean(), q.Covariance()
		pooledMean, pooledCovariance := f.fit()
		ideal := f.ideal()
		var width float64
		for i, truth := range f.truth(1000*seed + k) {
			low, high := q.quantile(i, .05), q.quantile(i, .95)
			each := 1 / float64(replications*f.d)
			if low < truth && truth < high {
				c.quantiles += each
			}
			if math.Abs(truth-mean[i]) < 1.6449*math.Sqrt(covariance.At(i, i)) {
				c.moments += each
			}
			sd := math.Sqrt(pooledCovariance.At(i, i))
			c.pooled += each * (phi((high-pooledMean[i])/sd) - phi((low-pooledMean[i])/sd))
			width += math.Log((high-low)/2/1.6449/math.Sqrt(ideal.At(i, i))) / float64(f.d)
		}
		widths = append(widths, math.Exp(width))
		divergences = append(divergences, divergence(mean, covariance, pooledMean, pooledCovariance))
		spreads = append(spreads, s.Spread(.5))
		if s.Spread(.05) == 0 {
			c.alike += 1 / float64(replications)
		}
	}
	c.width, c.divergence, c.between = median(widths), median(divergences), median(spreads)
	return c
}

func (m *Mixture) quantile(i int, p float64) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	const wide = 40 // number of standard deviations beyond which the normal tail is taken as 0
	for k, x := range m.means {
		sd := math.Sqrt(m.covariances[k].At(i, i))
		low, high = math.Min(low, x[i]-wide*sd), math.Max(high, x[i]+wide*sd)
	}
	for {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			return middle
		}
		if m.below(i, middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
}

func (m *Mixture) below(i int, x float64) (p float64) {
	for k, mean := range m.means {
		p += math.Erfc((mean[i]-x)/math.Sqrt(2*m.covariances[k].At(i, i))) / 2
	}
	return p / float64(len(m.means))
}

// truth returns the true θ of the population. If the model is not linear and clients differ, this
// is the fit to a very large number of them.
func (f federation) truth(seed uint64) []float64 {
	if f.family == "linear" || f.differ == 0 {
		return f.theta
	}
	f.clients = 1500
	f.draw(seed)
	theta, _ := f.fit()
	return theta
}

func median(x []float64) float64 {
	slices.Sort(x)
	return stat.Quantile(.5, stat.Empirical, x, nil)
}

// linear gives each client 40 records and sets the prior standard deviation to 3.
func linear(f federation) federation {
	f.records, f.priorSD, f.family = 40, 3, "linear"
	return f
}

// The measured coverage is .91 to .92. The bounds of the test are two standard errors away from it,
// for 200 intervals.
func TestCoverage(t *testing.T) {
	c := linear(federation{d: 2, clients: 100, epsilon: 4}).replicate(t, 100, 1)
	if c.quantiles < .86 || c.quantiles > .97 {
		t.Errorf("90 %% intervals contain the truth in %.3f of cases, want .86 to .97", c.quantiles)
	}
	if c.width > 1.3 {
		t.Errorf("intervals are %.2f times as wide as the ideal ones, want at most 1.3", c.width)
	}
	if c.alike < .9 {
		t.Errorf("the 5 %% point of the spread is 0 in %.2f of federations whose clients do not differ, want .9", c.alike)
	}
}

func TestClientsThatDiffer(t *testing.T) {
	if testing.Short() {
		t.Skip("100 federations")
	}
	c := linear(federation{d: 3, clients: 100, epsilon: 4, differ: .5}).replicate(t, 40, 2)
	if c.quantiles < .83 {
		t.Errorf("90 %% intervals contain the mean of the population in %.3f of cases", c.quantiles)
	}
	if c.between < .4 || c.between > .7 {
		t.Errorf("the sd between clients is .5, and is found as %.3f", c.between)
	}
	c = linear(federation{d: 3, clients: 100, epsilon: 4, missing: .3}).replicate(t, 40, 3)
	if c.quantiles < .87 {
		t.Errorf("90 %% intervals contain the truth in %.3f of cases if 30 %% of the clients are missing in every round", c.quantiles)
	}
	c = linear(federation{d: 3, clients: 100, epsilon: 4, missing: .3, pooled: true}).replicate(t, 20, 4)
	if c.pooled < .87 {
		t.Errorf("90 %% intervals contain %.3f of the draws of the pooled posterior if 30 %% of the clients are missing in every round", c.pooled)
	}
}

// If the noise is negligible and ten clients differ, intervals are about as wide as those of
// Student's t with nine degrees of freedom. If the sample covariance were taken as exact, only 83 %
// of them would contain the mean. The bound of the test is two standard errors below .90.
func TestFewClientsThatDiffer(t *testing.T) {
	c := linear(federation{d: 2, clients: 10, differ: 1}).replicate(t, 200, 8)
	if c.moments < .87 {
		t.Errorf("90 %% intervals contain the mean of the population in %.3f of cases", c.moments)
	}
}

// Noise hides how many clients are clipped. The root mean square error of the estimated slope must
// be at most 1.3 times its reported standard deviation.
func TestSlopeIsKnownAsWellAsStated(t *testing.T) {
	var squares, n float64
	for seed, f := range []federation{
		{d: 3, clients: 20, epsilon: 1}, {d: 3, clients: 50, epsilon: .3, differ: 2}, {d: 8, clients: 50, epsilon: 1}, {d: 8, clients: 20, epsilon: 3},
	} {
		f = linear(f)
		for k := range uint64(10) {
			f.draw(100*uint64(seed) + k + 7000)
			s := f.run(t, k)
			var slope float64
			q := s.rounds[len(s.rounds)-1].query
			for m := range f.x {
				g, information := f.score(m, s.units.From(q.Point))
				g, _ = q.shrink(s.units.Gradient(g), s.units.Information(information))
				kept := 1.0
				if length := floats.Norm(g, 2); length > q.Clip {
					kept = q.Clip / length * (1 - 1/float64(f.d))
				}
				slope += kept / float64(f.clients)
			}
			z := (slope - s.Slope().Mean) / s.Slope().SD
			squares += z * z
			n++
		}
	}
	if rms := math.Sqrt(squares / n); rms > 1.3 {
		t.Errorf("the error of the slope is %.2f times its sd", rms)
	}
}

// Without noise and clipping, q is the exact posterior of all records.
func TestWithoutNoise(t *testing.T) {
	f := linear(federation{d: 3, clients: 50, pooled: true})
	f.draw(5)
	s, _ := New(f.setting(5))
	s = f.advance(t, s, 1, 1)
	s.rules.early, s.rules.late, s.rules.two = 100, 100, true
	s.query = s.rules.first()
	s = f.advance(t, s, 2, f.rounds)
	q := s.Posterior()
	mean, covariance := f.fit()
	if kl := divergence(q.Mean(), q.Covariance(), mean, covariance); !(kl < 1e-3) {
		t.Errorf("KL to the pooled posterior is %g", kl)
	}
}

// If FEDPVI_LONG=1, the test prints the table in docs/use/clients.md.
func TestGrid(t *testing.T) {
	if os.Getenv("FEDPVI_LONG") == "" {
		t.Skip("a minute: set FEDPVI_LONG=1")
	}
	for _, f := range []federation{
		{d: 2, clients: 20, epsilon: 4},
		{d: 2, clients: 100, epsilon: 1},
		{d: 2, clients: 100, epsilon: 4},
		{d: 7, clients: 20, epsilon: 4},
		{d: 7, clients: 100, epsilon: 1},
		{d: 7, clients: 100, epsilon: 4},
		{d: 7, clients: 100, epsilon: 10},
		{d: 3, clients: 100, epsilon: 4, differ: .5},
		{d: 3, clients: 100, epsilon: 4, differ: .5, unequal: true},
		{d: 3, clients: 100, epsilon: 4, differ: .5, pooled: true},
		{d: 3, clients: 100, epsilon: 4, missing: .3},
		{d: 3, clients: 100, epsilon: 4, differ: .5, missing: .3},
		{d: 4, clients: 100, epsilon: 4, family: "logistic"},
		{d: 4, clients: 100, epsilon: 4, family: "Poisson"},
		{d: 4, clients: 100, epsilon: 4, family: "logistic", differ: .5},
		{d: 4, clients: 100, epsilon: 4, family: "Poisson", differ: .3},
	} {
		family := f.family
		f = linear(f)
		switch family {
		case "logistic":
			f.family, f.priorSD = family, 1
		case "Poisson":
			f.family, f.priorSD = family, .5
		}
		c := f.replicate(t, 40, 7)
		t.Logf("%-8s d %d M %3d ε %g differ %g unequal %v pooled %v missing %g: %+.3v", f.family, f.d, f.clients, f.epsilon, f.differ, f.unequal, f.pooled, f.missing, c)
	}
}

// If FEDPVI_LONG=1, the test prints coverage and widths of intervals. Its seeds were not used to
// choose any constant.
func TestShapes(t *testing.T) {
	if os.Getenv("FEDPVI_LONG") == "" {
		t.Skip("minutes: set FEDPVI_LONG=1")
	}
	for _, family := range []string{"linear", "logistic", "Poisson"} {
		f := linear(federation{d: 3})
		scale := 1.0
		switch family {
		case "logistic":
			f.family, f.priorSD, scale = family, 1, .3
		case "Poisson":
			f.family, f.priorSD, scale = family, .5, .15
		}
		for _, f.clients = range []int{20, 100, 1000} {
			for _, differ := range []float64{0, .5, 2} {
				for _, f.epsilon = range []float64{1, 10} {
					f.differ = scale * differ
					c := f.replicate(t, 20, 60)
					t.Logf("%-8s M %4d differ %.2f ε %2g S %5.1f: truth %.3f pooled %.3f width %.3f", family, f.clients, f.differ, f.epsilon, float64(f.clients)*f.mu()/math.Sqrt(float64(f.d)), c.moments, c.pooled, c.width)
				}
			}
		}
	}
}
