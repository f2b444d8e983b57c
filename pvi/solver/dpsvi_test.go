package solver

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu"
	"fedpvi/internal/special"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/study"
)

const testDim = 3

func descent(t testing.TB, n int, c dpmech.SampledConfig, o DPSVIOptions) *DPSVI {
	t.Helper()
	m, columns := logistic(t, 200, testDim)
	p := program(t, m, n, [][]float64{columns[0][:n], columns[1][:n*testDim]})
	c.Records, c.Dim = n, o.size(testDim)
	return private(t, p, c, o)
}

func TestDPSVIReleasesNoisySumsOfClippedGradients(t *testing.T) {
	for _, v := range variants {
		for _, clip := range []float64{0.2, 5} {
			for _, sampling := range []dpmech.Sampling{dpmech.FullBatch{}, dpmech.Poisson{Rate: 0.3}} {
				o := options(1, 1)
				v.set(&o)
				s := descent(t, 150, dpmech.SampledConfig{Sampling: sampling, Steps: 1, Clip: clip, NoiseMultiplier: 1.5}, o)
				p := standard(testDim)
				p.Natural = []float64{0, 0, 0, 1, 400, 4}
				want, batch := materialised(t, s, p, seeded.Stream(3, "visit"), sampling)
				visited(t, s, p, 3)
				unit := s.mechanism.Lattice().Step()
				for i, n := range s.noisy {
					// The mechanism rounds each record's vector to the lattice and clips to
					// slightly less than the clip, so the sum may differ by some lattice steps per
					// record. The expected gradients are finite differences, with a small error.
					if got := unit * float64(n); math.Abs(got-want[i]) > float64(2*batch+1)*unit+1e-7 {
						t.Errorf("%v, clip %g, %T: element %d of the sum is %g, want %g", v, clip, sampling, i, got, want[i])
					}
				}
			}
		}
	}
}

// With the same random streams and one changed record, only this record's clipped gradient differs,
// so the sums differ by at most twice the clip.
func TestOneRecordMovesASumByItsClipAtMost(t *testing.T) {
	for _, v := range variants {
		var before []int64
		for n := range 60 {
			o := options(1, 1)
			v.set(&o)
			s := descent(t, n, dpmech.SampledConfig{Sampling: dpmech.FullBatch{}, Steps: 1, Clip: 0.3, NoiseMultiplier: 1}, o)
			visited(t, s, standard(testDim), 5)
			var squared float64
			for i, x := range before {
				squared += float64(s.noisy[i]-x) * float64(s.noisy[i]-x)
			}
			if most := 0.3 / s.mechanism.Lattice().Step(); squared > most*most {
				t.Errorf("%v: record %d moved the sum by %g steps, clipped to %g", v, n, math.Sqrt(squared), most)
			}
			if n > 0 && squared == 0 {
				t.Errorf("%v: record %d moved nothing", v, n)
			}
			before = slices.Clone(s.noisy)
		}
	}
}

// With noise close to zero and a clip above every gradient, a visit takes the steps of stochastic
// variational inference with plain sums.
func TestDPSVIWithoutNoiseIsSVI(t *testing.T) {
	const n, steps = 150, 40
	for _, v := range variants {
		o := options(steps, 1)
		v.set(&o)
		o.Records = n
		s := descent(t, n, dpmech.SampledConfig{Sampling: dpmech.FullBatch{}, Steps: steps, Clip: 3, NoiseMultiplier: 1.0 / 1000}, o)
		p := standard(testDim)
		got := visited(t, s, p, 8)
		run, err := gpu.NewMeanField(p.Mean, []float64{0.1, 0.1, 0.1}, gpu.MeanFieldOptions{
			Draws: v.draws, Rate: 1, Clip: math.Inf(1), CavityMean: p.Mean, CavityPrecision: p.Cavity[testDim:],
			Optimiser: gpu.NewAdam(2 * testDim), Schedule: o.Schedule, Steps: steps, Average: 0.5,
		})
		if err != nil {
			t.Fatal(err)
		}
		var draws dpmech.Stream
		src := seeded.Stream(8, "visit")
		for range 3 {
			dpmech.Split(&draws, src)
		}
		sum := make([]float64, v.draws*testDim)
		for range steps {
			q := run.Next(func(v []float64) { dpmech.FillNormal(v, &draws) }, nil)
			if _, err := s.program.records.Sum(sum, q); err != nil {
				t.Fatal(err)
			}
			run.Update(sum)
		}
		mean, sd := make([]float64, testDim), make([]float64, testDim)
		run.Averaged(mean, sd)
		for i, m := range mean {
			precision := 1 + got[testDim+i]
			if at := got[i] / precision; math.Abs(at-m) > 2e-3 || math.Abs(precision*sd[i]*sd[i]-1) > 5e-3 {
				t.Errorf("%v: coordinate %d is N(%g, %g²), without noise N(%g, %g²)", v, i, at, 1/math.Sqrt(precision), m, sd[i])
			}
		}
	}
}

// With little noise, DPSVI ends near the mean-field fit without privacy, at several sampling rates.
func TestDPSVINearsTheMeanFieldFit(t *testing.T) {
	const n, d, steps = 4000, 4, 2000
	m, columns := logistic(t, n, d)
	p := program(t, m, n, columns)
	want, q := make([]float64, 2*d), standard(d)
	if !PooledDiagonal(want, q.Cavity, []Likelihood{p}) {
		t.Fatal("the fit without privacy found nothing")
	}
	for _, rate := range []float64{1, 0.3} {
		s := private(t, p, dpmech.SampledConfig{
			Sampling: dpmech.Poisson{Rate: rate}, Records: n, Steps: steps, Dim: d, Clip: 1, NoiseMultiplier: 2,
		}, options(steps, rate))
		got := visited(t, s, q, 4)
		for i := range d {
			precision, sd := 1+got[d+i], 1/math.Sqrt(want[d+i])
			if miss := math.Abs(got[i]/precision-want[i]/want[d+i]) / sd; miss > 0.5 {
				t.Errorf("rate %g: mean %d is %.2g sds away", rate, i, miss)
			}
			if ratio := precision / want[d+i]; ratio < 0.8 || ratio > 1.25 {
				t.Errorf("rate %g: precision %d is %.3g times that without privacy", rate, i, ratio)
			}
		}
	}
}

// If the prior is not its Gaussian base, log(prior/base) is added after the noise, and is not
// scaled by the sampling rate.
func TestDPSVIAddsThePriorBeyondItsBase(t *testing.T) {
	b := model.NewBuilder("shares")
	x := b.Integer("x", 0, 2)
	weights := b.Parameter(ir.Parameter{Name: "weight", Rows: 3, Cols: 1, Constraint: ir.Constraint{Kind: ir.Simplex}}, b.Of(ir.Dirichlet, b.Number(4)))
	m, err := b.Build(b.Gather(b.Apply(ir.Log, weights), x))
	if err != nil {
		t.Fatal(err)
	}
	table, err := m.Load(0, [][]float64{nil})
	if err != nil {
		t.Fatal(err)
	}
	d := m.Dim()
	p, err := NewProgram(m, table, Base{Mean: make([]float64, d), SD: []float64{1.5, 1.5}}, true, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		for _, rate := range []float64{1, 0.5} {
			o := options(1, rate)
			v.set(&o)
			s := private(t, p, dpmech.SampledConfig{Sampling: dpmech.Poisson{Rate: rate}, Records: 0, Steps: 1, Dim: o.size(d), Clip: 1, NoiseMultiplier: 1}, o)
			visited(t, s, standard(d), 2)
			unit, scratch := s.mechanism.Lattice().Step(), make([]float64, d)
			added := func(i int) float64 { return (s.total[i] - unit*float64(s.noisy[i])) / rate }
			one := len(s.total) / v.draws
			for k, theta := range s.at.Draws {
				for i := range d {
					slope := difference(theta, i, func() float64 { return p.addPrior(scratch, theta) })
					if got := added(k*one + i); math.Abs(got-slope) > 1e-6*(1+math.Abs(slope)) {
						t.Errorf("%v, rate %g: coordinate %d of draw %d gains %g, the slope of the prior is %g", v, rate, i, k, got, slope)
					}
					if !v.gradients.Joint() {
						continue
					}
					if got, want := added(k*one+d+i), slope*s.at.Joint[k][i]; math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
						t.Errorf("%v, rate %g: spread %d of draw %d gains %g, want %g", v, rate, i, k, got, want)
					}
				}
			}
		}
	}
}

type recorder struct{ asked *[]int }

func (r recorder) Rate(t, steps int) float64 {
	*r.asked = append(*r.asked, t, steps)
	return 0.01
}

// The schedule counts the steps of the whole study, across visits and after a restore.
func TestDPSVIStepSizesGoOn(t *testing.T) {
	var asked []int
	o := options(2, 1)
	o.Schedule = recorder{&asked}
	c := dpmech.SampledConfig{Sampling: dpmech.FullBatch{}, Steps: 4, Clip: 1, NoiseMultiplier: 1}
	s := descent(t, 10, c, o)
	for visit := range 2 {
		state := s.State()
		s = descent(t, 10, c, o)
		if err := s.Restore(state); err != nil {
			t.Fatal(err)
		}
		visited(t, s, standard(testDim), uint64(visit))
	}
	if want := []int{0, 4, 1, 4, 2, 4, 3, 4}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
}

// If q is wider than the cavity, the factor's precision becomes zero, but its precision times mean
// does not.
func TestDPSVIPrecisionsAreNotNegative(t *testing.T) {
	s := descent(t, 10, dpmech.SampledConfig{Sampling: dpmech.FullBatch{}, Steps: 1, Clip: 1, NoiseMultiplier: 1}, options(1, 1))
	p := standard(testDim)
	p.Natural = []float64{0, 0, 0, 1e4, 1e4, 1e4}
	p.Cavity = []float64{0, 0, 0, 2e4, 1e4, 1e3}
	dst := visited(t, s, p, 1)
	if dst[testDim] != 0 || dst[testDim+2] < 5e3 {
		t.Errorf("precisions of the factor are %v", dst[testDim:])
	}
	if got := dst[0] / 2e4; math.Abs(math.Abs(got)-0.1) > 1e-3 {
		t.Errorf("the mean is %g, one step of Adam of size 0.1 from 0", got)
	}
}

func TestPooledDiagonalIsPooled(t *testing.T) {
	const n, d = 300, 4
	m, columns := logistic(t, n, d)
	p := program(t, m, n, columns)
	prior := standard(d).Natural
	fast, slow := make([]float64, 2*d), make([]float64, 2*d)
	if !PooledDiagonal(fast, prior, []Likelihood{p}) {
		t.Fatal("no fit")
	}
	if err := Pooled(slow, prior, gaussian.Diagonal(d), []Likelihood{p}, false, nil); err != nil {
		t.Fatal(err)
	}
	for i, x := range slow {
		if math.Abs(fast[i]-x) > 1e-6*(1+math.Abs(x)) {
			t.Errorf("natural parameter %d is %.9g by Newton steps, %.9g by natural-gradient steps", i, fast[i], x)
		}
	}
}

// A solver that is restored between two visits computes the same bits as one that never is. It
// charges every step once, and takes no more than the planned steps.
func TestDPSVIRestored(t *testing.T) {
	const visits, steps = 4, 3
	for i, optimiser := range []study.Optimiser{study.Adam, study.AdaGrad, study.SGD, study.Natural, study.Adam, study.Adam} {
		o := options(steps, 0.5)
		variants[i].set(&o)
		o.Optimiser = optimiser
		o.Schedule = gpu.LinearDecay{First: 1e-3, Last: 1e-4}
		c := dpmech.SampledConfig{Sampling: dpmech.Poisson{Rate: 0.5}, Steps: visits * steps, Clip: 0.5, NoiseMultiplier: 2}
		whole, cut := descent(t, 90, c, o), descent(t, 90, c, o)
		a, b := make([]float64, 2*testDim), make([]float64, 2*testDim)
		for visit := range visits {
			if cut.Taken() != visit*steps || whole.Taken() != visit*steps {
				t.Fatalf("%s: %d and %d steps taken before visit %d", optimiser, whole.Taken(), cut.Taken(), visit)
			}
			state := cut.State()
			cut = descent(t, 90, c, o)
			if err := cut.Restore(state); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(cut.State(), state) {
				t.Fatalf("%s: the state changed on the way", optimiser)
			}
			p := standard(testDim)
			for _, run := range []struct {
				s   *DPSVI
				dst []float64
			}{{whole, a}, {cut, b}} {
				spent, err := run.s.Propose(run.dst, p, seeded.Stream(uint64(visit), "visit"))
				if err != nil || len(spent) != steps {
					t.Fatalf("%s: visit %d: %d events, %v", optimiser, visit, len(spent), err)
				}
			}
			if !slices.Equal(a, b) {
				t.Fatalf("%s: visit %d differs after a restart", optimiser, visit)
			}
		}
		spent, err := cut.Propose(b, standard(testDim), seeded.Stream(9, "visit"))
		if !errors.Is(err, dpmech.ErrNoSteps) || len(spent) > 0 {
			t.Errorf("%s: a visit that was not planned: %d events, %v", optimiser, len(spent), err)
		}
	}
}

func TestDPSVIRefusesForeignStates(t *testing.T) {
	s := descent(t, 10, dpmech.SampledConfig{Sampling: dpmech.FullBatch{}, Steps: 4, Clip: 1, NoiseMultiplier: 1}, options(2, 1))
	for _, state := range []string{`{`, `{"Taken":5}`, `{"Taken":-1}`, `{"Taken":1,"Optimiser":"AAAA"}`, `{"Taken":1,"Optimiser":""}`} {
		if err := s.Restore([]byte(state)); err == nil {
			t.Errorf("state %s was taken up", state)
		}
		if s.Taken() != 0 {
			t.Errorf("state %s left a trace", state)
		}
	}
}

// The events of the calls to Propose compose to the cost of the whole run with Poisson sampling.
func TestDPSVIEventsAddUp(t *testing.T) {
	s := descent(t, 50, dpmech.SampledConfig{Sampling: dpmech.Poisson{Rate: 0.2}, Steps: 30, Clip: 0.7, NoiseMultiplier: 1.3}, options(30, 0.2))
	spent, err := s.Propose(make([]float64, 2*testDim), standard(testDim), seeded.Stream(1, "visit"))
	if err != nil {
		t.Fatal(err)
	}
	epsilon := func(e accountant.Event) float64 {
		p, err := accountant.Account(e)
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Epsilon(1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return b.Upper
	}
	got := epsilon(accountant.Composed(spent))
	want := epsilon(accountant.Repeated{Event: accountant.Poisson{Rate: 0.2, Sigma: 1.3, Adjacency: accountant.AddRemove}, Times: 30})
	if math.Abs(got/want-1) > 1e-4 || got < want*(1-1e-6) {
		t.Errorf("ε = %.8g from the events, %.8g from the sampling", got, want)
	}
}

func TestDPSVIOfFewRecords(t *testing.T) {
	for _, v := range variants {
		for _, n := range []int{0, 1} {
			for _, sampling := range []dpmech.Sampling{dpmech.FullBatch{}, dpmech.Poisson{Rate: 0.01}} {
				o := options(20, 1)
				v.set(&o)
				s := descent(t, n, dpmech.SampledConfig{Sampling: sampling, Steps: 20, Clip: 1, NoiseMultiplier: 3}, o)
				dst := make([]float64, 2*testDim)
				spent, err := s.Propose(dst, standard(testDim), seeded.Stream(1, "visit"))
				if err != nil || len(spent) != 20 || !special.Finite(dst) {
					t.Errorf("%d records, %T: %v, %d events, factor %v", n, sampling, err, len(spent), dst)
				}
				for i, b := range dst[testDim:] {
					if b < 0 {
						t.Errorf("%d records, %T: precision %d is %g", n, sampling, i, b)
					}
				}
			}
		}
	}
}

// If the steps diverge, Propose returns an error, and the steps are charged.
func TestDPSVIThatRunsAway(t *testing.T) {
	o := options(50, 1)
	o.Optimiser, o.Schedule = study.SGD, gpu.LinearDecay{First: 1e6, Last: 1e6}
	s := descent(t, 100, dpmech.SampledConfig{Sampling: dpmech.FullBatch{}, Steps: 100, Clip: 1, NoiseMultiplier: 1}, o)
	spent, err := s.Propose(make([]float64, 2*testDim), standard(testDim), seeded.Stream(1, "visit"))
	if !errors.Is(err, ErrDiverged) || len(spent) != 50 || s.Taken() != 50 {
		t.Errorf("%d events, %d steps taken, %v", len(spent), s.Taken(), err)
	}
	if err := s.Restore(s.State()); err != nil {
		t.Errorf("the state of a run that diverged: %v", err)
	}
}

// The memory of a visit does not depend on its number of steps.
func TestDPSVIStepsDoNotAllocate(t *testing.T) {
	for _, v := range variants {
		allocations := func(steps int) float64 {
			o := options(steps, 0.5)
			v.set(&o)
			s := descent(t, 150, dpmech.SampledConfig{Sampling: dpmech.Poisson{Rate: 0.5}, Steps: 12 * steps, Clip: 1, NoiseMultiplier: 1}, o)
			dst, src, p := make([]float64, 2*testDim), seeded.Stream(1, "visit"), standard(testDim)
			return testing.AllocsPerRun(10, func() {
				if _, err := s.Propose(dst, p, src); err != nil {
					t.Fatal(err)
				}
			})
		}
		if few, many := allocations(5), allocations(105); many > few {
			t.Errorf("%v: a visit of 5 steps allocates %g times, one of 105 steps %g times", v, few, many)
		}
	}
}
