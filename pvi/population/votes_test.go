package population

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A client's votes have norm at most 1, and the votes of two clients differ by at most √2. The test
// finds votes that attain both bounds. If a number is NaN, all votes are zero.
func TestVotesHaveNormAtMostOne(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var largest, farthest float64
	for range 2000 {
		d := 1 + r.IntN(5)
		q := &Query{Point: make([]float64, d), Votes: 20}
		if r.IntN(2) == 0 {
			q.Bases = make([]int, d)
			q.Bases[0] = -1
		}
		var votes [2][]float64
		for k := range votes {
			information := mat.NewSymDense(d, nil)
			for i := range d {
				information.SetSym(i, i, []float64{0, 1e300, 20 * math.Exp(4*r.NormFloat64())}[r.IntN(3)])
				information.SetSym(i, 0, []float64{information.At(i, 0), 20 * math.Exp(4*r.NormFloat64()), -1e300}[r.IntN(3)])
			}
			votes[k] = make([]float64, Size(d, q.Bases))
			q.Vector(votes[k], make([]float64, d), information)
			largest = math.Max(largest, floats.Norm(votes[k], 2))
		}
		farthest = math.Max(farthest, floats.Distance(votes[0], votes[1], 2))
	}
	if math.Abs(largest-1) > 1e-12 || math.Abs(farthest-math.Sqrt2) > 1e-12 {
		t.Errorf("votes have norms up to %.15g and distances up to %.15g, want 1 and √2", largest, farthest)
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), -1} {
		v := make([]float64, Size(1, nil))
		if (&Query{Point: []float64{0}, Votes: 20}).Vector(v, []float64{0}, scaledUnit(1, x)); floats.Norm(v, 1) != 0 {
			t.Errorf("information %g: votes %v, want zeros", x, v)
		}
	}
}

// The regressors are 1, c₁ + s₁z and c₂ + s₂z, with independent z. Without noise the votes reveal
// scales and centres, so that in the units of the state, the information of a record is about the
// identity. If noise hides the votes, draws of the scale range from a hundredth of the expected
// scale to about 1.
func TestShapesFromVotes(t *testing.T) {
	const clients, records = 50, 20
	for _, c := range []struct {
		scales  []float64
		centres []float64 // nil without bases
	}{{[]float64{1, .3, 1e-3}, nil}, {[]float64{1, .3, .04}, []float64{0, .5, -1.7}}, {[]float64{.2, 1, .04}, []float64{0, 0, 1.2}}} {
		information := mat.NewSymDense(3, nil)
		for i, x := range c.scales {
			information.SetSym(i, i, records*x)
		}
		s := &Setting{Mean: make([]float64, 3), Precision: scaledUnit(3, 1), Records: records, Clients: clients, Weights: Weights(10)}
		if c.centres != nil {
			s.Bases = []int{-1, 0, 0}
			centre := mat.DenseCopyOf(scaledUnit(3, 1))
			centre.Set(1, 0, c.centres[1])
			centre.Set(2, 0, c.centres[2])
			information = congruent(centre, information)
		}
		votes, sum := make([]float64, Size(3, s.Bases)), make([]float64, Size(3, s.Bases))
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
			own := state.units.Information(information)
			own.ScaleSym(1./records, own)
			if noise < 1 {
				if gap := norm(plus(own, -1, scaledUnit(3, 1))); gap > .4 {
					t.Errorf("%+v: the information of a record is %v, want about the identity", c, mat.Formatted(own))
				}
			}
			for i := range c.scales {
				low, high := math.Inf(1), 0.
				for _, draw := range state.rules.shapes {
					x := draw.root.At(i, i) * state.units.root.At(i, i)
					low, high = min(low, x*x), max(high, x*x)
				}
				if noise < 1 && high > 2*low || noise > 1 && (low > high/100 || high < .5) {
					t.Errorf("%+v, noise %g, coordinate %d: scales from %.3g to %.3g", c, noise, i, low, high)
				}
			}
		}
	}
}
