package population

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Votes have norm at most 1 and differ by at most √2 between clients, and reach both. Without a
// number, they are zeros.
func TestVotesHaveNormAtMostOne(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var largest, farthest float64
	for range 2000 {
		d := 1 + r.IntN(5)
		q := &Query{Point: make([]float64, d), Votes: 20}
		var votes [2][]float64
		for k := range votes {
			information := mat.NewSymDense(d, nil)
			for i := range d {
				information.SetSym(i, i, []float64{0, 1e300, 20 * math.Exp(4*r.NormFloat64())}[r.IntN(3)])
			}
			votes[k] = make([]float64, Size(d))
			q.Vector(votes[k], make([]float64, d), information)
			largest = math.Max(largest, floats.Norm(votes[k], 2))
		}
		farthest = math.Max(farthest, floats.Distance(votes[0], votes[1], 2))
	}
	if math.Abs(largest-1) > 1e-12 || math.Abs(farthest-math.Sqrt2) > 1e-12 {
		t.Errorf("votes have norms up to %.15g and distances up to %.15g, want 1 and √2", largest, farthest)
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), -1} {
		v := make([]float64, Size(1))
		if (&Query{Point: []float64{0}, Votes: 20}).Vector(v, []float64{0}, scaledUnit(1, x)); floats.Norm(v, 1) != 0 {
			t.Errorf("information %g: votes %v, want zeros", x, v)
		}
	}
}

// Without noise the votes reveal the scale, a typical client's information relative to synthetic
// records, in every coordinate. If noise hides them, draws range from a hundredth of the expected
// scale to about 1.
func TestScalesFromVotes(t *testing.T) {
	const clients = 50
	want := []float64{1, .3, 1e-3}
	s := &Setting{Mean: make([]float64, 3), Precision: scaledUnit(3, 1), Records: 20, Clients: clients, Weights: Weights(10)}
	votes, sum := make([]float64, Size(3)), make([]float64, Size(3))
	information := mat.NewSymDense(3, nil)
	for i, x := range want {
		information.SetSym(i, i, 20*x)
	}
	for _, noise := range []float64{1e-6, 1e3} {
		s.Noise = noise
		state, ok := New(s)
		if !ok {
			t.Fatal("the prior is not proper")
		}
		state.Query(1).Vector(votes, make([]float64, 3), information)
		clear(sum)
		floats.AddScaled(sum, clients*s.Weights[0], votes)
		if state, ok = state.Next(1, clients, sum); !ok {
			t.Fatal("votes give no state")
		}
		for i, x := range want {
			got := state.factors[i] * state.factors[i]
			low, high := math.Inf(1), 0.
			for _, draw := range state.rules.scales {
				low, high = min(low, draw[i]*got), max(high, draw[i]*got)
			}
			if noise < 1 && (math.Abs(math.Log(got/x)) > .25 || high > 2*low) {
				t.Errorf("coordinate %d: information %.3g, with draws from %.3g to %.3g, want %.3g", i, got, low, high, x)
			}
			if noise > 1 && (low > got/100 || high < .5) {
				t.Errorf("coordinate %d, hidden: information %.3g, with draws from %.3g to %.3g", i, got, low, high)
			}
		}
	}
}
