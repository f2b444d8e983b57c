package method

import (
	"math"

	"fedpvi/pvi/study"
)

// A Forecast compares the noise of a study with the largest signal that passes its clip. It is
// computed before the study runs.
type Forecast struct {
	Noise   float64 `json:"noise_sd"`       // noise sd of every final natural parameter, or of the average of all gradient sums
	Round   float64 `json:"round_noise_sd"` // noise sd of one round's sum, before damping
	Largest float64 `json:"largest_signal"` // norm of the signal if every contribution has the norm of the clip
	// Doubtful is true if the noise is so large that λ may often be improper after a round.
	Doubtful bool `json:"doubtful"`
}

// NewForecast returns a forecast from one round's noise and the clip of one release.
func (s *Setting) NewForecast(n Noise) Forecast {
	round := n.SD * math.Sqrt(float64(s.Clients))
	return Forecast{Noise: round, Round: round, Largest: n.Clip}
}

// Settled returns the sd of the noise in λ after the last round if every round's sum has noise of
// sd 1 and nothing is clipped.
//
// Round t adds α_t times its noise. Tied and published factors contain the noise of earlier rounds,
// and round t removes the share α_t of it. The sd then tends to √(α/(2−α)) for a constant α, and is
// 1/√T for α_t = 1/t and T rounds. The same holds for parts that are averaged, because the client
// stores the noisy sum. Other factors contain no noise. No round then removes any, and the sd grows
// to α√T.
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
