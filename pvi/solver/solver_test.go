package solver_test

import (
	"math"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// slope returns the model y = a + bx and n records, with x in [−1, 1].
func slope(t *testing.T, n int) (*model.Linear, *shard.Shard) {
	t.Helper()
	st, err := study.Parse("s.toml", []byte(`
study = { version = 1, name = "s" }
model = { family = "linear", outcome = "y", terms = ["x"], standardise = "none", noise_sd = 1 }
inference.rounds = 1
privacy.unit = "none"
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "y"
type = "numeric"
bounds = [-9, 9]
`))
	if err != nil {
		t.Fatal(err)
	}
	records := new(shard.Records)
	for i := range n {
		x := math.Sin(float64(i))
		records.Append([]float64{x, 1 + 2*x + math.Cos(7*float64(i))})
	}
	m, err := model.NewLinear([]string{"a", "b"}, []model.Normal{{SD: 1}, {SD: 1}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m, shard.Design(st, records)
}

func mechanism(t *testing.T, dim int, sigma float64) *dpmech.GaussianSum {
	t.Helper()
	g, err := dpmech.NewGaussianSum(dpmech.Config{
		Dim: dim, Clip: 50, NoiseMultiplier: sigma, Shares: 1, Terms: 1000, Releases: 1, Adjacency: accountant.AddRemove,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func propose(t *testing.T, s solver.Solver, seed uint64) ([]float64, []accountant.Event) {
	t.Helper()
	factor := make([]float64, gaussian.Full(2).Size())
	problem := solver.Problem{Family: gaussian.Full(2), Mean: make([]float64, 2), Cavity: make([]float64, len(factor))}
	events, err := s.Propose(factor, problem, seeded.Stream(seed, "solver"))
	if err != nil {
		t.Fatal(err)
	}
	return factor, events
}

func equal(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestConjugate(t *testing.T) {
	m, s := slope(t, 40)
	got, events := propose(t, solver.NewConjugate(m, s), 1)
	if len(events) != 0 {
		t.Errorf("the exact update reports %v", events)
	}
	// sums over records of y, xy, 1, x and x²
	var want [5]float64
	for i := range s.Len() {
		row, y := s.Record(i)
		x := row[1]
		for j, v := range []float64{y, x * y, 1, x, x * x} {
			want[j] += v
		}
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12*(1+math.Abs(want[i])) {
			t.Errorf("natural parameter %d is %g, want %g", i, got[i], want[i])
		}
	}
}

// With little noise, ClippedAnalytical proposes nearly the same factor as the exact update.
func TestClippedAnalyticalWithoutNoise(t *testing.T) {
	m, s := slope(t, 40)
	exact, _ := propose(t, solver.NewConjugate(m, s), 1)
	private, _ := propose(t, solver.NewClippedAnalytical(m, s, mechanism(t, m.StatisticsSize(), .001)), 1)
	for i := range exact {
		if math.Abs(exact[i]-private[i]) > .5 {
			t.Errorf("natural parameter %d is %g, exactly %g", i, private[i], exact[i])
		}
	}
}

// ClippedAnalytical releases statistics once. A restored solver uses the same statistics.
func TestClippedAnalyticalReleasesOnce(t *testing.T) {
	m, s := slope(t, 40)
	g := mechanism(t, m.StatisticsSize(), .1)
	c := solver.NewClippedAnalytical(m, s, g)
	if c.State() != nil {
		t.Error("there is a state before anything was released")
	}
	first, events := propose(t, c, 1)
	if len(events) != 1 || events[0] != g.Event() {
		t.Errorf("the first proposal reports %v, want the mechanism's event", events)
	}
	second, events := propose(t, c, 2)
	if len(events) != 0 || !equal(first, second) {
		t.Errorf("the second proposal reports %v and is %v, the first was %v", events, second, first)
	}
	restored := solver.NewClippedAnalytical(m, s, g)
	if err := restored.Restore(c.State()); err != nil {
		t.Fatal(err)
	}
	third, events := propose(t, restored, 3)
	if len(events) != 0 || !equal(first, third) {
		t.Errorf("after a restart the proposal reports %v and is %v, before it was %v", events, third, first)
	}
	for _, bad := range []string{"x", "[1,2]", "{}"} {
		if err := restored.Restore([]byte(bad)); err == nil {
			t.Errorf("state %q is restored", bad)
		}
	}
}

// PublishedAnalytical releases statistics in every round, with new noise each time.
func TestPublishedAnalyticalReleasesAlways(t *testing.T) {
	m, s := slope(t, 40)
	c := solver.NewPublishedAnalytical(m, s, mechanism(t, m.StatisticsSize(), .1))
	first, e1 := propose(t, c, 1)
	second, e2 := propose(t, c, 2)
	if len(e1) != 1 || len(e2) != 1 || equal(first, second) {
		t.Errorf("two proposals report %v and %v and are %v and %v", e1, e2, first, second)
	}
}
