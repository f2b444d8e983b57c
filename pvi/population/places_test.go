package population

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// A client's votes for its information and its mode have norm at most 1, and the votes of two
// clients differ by at most √2. If the mode is NaN, it gets no votes.
func TestVotesForPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		d := 1 + r.IntN(6)
		area := &Area{make([]float64, d), make([]float64, d)}
		for i := range d {
			area.Mean[i], area.SD[i] = 5*r.NormFloat64(), math.Exp(3*r.NormFloat64())
		}
		var both [2][]float64
		for k := range both {
			mode, information := make([]float64, d), scaledUnit(d, math.Exp(9*r.NormFloat64()))
			for i := range mode {
				mode[i] = area.Mean[i] + area.SD[i]*math.Pow(r.NormFloat64(), 5)
			}
			both[k] = make([]float64, SizeWithModes(d))
			q := &Query{Votes: 20, Area: area}
			q.VoteWithMode(both[k], mode, information)
			if norm := floats.Norm(both[k], 2); norm > 1+1e-12 || norm < .3 {
				t.Fatalf("the norm is %g", norm)
			}
			mode[0] = math.NaN()
			none := make([]float64, SizeWithModes(d))
			if q.VoteWithMode(none, mode, information); floats.Norm(none, 1) != 0 {
				t.Fatal("a mode that is not a number was voted for")
			}
		}
		if distance := floats.Distance(both[0], both[1], 2); distance > math.Sqrt2+1e-12 {
			t.Fatalf("votes of two clients differ by %g", distance)
		}
	}
}

// Without noise, the second round's point is at most a fifth of a place away from the mean of the
// modes. If noise hides the votes, the point is close to the prior mean.
func TestBeginning(t *testing.T) {
	const clients, d = 50, 3
	r := rand.New(rand.NewPCG(2, 1))
	area := &Area{[]float64{0, 4, -1}, []float64{1, 2, 10}}
	s := &Setting{
		Mean: area.Mean, Precision: scaledUnit(d, 1), Records: 20, Clients: clients, Weights: WeightsWithModes(10), Noise: 1e-6, Area: area,
	}
	modes, vector, sum := []float64{1.3, 2, -14}, make([]float64, SizeWithModes(d)), make([]float64, SizeWithModes(d))
	for range clients {
		own := make([]float64, d)
		for i := range own {
			own[i] = modes[i] + .1*area.SD[i]*r.NormFloat64()
		}
		(&Query{Votes: 20, Area: area}).VoteWithMode(vector, own, scaledUnit(d, 20))
		floats.AddScaled(sum, s.Weights[0], vector)
	}
	rules, ok := newRules(s)
	if !ok {
		t.Fatal("the prior is not proper")
	}
	place := 2 * modeReach / (modePlaces - 1)
	for i, x := range rules.begin(clients, sum).mean {
		if gap := math.Abs(x-modes[i]) / area.SD[i]; gap > place/5 {
			t.Errorf("coordinate %d begins at %g, and the modes are at %g", i, x, modes[i])
		}
	}
	s.Noise = 1e4
	hidden := rules.begin(clients, make([]float64, SizeWithModes(d)))
	for i, x := range hidden.mean {
		if gap, sd := math.Abs(x-area.Mean[i])/area.SD[i], hidden.sd[i]/area.SD[i]; gap > .01 || sd < .9 || sd > 1.1 {
			t.Errorf("coordinate %d begins %g prior sds from the prior mean, with an sd of %g", i, gap, sd)
		}
	}
}
