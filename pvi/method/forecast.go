package method

import (
	"math"

	"fedpvi/pvi/study"
)

// A Forecast compares the noise in a study with the largest signal that clipping allows. It is made
// before the study runs.
type Forecast struct {
	Noise   float64 `json:"noise_sd"`       // standard deviation of the noise in each natural parameter at the end, or in the average of all gradient sums
	Round   float64 `json:"round_noise_sd"` // standard deviation of the noise in the sum of a round, before damping
	Largest float64 `json:"largest_signal"` // norm of the signal if the norm of every contribution equals the clipping bound
	// Doubtful is true if there is so much noise that λ may often be improper after a round.
	Doubtful bool `json:"doubtful"`
}

// NewForecast returns a forecast, given the noise of a round and the clipping bound of a release.
func (s *Setting) NewForecast(n Noise) Forecast {
	round := n.SD * math.Sqrt(float64(s.Clients))
	return Forecast{Noise: round, Round: round, Largest: n.Clip}
}

// Settled returns the standard deviation of the noise in λ after the last round, if the noise in
// the sum of each round has standard deviation 1 and nothing is clipped.
//
// Round t adds α_t times its noise. Tied and published factors contain the noise of earlier rounds,
// and round t removes the fraction α_t of this. For constant α, the standard deviation therefore
// tends to √(α/(2−α)). For α_t = 1/t and T rounds, it is 1/√T. The same is true for parts that are
// averaged, because the client stores the noisy sum. All other factors are free of noise, so that
// no round removes any, and the standard deviation grows to α√T.
func Settled(in study.Inference) float64 {
	var variance float64
	for t := 1; t <= in.Rounds; t++ {
		alpha := in.Damping.At(t)
		if in.Factors != study.Exact || in.Partitions.Averaged {
			variance *= (1 - alpha) * (1 - alpha)
		}
		variance += alpha * alpha
	}
	return math.Sqrt(variance)
}
