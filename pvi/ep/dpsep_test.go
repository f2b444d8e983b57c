package ep

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/special"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

func sepOptions(n int, rate float64) SEPOptions {
	return SEPOptions{Power: 1, Rate: rate, StepSize: 1, Recency: 1, Nominal: float64(max(n, 1)), Improper: study.Project}
}

// mechanisms caches the mechanisms of the tests. The cost of random allocation takes long to
// compute.
var mechanisms = map[string]*dpmech.SampledSum{}

func private(t testing.TB, r *solver.Regression, name string, c dpmech.SampledConfig, o SEPOptions, visits int) *DPSEP {
	t.Helper()
	tilted := NewRegression(r, familyOf(t, name, r.Dim()), o.Power, 0.5)
	c.Records, c.Dim = tilted.Records(), tilted.Size()
	key := fmt.Sprintf("%+v", c)
	m, ok := mechanisms[key]
	if !ok {
		m = sampled(t, c)
		mechanisms[key] = m
	}
	s, err := NewDPSEP(tilted, m, o, c.Steps/visits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asked(s *DPSEP) solver.Problem {
	family := s.factor.tilted.Family()
	natural := unit(family)
	return solver.Problem{Family: family, Mean: make([]float64, family.Dim()), Natural: natural, Cavity: natural, Weight: 1}
}

// probitSite returns the site of a probit record, around the cavity's mean, from finite differences
// of log Φ.
func probitSite(x []float64, y float64, mean, variance []float64) []float64 {
	d := len(x)
	logZ := func(mean []float64) float64 {
		var m, v float64
		for j := range x {
			m += x[j] * mean[j]
			v += x[j] * x[j] * variance[j]
		}
		return math.Log(math.Erfc(-(2*y-1)*m/math.Sqrt(2*(1+v))) / 2)
	}
	const h = 1e-4
	at, site := slices.Clone(mean), make([]float64, 2*d)
	zero := logZ(at)
	for j := range x {
		at[j] = mean[j] + h
		above := logZ(at)
		at[j] = mean[j] - h
		below := logZ(at)
		at[j] = mean[j]
		first, second := (above-below)/(2*h), (above-2*zero+below)/(h*h)
		tiltedMean := mean[j] + variance[j]*first
		tiltedVariance := variance[j] + variance[j]*variance[j]*second
		site[j] = (tiltedMean - mean[j]) / tiltedVariance
		site[d+j] = 1/tiltedVariance - 1/variance[j]
	}
	return site
}

// A step releases only the sum of the batch's clipped sites, rounded to the lattice, plus noise.
// The test draws batch and noise from the streams and computes the sum itself. The factor changes
// by the released sum divided by the sampling rate.
func TestDPSEPReleasesWhatItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of one thread: without -short")
	}
	const n, d, clip, multiplier = 80, 3, 0.9, 1.7
	for _, sampling := range []dpmech.Sampling{dpmech.Poisson{Rate: 0.3}, dpmech.FullBatch{}, dpmech.RandomAllocation{Steps: 4, Picks: 1}} {
		rate := map[dpmech.Sampling]float64{dpmech.Poisson{Rate: 0.3}: 0.3, dpmech.FullBatch{}: 1, dpmech.RandomAllocation{Steps: 4, Picks: 1}: 0.25}[sampling]
		r := outcomes(t, study.Probit, n, d, 2)
		o := sepOptions(n, rate)
		s := private(t, r, "diagonal", dpmech.SampledConfig{Sampling: sampling, Steps: 4, Clip: clip, NoiseMultiplier: multiplier}, o, 1)
		src := seeded.Stream(5, "visit")
		var chosen, noise dpmech.Stream
		twin := seeded.Stream(5, "visit")
		dpmech.Split(&chosen, twin)
		dpmech.Split(&noise, twin)
		dpmech.Split(s.streams.Sampling, src)
		dpmech.Split(s.streams.Noise, src)
		copy(s.outer, asked(s).Cavity)
		sampler, err := sampling.Sampler(n)
		if err != nil {
			t.Fatal(err)
		}
		discrete, err := dpmech.NewDiscreteGaussian(s.mechanism.ShareSigma())
		if err != nil {
			t.Fatal(err)
		}
		unit := s.mechanism.Lattice().Step()
		for step := range 4 {
			want := make([]float64, 2*d)
			hidden := make([]int64, 2*d)
			discrete.Fill(hidden, &noise)
			if err := s.factor.prepare(s.outer); err != nil {
				t.Fatal(err)
			}
			mean, variance := slices.Clone(s.factor.cavity.Mean), slices.Clone(s.factor.cavity.Variance)
			for _, record := range sampler.Next(nil, &chosen) {
				_, x := r.Design().Row(int(record))
				site := probitSite(x, r.Outcomes()[record], mean, variance)
				var squares float64
				for j := range site {
					if j >= d {
						site[j] *= 0.5 // Precisions have weight 0.5.
					}
					squares += site[j] * site[j]
				}
				for j, v := range site {
					want[j] += v * min(1, clip/math.Sqrt(squares))
				}
			}
			before := slices.Clone(s.factor.used)
			if err := s.step(); err != nil {
				t.Fatal(err)
			}
			share := o.share(step)
			for j := range want {
				got := unit * float64(s.noisy[j]-hidden[j])
				if math.Abs(got-want[j]) > 1e-5*(1+math.Abs(want[j])) {
					t.Errorf("%T, step %d: number %d of the sum is %.9g, by the book %.9g", sampling, step, j, got, want[j])
				}
				sum := unit * float64(s.noisy[j]) / rate
				if j >= d {
					sum *= 2
				} else {
					sum += unit * float64(s.noisy[d+j]) / rate * 2 * mean[j]
				}
				if moved := before[j] + share*(sum-before[j]); math.Abs(s.factor.used[j]-moved) > 1e-9*(1+math.Abs(moved)) {
					t.Errorf("%T, step %d: number %d of the factor is %.9g, want %.9g", sampling, step, j, s.factor.used[j], moved)
				}
			}
		}
	}
}

// Any record changes a sum by at most the clip, and one whose site is not finite not at all. The
// test compares sums with and without the record under the same noise.
func TestDPSEPRecordsHaveBoundedInfluence(t *testing.T) {
	const d, clip = 2, 0.7
	values := []float64{0, 1, -30, 1e8, -1e200, 1e308, math.Inf(1), math.NaN()}
	for _, family := range []study.Family{study.Probit, study.Logistic, study.Linear, study.Poisson, study.Robust} {
		for _, name := range []string{"diagonal", "full"} {
			for _, a := range values {
				for _, y := range []float64{0, 1, 1e300, math.NaN()} {
					sums := [2][]int64{}
					for world := range 2 {
						o := solver.Outcome{Family: family, DegreesOfFreedom: 4}
						if family == study.Linear {
							o.NoiseSD = 0.3
						}
						r := solver.NewRegression(d, o)
						add := func(x0, x1, y float64) {
							r.Load(0, x0)
							r.Load(1, x1)
							r.EndPredictor()
							if family == study.Robust {
								r.EndPredictor()
							}
							r.EndRecord(y)
						}
						for range 3 {
							add(0.5, 1, 1)
						}
						if world == 1 {
							add(a, 0.3, y)
						}
						s := private(t, r, name, dpmech.SampledConfig{Sampling: dpmech.FullBatch{}, Steps: 1, Clip: clip, NoiseMultiplier: 1}, sepOptions(3, 1), 1)
						if _, err := s.Propose(make([]float64, len(s.outer)), asked(s), seeded.Stream(1, "visit")); err != nil {
							t.Fatalf("%s, %s, record %g, %g: %v", family, name, a, y, err)
						}
						sums[world] = s.noisy
						if unit := s.mechanism.Lattice().Step(); world == 1 {
							var squares float64
							for j := range sums[0] {
								gap := unit * float64(sums[1][j]-sums[0][j])
								squares += gap * gap
							}
							if math.Sqrt(squares) > clip*(1+1e-9) {
								t.Errorf("%s, %s: a record of %g, %g moves the sum by %g, the clip is %g", family, name, a, y, math.Sqrt(squares), clip)
							}
						}
					}
				}
			}
		}
	}
}

// With little noise, the factor is close to that of SEP, for batches of all records and for random
// ones.
func TestDPSEPNearsSEP(t *testing.T) {
	const n, d, passes = 1500, 3, 20
	r := outcomes(t, study.Probit, n, d, 4)
	for _, name := range []string{"diagonal", "full"} {
		family := familyOf(t, name, d)
		want := sepFactor(t, NewRegression(r, family, 1, 0.5), sepOptions(n, 1), passes)
		for _, c := range []struct {
			sampling  dpmech.Sampling
			rate, off float64
			deviation bool
		}{
			{dpmech.FullBatch{}, 1, 0.15, false},
			{dpmech.Poisson{Rate: 0.2}, 0.2, 0.7, true},
			{dpmech.RandomAllocation{Steps: 5, Picks: 1}, 0.2, 0.7, false},
		} {
			if _, slow := c.sampling.(dpmech.RandomAllocation); slow && name == "full" {
				continue
			}
			o := sepOptions(n, c.rate)
			o.Deviation = c.deviation
			steps := int(passes / c.rate)
			s := private(t, r, name, dpmech.SampledConfig{Sampling: c.sampling, Steps: steps, Clip: 8, NoiseMultiplier: 0.4}, o, 1)
			got := make([]float64, family.Size())
			if _, err := s.Propose(got, asked(s), seeded.Stream(3, "visit")); err != nil {
				t.Fatal(err)
			}
			checkNear(t, name, got, want, family, c.off, c.sampling)
		}
	}
}

func checkNear(t *testing.T, name string, got, want []float64, family gaussian.Family, off float64, sampling dpmech.Sampling) {
	t.Helper()
	p, q := posterior(t, family, unit(family), got), posterior(t, family, unit(family), want)
	for i, v := range q.Variance {
		if miss := math.Abs(p.Mean[i]-q.Mean[i]) / math.Sqrt(v); miss > off {
			t.Errorf("%s, %T: mean %d is %.2g sds away from that without noise", name, sampling, i, miss)
		}
		if math.Abs(p.Variance[i]/v-1) > off {
			t.Errorf("%s, %T: variance %d is %.3g times that without noise", name, sampling, i, p.Variance[i]/v)
		}
	}
}

// If records contribute sites, the factor does not depend on the public number of records. If they
// contribute deviations, it is proportional to it.
func TestDPSEPSitesNeedNoNumberOfRecords(t *testing.T) {
	const n, d = 400, 2
	r := outcomes(t, study.Probit, n, d, 6)
	family := gaussian.Full(d)
	factor := func(nominal float64, deviation bool) []float64 {
		o := sepOptions(n, 1)
		o.Nominal, o.Deviation = nominal, deviation
		return sepFactor(t, NewRegression(r, family, 1, 1), o, 100)
	}
	want := factor(n, false)
	for _, nominal := range []float64{0, n / 2, 3 * n} {
		for i, x := range factor(nominal, false) {
			if math.Abs(x/want[i]-1) > 0.02 {
				t.Errorf("with a public number %g natural parameter %d is %g, with the right one %g", nominal, i, x, want[i])
			}
		}
	}
	if half := factor(n/2, true); half[d] > 0.6*want[d] {
		t.Errorf("deviations with half the records have precision %g, with all of them %g", half[d], want[d])
	}
}

// An improper factor is repaired after the noise. The step adds noise and is charged as usual, and
// its sum is part of the average.
func TestDPSEPImproperFactorsKeepTheirNoise(t *testing.T) {
	r := outcomes(t, study.Probit, 3, 2, 1) // the noise is many times larger than three sites
	for _, improper := range []study.Improper{study.Project, study.Reject} {
		for _, name := range []string{"diagonal", "full"} {
			const steps = 40
			o := sepOptions(3, 1)
			o.Improper = improper
			s := private(t, r, name, dpmech.SampledConfig{Sampling: dpmech.FullBatch{}, Steps: steps, Clip: 1, NoiseMultiplier: 30}, o, steps)
			improperSteps := 0
			seen := map[int64]bool{}
			for step := range steps {
				dst, used := make([]float64, len(s.outer)), slices.Clone(s.factor.used)
				spent, err := s.Propose(dst, asked(s), seeded.Stream(uint64(step), "visit"))
				if err != nil || len(spent) != 1 || s.Releases() != step+1 {
					t.Fatalf("%s, %s: step %d: %d events, %v", improper, name, step, len(spent), err)
				}
				if seen[s.noisy[0]] {
					t.Fatalf("%s, %s: step %d repeats a sum to the last digit", improper, name, step)
				}
				seen[s.noisy[0]] = true
				raw := slices.Clone(s.factor.raw)
				if newProper(s.factor.tilted.Family()).repair(raw) {
					continue
				}
				improperSteps++
				if kept := slices.Equal(s.factor.used, used); kept != (improper == study.Reject) {
					t.Errorf("%s, %s: step %d kept the last factor: %t", improper, name, step, kept)
				}
				q := asked(s).Cavity
				for i, x := range dst {
					dst[i] = x + q[i]
				}
				if err := s.factor.tilted.Family().Check(dst); err != nil {
					t.Errorf("%s, %s: step %d: %v", improper, name, step, err)
				}
			}
			if improperSteps < 5 {
				t.Errorf("%s, %s: only %d steps were improper", improper, name, improperSteps)
			}
		}
	}
}

// DPSEP works with zero records and with one record.
func TestDPSEPOfFewRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of one thread: without -short")
	}
	for _, n := range []int{0, 1} {
		for _, sampling := range []dpmech.Sampling{dpmech.FullBatch{}, dpmech.Poisson{Rate: 0.01}, dpmech.RandomAllocation{Steps: 20, Picks: 1}} {
			r := outcomes(t, study.Probit, n, 2, 1)
			o := sepOptions(10, 1)
			s := private(t, r, "full", dpmech.SampledConfig{Sampling: sampling, Steps: 20, Clip: 1, NoiseMultiplier: 3}, o, 1)
			dst := make([]float64, len(s.outer))
			spent, err := s.Propose(dst, asked(s), seeded.Stream(1, "visit"))
			if err != nil || len(spent) != 20 || !special.Finite(dst) {
				t.Errorf("%d records, %T: %v, %d events, factor %v", n, sampling, err, len(spent), dst)
			}
		}
	}
}

// The final factor does not depend on the factor from which the steps start.
func TestDPSEPStartIsForgotten(t *testing.T) {
	const n, d = 500, 2
	r := outcomes(t, study.Probit, n, d, 6)
	for _, name := range []string{"diagonal", "full"} {
		family := familyOf(t, name, d)
		o := sepOptions(n, 1)
		o.StartMean, o.StartSD = []float64{2, -1}, 0.1
		f := newTied(NewRegression(r, family, 1, 1), &o)
		if err := f.prepare(unit(family)); err != nil {
			t.Fatal(err)
		}
		for i, m := range o.StartMean {
			if gap := math.Abs(f.cavity.Mean[i] - m); gap > 0.02 || math.Abs(math.Sqrt(f.cavity.Variance[i])/o.StartSD-1) > 0.02 {
				t.Errorf("%s: coordinate %d begins at N(%g, %g²)", name, i, f.cavity.Mean[i], math.Sqrt(f.cavity.Variance[i]))
			}
		}
		with := sepFactor(t, NewRegression(r, family, 1, 1), o, 80)
		for i, x := range sepFactor(t, NewRegression(r, family, 1, 1), sepOptions(n, 1), 80) {
			if math.Abs(with[i]/x-1) > 5e-3 {
				t.Errorf("%s: natural parameter %d is %g, without a start %g", name, i, with[i], x)
			}
		}
	}
}

// A step allocates no memory, and the memory of a visit depends neither on its steps nor on the
// number of records.
func TestDPSEPStepsDoNotAllocate(t *testing.T) {
	for _, family := range []study.Family{study.Probit, study.Logistic} {
		for _, name := range []string{"diagonal", "full", "gliding"} {
			r, o := outcomes(t, family, 200, 4, 1), sepOptions(200, 0.5)
			q := name
			if name == "gliding" {
				q, o.Overlap, o.Glide, o.Least = "diagonal", 4, true, []float64{1, 1, 1, 1}
			}
			s := private(t, r, q, dpmech.SampledConfig{Sampling: dpmech.Poisson{Rate: 0.5}, Steps: 500, Clip: 1, NoiseMultiplier: 40}, o, 1)
			src := seeded.Stream(1, "visit")
			dpmech.Split(s.streams.Sampling, src)
			dpmech.Split(s.streams.Noise, src)
			copy(s.outer, asked(s).Cavity)
			if err := s.step(); err != nil { // The first step allocates the factor.
				t.Fatal(err)
			}
			if n := testing.AllocsPerRun(100, func() {
				if err := s.step(); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%s, %s: %g allocations a step", family, name, n)
			}
		}
	}
}

func BenchmarkExpectationStep(b *testing.B) {
	for _, family := range []study.Family{study.Probit, study.Logistic} {
		for _, name := range []string{"diagonal", "full"} {
			b.Run(string(family)+"/"+name, func(b *testing.B) {
				const n, batch = 39_073, 195
				r := outcomes(b, family, n, 14, 1)
				rate := float64(batch) / n
				s := private(b, r, name, dpmech.SampledConfig{Sampling: dpmech.Poisson{Rate: rate}, Steps: b.N + 1, Clip: 3, NoiseMultiplier: 2}, sepOptions(n, rate), 1)
				src := seeded.Stream(1, "visit")
				dpmech.Split(s.streams.Sampling, src)
				dpmech.Split(s.streams.Noise, src)
				copy(s.outer, asked(s).Cavity)
				timeSteps(b, s.step)
			})
		}
	}
}

// NewDPSEP refuses a mechanism for other records, steps or vectors, and invalid options.
func TestNewDPSEPRefuses(t *testing.T) {
	r := outcomes(t, study.Probit, 8, 2, 1)
	tilted := NewRegression(r, gaussian.Diagonal(2), 1, 1)
	good := dpmech.SampledConfig{Sampling: dpmech.RandomAllocation{Steps: 4, Picks: 1}, Records: 8, Steps: 8, Dim: 4, Clip: 1, NoiseMultiplier: 1}
	m := sampled(t, good)
	if _, err := NewDPSEP(tilted, m, sepOptions(8, 0.25), 4); err != nil {
		t.Fatal(err)
	}
	for _, steps := range []int{0, 2, 3, 6} {
		if _, err := NewDPSEP(tilted, m, sepOptions(8, 0.25), steps); err == nil {
			t.Errorf("visits of %d steps, of 8 in epochs of 4", steps)
		}
	}
	for name, spoil := range map[string]func(c *dpmech.SampledConfig){
		"another size": func(c *dpmech.SampledConfig) { c.Dim = 5 }, "other records": func(c *dpmech.SampledConfig) { c.Records = 9 },
	} {
		c := good
		c.Sampling = dpmech.FullBatch{}
		spoil(&c)
		if _, err := NewDPSEP(tilted, sampled(t, c), sepOptions(8, 1), 4); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, spoil := range map[string]func(o *SEPOptions){
		"no power": func(o *SEPOptions) { o.Power = 0 }, "a rate above one": func(o *SEPOptions) { o.Rate = 1.1 },
		"no step": func(o *SEPOptions) { o.StepSize = 0 }, "recency below zero": func(o *SEPOptions) { o.Recency = -1 },
		"deviations without a number": func(o *SEPOptions) { o.Deviation, o.Nominal = true, 0 },
		"a start of one mean":         func(o *SEPOptions) { o.StartMean, o.StartSD = []float64{1}, 1 },
		"published without a clip":    func(o *SEPOptions) { o.Published = true },
	} {
		o := sepOptions(8, 0.25)
		spoil(&o)
		if _, err := NewDPSEP(tilted, m, o, 4); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
