package solver

import (
	"math"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/gaussian"
)

func proposed(t *testing.T, s Solver, seed uint64) ([]float64, []accountant.Event) {
	t.Helper()
	factor := make([]float64, gaussian.Full(2).Size())
	problem := Problem{Family: gaussian.Full(2), Mean: make([]float64, 2), Cavity: make([]float64, len(factor))}
	events, err := s.Propose(factor, problem, seeded.Stream(seed, "solver"))
	if err != nil {
		t.Fatal(err)
	}
	return factor, events
}

func TestConjugate(t *testing.T) {
	l := newLine(t, 40)
	got, events := proposed(t, NewConjugate(l.linear, l.shard), 1)
	if len(events) != 0 {
		t.Errorf("the exact update reports %v", events)
	}
	// sums over records of y, xy, 1, x and x², divided by the variance of the noise
	var want [5]float64
	for i := range l.shard.Len() {
		row, y := l.shard.Record(i)
		x := row[1]
		for j, v := range []float64{y, x * y, 1, x, x * x} {
			want[j] += v / (lineSD * lineSD)
		}
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12*(1+math.Abs(want[i])) {
			t.Errorf("natural parameter %d is %g, want %g", i, got[i], want[i])
		}
	}
}

// With little noise, ClippedAnalytical proposes nearly the exact update.
func TestClippedAnalyticalWithoutNoise(t *testing.T) {
	l := newLine(t, 40)
	exact, _ := proposed(t, NewConjugate(l.linear, l.shard), 1)
	private, _ := proposed(t, NewClippedAnalytical(l.linear, l.shard, l.mechanism(t, .001)), 1)
	for i := range exact {
		if math.Abs(exact[i]-private[i]) > .5 {
			t.Errorf("natural parameter %d is %g, exactly %g", i, private[i], exact[i])
		}
	}
}

// ClippedAnalytical releases statistics once. A restored solver uses the same ones.
func TestClippedAnalyticalReleasesOnce(t *testing.T) {
	l := newLine(t, 40)
	g := l.mechanism(t, .1)
	c := NewClippedAnalytical(l.linear, l.shard, g)
	if c.State() != nil {
		t.Error("there is a state before anything was released")
	}
	first, events := proposed(t, c, 1)
	if len(events) != 1 || events[0] != g.Event() {
		t.Errorf("the first proposal reports %v, want the mechanism's event", events)
	}
	second, events := proposed(t, c, 2)
	if len(events) != 0 || !slices.Equal(first, second) {
		t.Errorf("the second proposal reports %v and is %v, the first was %v", events, second, first)
	}
	restored := NewClippedAnalytical(l.linear, l.shard, g)
	if err := restored.Restore(c.State()); err != nil {
		t.Fatal(err)
	}
	third, events := proposed(t, restored, 3)
	if len(events) != 0 || !slices.Equal(first, third) {
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
	l := newLine(t, 40)
	c := NewPublishedAnalytical(l.linear, l.shard, l.mechanism(t, .1))
	first, e1 := proposed(t, c, 1)
	second, e2 := proposed(t, c, 2)
	if len(e1) != 1 || len(e2) != 1 || slices.Equal(first, second) {
		t.Errorf("two proposals report %v and %v and are %v and %v", e1, e2, first, second)
	}
}
