package pvi

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/accountant"
)

// The Rényi costs of two increments and of the last round add up to the cost of the study. The
// first increment costs as much as Event says.
func TestIncrementsAddUp(t *testing.T) {
	protocols := []*Protocol{
		oneStepProtocol(t),
		oneStepProtocol(t, set("inference.sampling_rate", "0.1"), set("inference.steps", "20")),
		partsProtocol(t, "rounds = 7, partitions = 4", "epsilon = 1.0, clip = 3.0"),
	}
	for _, b := range bookkeepings {
		if p := newHouse(t, planeStudy(t, b.privacy, b.inference, "min_clients = 3"), 5, 1).protocol; p.Releases() > 0 && p.Sound() {
			protocols = append(protocols, p)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SampledFrom(protocols).Draw(rt, "protocol")
		view, adjacency := rapid.SampledFrom(p.Views()).Draw(rt, "view"), rapid.SampledFrom(p.Adjacencies()).Draw(rt, "adjacency")
		event := func(e accountant.Event, err error) float64 {
			check(rt, err)
			r, err := accountant.Renyi(e, 4)
			check(rt, err)
			return r
		}
		all := p.method.Releases()
		at := rapid.IntRange(0, all).Draw(rt, "at")
		first, second := event(p.Increment(view, adjacency, 0, at)), event(p.Increment(view, adjacency, at, all))
		if want := event(p.Event(view, adjacency, at)); math.Abs(first-want) > 1e-9*want {
			rt.Fatalf("the first %d releases cost %g, stated are %g", at, first, want)
		}
		sum, whole := first+second, event(p.Event(view, adjacency, p.Releases()))
		if len(p.After()) > 0 {
			sum += event(p.After()[0].EventFor(view.Shares, adjacency), nil)
		}
		if math.Abs(sum-whole) > 1e-9*whole {
			rt.Fatalf("%d releases and the %d others cost %g, all cost %g", at, all-at, sum, whole)
		}
	})
}

func TestIncrementErrors(t *testing.T) {
	p := oneStepProtocol(t)
	all := p.method.Releases()
	for _, c := range [][2]int{{-1, 1}, {2, 1}, {0, all + 1}} {
		if _, err := p.Increment(p.Views()[0], p.Adjacencies()[0], c[0], c[1]); err == nil {
			t.Errorf("releases %d to %d of %d have a cost", c[0]+1, c[1], all)
		}
	}
}

// [house.runRestarting] checks Ahead before the rounds end.
func TestAheadAfterAllRounds(t *testing.T) {
	if n := defaultHouse(t, oneStepProtocol(t)).sites[0].Ahead(); n != 0 {
		t.Errorf("after all rounds %d releases are ahead", n)
	}
}
