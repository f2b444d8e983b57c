package solver

import (
	"errors"
	"math"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu"
	"fedpvi/internal/special"
	"fedpvi/pvi/model"
	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A line holds records of the model y = a + bx with noise of sd 0.5, as a linear model and as a
// record program. The exact posterior comes from the normal equations.
type line struct {
	linear  *model.Linear
	program *Program
	shard   *shard.Shard
	// The exact posterior of (a, b) under a standard normal prior.
	precision [2][2]float64
	mean      [2]float64
}

const lineSD = 0.5

func newLine(t *testing.T, n int) *line {
	t.Helper()
	st, err := study.Parse("s.toml", []byte(`
study = { version = 1, name = "s" }
model = { family = "linear", outcome = "y", terms = ["x"], standardise = "none", noise_sd = 0.5 }
inference.rounds = 1
privacy.unit = "none"
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 2]
[[column]]
name = "y"
type = "numeric"
bounds = [-9, 9]
`))
	if err != nil {
		t.Fatal(err)
	}
	l := &line{precision: [2][2]float64{{1, 0}, {0, 1}}}
	records, x, y := new(shard.Records), make([]float64, 0, 2*n), make([]float64, n)
	var moment [2]float64
	for i := range n {
		row := [2]float64{1, 0.5 + math.Sin(float64(i))}
		y[i] = 1 + 2*row[1] + math.Cos(7*float64(i))
		records.Append([]float64{row[1], y[i]})
		x = append(x, row[:]...)
		for j, a := range row {
			moment[j] += a * y[i] / (lineSD * lineSD)
			for k, b := range row {
				l.precision[j][k] += a * b / (lineSD * lineSD)
			}
		}
	}
	p := l.precision
	determinant := p[0][0]*p[1][1] - p[0][1]*p[1][0]
	l.mean = [2]float64{(p[1][1]*moment[0] - p[0][1]*moment[1]) / determinant, (p[0][0]*moment[1] - p[1][0]*moment[0]) / determinant}
	l.shard = shard.Design(st, records)
	if l.linear, err = model.NewLinear([]string{"a", "b"}, []model.Normal{{SD: 1}, {SD: 1}}, lineSD); err != nil {
		t.Fatal(err)
	}
	b := model.NewBuilder("line")
	names := []string{"one", "x"}
	outcome, row := b.Real("y", -9, 9), b.Reals("x", names, -1, 2)
	eta := b.Linear(row, b.Vector("beta", names, model.Free, b.Normal(model.Normal{SD: 1})))
	m, err := b.Build(b.LogDensity(ir.Normal, outcome, eta, b.Number(lineSD)))
	if err != nil {
		t.Fatal(err)
	}
	l.program = program(t, m, n, [][]float64{y, x})
	return l
}

func (l *line) mechanism(t *testing.T, sigma float64) *dpmech.GaussianSum {
	t.Helper()
	g, err := dpmech.NewGaussianSum(dpmech.Config{
		Dim: l.linear.StatisticsSize(), Clip: 100, NoiseMultiplier: sigma, Shares: 1, Terms: 1000, Releases: 1, Adjacency: accountant.AddRemove,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (l *line) start(t *testing.T, sigma float64) *Start {
	t.Helper()
	return NewStart(l.linear, l.shard, l.mechanism(t, sigma))
}

func (l *line) solver(t *testing.T, steps int, sigma float64, o DPSVIOptions) *DPSVI {
	t.Helper()
	return private(t, l.program, dpmech.SampledConfig{
		Sampling: dpmech.FullBatch{}, Records: l.shard.Len(), Steps: steps, Dim: o.size(2), Clip: 200, NoiseMultiplier: sigma,
	}, o)
}

// From statistics with almost no noise and steps of size zero, the mean of q solves the normal
// equations, and its precisions are those of the mean-field posterior.
func TestDPSVIStartsWhereTheStatisticsLead(t *testing.T) {
	l := newLine(t, 100)
	o := options(1, 1)
	o.Optimiser, o.Schedule, o.InitialSD, o.Start = study.SGD, gpu.LinearDecay{First: 1e-300, Last: 1e-300}, 10, l.start(t, 1e-3)
	s := l.solver(t, 1, 1, o)
	dst := make([]float64, 4)
	spent, err := s.Propose(dst, standard(2), seeded.Stream(1, "visit"))
	if err != nil || len(spent) != 2 || s.Releases() != 2 {
		t.Fatalf("%d events, %d releases, %v", len(spent), s.Releases(), err)
	}
	for i, want := range l.mean {
		precision := 1 + dst[2+i]
		if got := dst[i] / precision; math.Abs(got-want) > 3e-3 {
			t.Errorf("coordinate %d starts at %g, the normal equations have %g", i, got, want)
		}
		if math.Abs(precision/l.precision[i][i]-1) > 3e-3 {
			t.Errorf("coordinate %d starts with precision %g, want %g", i, precision, l.precision[i][i])
		}
	}
}

// The first visit proposes finite numbers even if noise far exceeds the statistics.
func TestDPSVIStartsUnderAnyNoise(t *testing.T) {
	for _, n := range []int{0, 1, 100} {
		for _, sigma := range []float64{0.1, 10, 1e4} {
			l := newLine(t, n)
			o := options(5, 1)
			o.Start = l.start(t, sigma)
			dst := make([]float64, 4)
			if _, err := l.solver(t, 5, sigma, o).Propose(dst, standard(2), seeded.Stream(1, "visit")); err != nil || !special.Finite(dst) {
				t.Errorf("%d records, σ = %g: %v, %v", n, sigma, dst, err)
			}
		}
	}
}

// If a visit fails after the release of the statistics, the next one uses the same release and does
// not charge it again.
func TestDPSVIStartIsKept(t *testing.T) {
	l := newLine(t, 50)
	fresh := func() *DPSVI {
		o := options(3, 1)
		o.Start = l.start(t, 1)
		return l.solver(t, 6, 2, o)
	}
	s := fresh()
	if s.State() != nil {
		t.Error("a solver that released nothing has a state")
	}
	if _, err := s.options.Start.release(seeded.Stream(1, "start")); err != nil {
		t.Fatal(err)
	}
	again := fresh()
	if err := again.Restore(s.State()); err != nil {
		t.Fatal(err)
	}
	if again.Releases() != 1 || !slices.Equal(again.options.Start.sum, s.options.Start.sum) {
		t.Errorf("%d releases after a restart, of %v, want %v", again.Releases(), again.options.Start.sum, s.options.Start.sum)
	}
	a, b := make([]float64, 4), make([]float64, 4)
	for _, run := range []struct {
		s   *DPSVI
		dst []float64
	}{{s, a}, {again, b}} {
		spent, err := run.s.Propose(run.dst, standard(2), seeded.Stream(2, "visit"))
		if err != nil || len(spent) != 3 || run.s.Releases() != 4 {
			t.Errorf("%d events, %d releases, %v", len(spent), run.s.Releases(), err)
		}
	}
	if !slices.Equal(a, b) {
		t.Errorf("%v after a restart, %v without", b, a)
	}
	state := s.State()
	if err := again.Restore(nil); err != nil || again.Releases() != 0 {
		t.Errorf("a new start: %d releases, %v", again.Releases(), err)
	}
	plain := l.solver(t, 6, 2, options(3, 1))
	if err := plain.Restore(state); err == nil {
		t.Error("a solver without a start took up statistics")
	}
	if _, err := plain.Propose(a, standard(2), seeded.Stream(3, "visit")); err != nil {
		t.Fatal(err)
	}
	if err := again.Restore(plain.State()); err == nil || again.Releases() != 0 {
		t.Errorf("a solver with a start did without its statistics: %v", err)
	}
}

// Propose returns the event of the released statistics even if the steps of its first call diverge.
func TestDPSVIStartOfAVisitThatFails(t *testing.T) {
	l := newLine(t, 50)
	o := options(5, 1)
	o.Optimiser, o.Schedule, o.Start = study.SGD, gpu.LinearDecay{First: 1e300, Last: 1e300}, l.start(t, 1)
	s := l.solver(t, 10, 2, o)
	spent, err := s.Propose(make([]float64, 4), standard(2), seeded.Stream(2, "visit"))
	if !errors.Is(err, ErrDiverged) || len(spent) != s.Releases() || len(spent) < 2 {
		t.Errorf("%d events, %d releases, %v", len(spent), s.Releases(), err)
	}
}

// With little noise, every variant of DPSVI ends at the mean-field posterior of a Gaussian model.
// Its mean solves the normal equations, and its precisions are the diagonal of the full precision
// matrix.
func TestDPSVIEndsAtTheNormalEquations(t *testing.T) {
	l := newLine(t, 100)
	const steps = 1500
	for _, v := range variants {
		for _, optimiser := range []study.Optimiser{study.Adam, study.Natural} {
			o := options(steps, 1)
			v.set(&o)
			o.Records = float64(l.shard.Len())
			if o.Optimiser = optimiser; optimiser == study.Natural {
				o.Schedule = gpu.LinearDecay{First: 0.2, Last: 0.002}
			}
			dst := visited(t, l.solver(t, steps, 1e-3, o), standard(2), 1)
			for i, want := range l.mean {
				precision := 1 + dst[2+i]
				if miss := (dst[i]/precision - want) * math.Sqrt(l.precision[i][i]); math.Abs(miss) > 0.4 {
					t.Errorf("%v, %s: mean %d is %.2g sds from the normal equations'", v, optimiser, i, miss)
				}
				if ratio := precision / l.precision[i][i]; ratio < 0.75 || ratio > 1.33 {
					t.Errorf("%v, %s: precision %d is %.3g times the precision of the posterior", v, optimiser, i, ratio)
				}
			}
		}
	}
}
