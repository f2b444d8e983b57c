package fit

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// fitted fits a Gaussian to a shard as if one client had all records, and returns its mean and
// standard deviations.
func fitted(t *testing.T, m *Model, s *shard.Shard, family gaussian.Family, point bool) (mean []float64, sd []float64) {
	t.Helper()
	natural := fitNatural(t, m, s, family, point)
	mean, cov, err := family.Moments(natural)
	if err != nil {
		t.Fatal(err)
	}
	for i := range mean {
		sd = append(sd, math.Sqrt(cov.At(i, i)))
	}
	return mean, sd
}

func fitNatural(t *testing.T, m *Model, s *shard.Shard, family gaussian.Family, point bool) []float64 {
	t.Helper()
	l, prior := likelihoodOf(t, m, s, 1), priorOf(t, m, family)
	natural := make([]float64, family.Size())
	if err := solver.Pooled(natural, prior, family, []solver.Likelihood{l}, point, nil); err != nil {
		t.Fatal(err)
	}
	return natural
}

// likelihoodOf returns the likelihood of a shard that belongs to one of several clients.
func likelihoodOf(t *testing.T, m *Model, s *shard.Shard, clients int) solver.Likelihood {
	t.Helper()
	l, err := m.Likelihood(s, clients)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func priorOf(t *testing.T, m *Model, family gaussian.Family) []float64 {
	t.Helper()
	prior, err := m.Prior(family)
	if err != nil {
		t.Fatal(err)
	}
	return prior
}

func logPosterior(m *Model, l solver.Likelihood) func(theta []float64) float64 {
	scratch := make([]float64, m.Dim())
	return func(theta []float64) float64 {
		sum := l.AddGradient(scratch, theta)
		for i, p := range m.Parameters.All() {
			z := (theta[i] - p.Prior.Mean) / p.Prior.SD
			sum -= z * z / 2
		}
		return sum
	}
}

// A Gaussian fitted to 120 records has nearly the same mean and standard deviations as a Metropolis
// chain of 25,000 steps. The chain's error is about 0.04 standard deviations.
func TestFitsAgainstMetropolis(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	for _, name := range []string{"linear", "robust", "logistic", "probit", "poisson", "plain counts"} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, name)
			r := rand.New(rand.NewPCG(5, 6))
			s := sensible(m, 120, r)
			mean, sd := fitted(t, m, s, gaussian.Full(m.Dim()), false)
			l := likelihoodOf(t, m, s, 1)
			family := gaussian.Full(m.Dim())
			jump, err := family.Sampler(fitNatural(t, m, s, family, false))
			if err != nil {
				t.Fatal(err)
			}
			wantMean, wantSD := metropolis(logPosterior(m, l), mean, jump, r)
			for i, p := range m.Parameters.All() {
				if off := math.Abs(mean[i]-wantMean[i]) / wantSD[i]; off > .2 {
					t.Errorf("%s: the mean is %.2f sd from the posterior's", p.Name, off)
				}
				if ratio := sd[i] / wantSD[i]; ratio < .8 || ratio > 1.15 {
					t.Errorf("%s: the sd is %.3f of the posterior's", p.Name, ratio)
				}
			}
		})
	}
}

// sensible returns n records with moderate values. Their outcomes depend weakly on the column u.
func sensible(m *Model, n int, r *rand.Rand) *shard.Shard {
	records := new(shard.Records)
	for range n {
		u, v := 2*r.Float64()-1, 10*r.Float64()
		y := max(-2, min(2, .4*u+.5*r.NormFloat64()))
		count := math.Floor(math.Exp(1+.5*u+.4*r.NormFloat64()) + r.Float64())
		class := float64(r.IntN(3))
		if r.Float64() < .3+.3*u {
			class = 1
		}
		records.Append([]float64{u, v, y, min(count, 60), class})
	}
	return shard.Design(m.Study, records)
}

// metropolis runs a random-walk Metropolis chain of 25,000 steps, and returns the mean and the
// standard deviation of each coordinate. A jump is a constant times the difference between a draw
// and start.
func metropolis(log func([]float64) float64, start []float64, draw gaussian.Sampler, r *rand.Rand) (mean, sd []float64) {
	const steps = 25_000
	d := len(start)
	now := append([]float64(nil), start...)
	next := make([]float64, d)
	sum, squares := make([]float64, d), make([]float64, d)
	density := log(now)
	for range steps {
		draw(next, r.NormFloat64)
		for i := range next {
			next[i] = now[i] + 2.4/math.Sqrt(float64(d))*(next[i]-start[i])
		}
		if then := log(next); math.Log(r.Float64()) < then-density {
			copy(now, next)
			density = then
		}
		for i, x := range now {
			sum[i] += x - start[i]
			squares[i] += (x - start[i]) * (x - start[i])
		}
	}
	for i := range start {
		average := sum[i] / steps
		mean = append(mean, start[i]+average)
		sd = append(sd, math.Sqrt(squares[i]/steps-average*average))
	}
	return mean, sd
}

// Laplace's approximation is centred at the mode, where the log posterior has gradient zero.
func TestLaplaceIsAtTheMode(t *testing.T) {
	for _, name := range []string{"linear", "robust", "logistic", "probit", "poisson", "plain counts", "softmax"} {
		m := newModel(t, name)
		s := sensible(m, 90, rand.New(rand.NewPCG(1, 9)))
		family := gaussian.Full(m.Dim())
		mean, sd := fitted(t, m, s, family, true)
		l := likelihoodOf(t, m, s, 1)
		gradient := make([]float64, m.Dim())
		l.AddGradient(gradient, mean)
		for i, p := range m.Parameters.All() {
			slope := gradient[i] - (mean[i]-p.Prior.Mean)/(p.Prior.SD*p.Prior.SD)
			if math.Abs(slope)*sd[i] > 1e-5 {
				t.Errorf("%s, %s: the log posterior rises by %.2g an sd at its mode", name, p.Name, slope*sd[i])
			}
		}
	}
}

// Stochastic variational inference finds a q close to the one that maximises the free energy.
func TestSVINearsTheFit(t *testing.T) {
	for _, of := range []string{"full", "diagonal"} {
		m := newModel(t, "logistic")
		family, err := gaussian.New(of, m.Dim())
		if err != nil {
			t.Fatal(err)
		}
		s := sensible(m, 200, rand.New(rand.NewPCG(3, 3)))
		mean, sd := fitted(t, m, s, family, false)
		l, prior := likelihoodOf(t, m, s, 1), priorOf(t, m, family)
		natural := append([]float64(nil), prior...)
		svi := solver.NewSVI(l, study.Ascent{Steps: 400, StepSize: .05, Draws: 8})
		stream := seeded.Stream(1, "svi")
		for range 3 {
			factor := make([]float64, family.Size())
			if _, err := svi.Propose(factor, solver.Problem{Family: family, Natural: natural, Cavity: prior}, stream); err != nil {
				t.Fatal(err)
			}
			for i := range natural {
				natural[i] = prior[i] + factor[i]
			}
		}
		got, cov, err := family.Moments(natural)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if off, ratio := math.Abs(got[i]-mean[i])/sd[i], math.Sqrt(cov.At(i, i))/sd[i]; off > .1 || ratio < .93 || ratio > 1.07 {
				t.Errorf("%s, %s: the mean is %.3f sd off, the sd %.3f of the fit's", of, m.Parameters.At(i).Name, off, ratio)
			}
		}
	}
}

// The posterior is proper even if the maximum-likelihood estimate is infinite or does not exist.
// The test tries records with a single class, separable classes, a constant column, no event, and
// counts at their bound. (If the noise is learned and becomes zero, or if groups differ in every
// column, the fit may fail.)
func TestAwkwardRecords(t *testing.T) {
	awkward := map[string]func(i int) []float64{
		"one class":       func(i int) []float64 { return []float64{math.Sin(float64(i)), 5, 1, 3, 1} },
		"separable":       func(i int) []float64 { u := float64(i%2)*2 - 1; return []float64{u, 5, u, 0, float64(i % 2)} },
		"constant column": func(i int) []float64 { return []float64{.5, 10, math.Cos(float64(i)), float64(i % 7), float64(i % 3)} },
		"no event":        func(i int) []float64 { return []float64{math.Sin(float64(i)), 1, 0, 0, 0} },
		"all at the top":  func(i int) []float64 { return []float64{1, 10, 2, 60, 2} },
	}
	for how, row := range awkward {
		for _, name := range []string{"logistic", "probit", "poisson", "plain counts", "softmax"} {
			m := newModel(t, name)
			records := new(shard.Records)
			for i := range 30 {
				records.Append(row(i))
			}
			for _, point := range []bool{false, true} {
				mean, sd := fitted(t, m, shard.Design(m.Study, records), gaussian.Full(m.Dim()), point)
				for i, x := range mean {
					if math.IsNaN(x) || !(sd[i] > 0) || math.Abs(x) > 12 || sd[i] > 1.6*m.Parameters.Prior(i).SD {
						t.Errorf("%s, %s: %s has mean %g and sd %g", how, name, m.Parameters.At(i).Name, x, sd[i])
					}
				}
			}
		}
	}
}

// A fit returns an error if an expectation overflows.
func TestOverflowIsAnError(t *testing.T) {
	m := newModel(t, "grouped counts")
	records := new(shard.Records)
	for i := range 30 {
		records.Append([]float64{.5, 10, 0, float64(i % 7), float64(i % 3)})
	}
	for i := range m.Parameters.blocks {
		m.Parameters.blocks[i].prior = func(int) study.Normal { return study.Normal{SD: 300} }
	}
	family := gaussian.Full(m.Dim())
	l, prior := likelihoodOf(t, m, shard.Design(m.Study, records), 1), priorOf(t, m, family)
	err := solver.Pooled(make([]float64, family.Size()), prior, family, []solver.Likelihood{l}, false, nil)
	if !errors.Is(err, solver.ErrDiverged) || !strings.Contains(err.Error(), "overflow") {
		t.Errorf("a mean of exp(300·300): %v", err)
	}
}

// The density and the mean of a prediction agree with averages over posterior draws.
func TestPredictAgainstDraws(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic of one thread: without -short")
	}
	for name := range models {
		m := newModel(t, name)
		if m.Study.Model.Kind() == study.Class || m.General() {
			continue
		}
		r := rand.New(rand.NewPCG(8, 8))
		s := sensible(m, 40, r)
		family := gaussian.Full(m.Dim())
		natural := fitNatural(t, m, s, family, false)
		got, err := m.Predict(s, family, natural)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]Prediction, s.Len())
		if err := m.average(want, s, family, natural); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if math.Abs(got[i].LogDensity-want[i].LogDensity) > .05*(1+math.Abs(want[i].LogDensity)) || math.Abs(got[i].Mean-want[i].Mean) > .05*(1+math.Abs(want[i].Mean)) {
				t.Errorf("%s, record %d: log density %.4f and mean %.4f, of draws %.4f and %.4f", name, i, got[i].LogDensity, got[i].Mean, want[i].LogDensity, want[i].Mean)
				break
			}
		}
	}
}
