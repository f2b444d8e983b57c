package ep

import (
	"math"

	"fedpvi/internal/special"
)

// A stick is a normal coordinate u that determines the weight of one cluster by stick breaking. The
// cluster takes the share σ(u − log n) of the weight that earlier clusters leave, where σ is the
// logistic function and n is the number of later clusters.
type stick struct {
	after int
	sd    float64 // sd of the normal prior of u in q

	mean, spread float64 // mean and sd of u
	taken, left  tiltedStick
	logs         []float64
}

// A tiltedStick holds moments of u after its density is multiplied by the cluster's share of the
// weight, or by one minus it. chance is the expectation of the multiplier. first and second are
// moments around the earlier mean of u.
type tiltedStick struct{ chance, first, second float64 }

func newStick(after int, sd float64) stick {
	return stick{after: after, sd: sd, logs: make([]float64, len(hermite.Weights))}
}

func (s *stick) set(mean, variance float64) {
	s.mean, s.spread = mean, math.Sqrt(variance)
	s.taken, s.left = tiltedStick{}, tiltedStick{}
	for n, z := range hermite.Points {
		move := s.spread * z
		log := s.logit(mean + move)
		s.taken.add(hermite.Weights[n]*special.InvLogit(log), move)
		s.left.add(hermite.Weights[n]*special.InvLogit(-log), move)
	}
	s.taken.normalise()
	s.left.normalise()
}

func (s *stick) logit(u float64) float64 { return u - math.Log(float64(s.after)) }

func (t *tiltedStick) add(weight, move float64) {
	t.chance += weight
	t.first += weight * move
	t.second += weight * move * move
}

func (t *tiltedStick) normalise() {
	t.first /= t.chance
	t.second /= t.chance
}

// prior returns the first two moments of u around mean after its normal density is multiplied by
// r(u)^share, which corrects for the uniform prior of the weights. r(u) is the density of u under
// the uniform prior divided by the normal prior density. Let n be s.after and x = σ(u − log n) the
// cluster's share. Under the uniform prior x has density n·(1 − x)^(n−1), so u has density n·x·(1 −
// x)^n.
func (s *stick) prior(mean, share float64) (first, second float64) {
	largest := math.Inf(-1)
	for n, z := range hermite.Points {
		u := mean + s.spread*z
		log := s.logit(u)
		beyond := -special.Softplus(-log) - float64(s.after)*special.Softplus(log) + u*u/(2*s.sd*s.sd)
		s.logs[n] = share * beyond
		largest = max(largest, s.logs[n])
	}
	var t tiltedStick
	for n, z := range hermite.Points {
		t.add(hermite.Weights[n]*math.Exp(s.logs[n]-largest), s.spread*z)
	}
	t.normalise()
	return t.first, t.second
}
