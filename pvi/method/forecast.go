package method

import (
	"math"

	"fedpvi/pvi/study"
)

// A Forecast compares the noise of a study with the largest signal that passes its clip. A Forecast
// is computed before the study runs.
type Forecast struct {
	Noise   float64 `json:"noise_sd"`       // final noise sd of every natural parameter, or of the average of all gradient sums
	Round   float64 `json:"round_noise_sd"` // noise sd of one round's sum, before damping
	Largest float64 `json:"largest_signal"` // norm of the signal if the norm of every contribution equals the clip
	// Doubtful is true if the noise is so large compared to the signal that λ may often be improper
	// after a round.
	Doubtful bool `json:"doubtful"`
}

// NewForecast returns a forecast whose Noise is the noise of one round's sum and whose Largest
// is the clip of one release.
func (s *Setting) NewForecast(n Noise) Forecast {
	round := n.SD * math.Sqrt(float64(s.Clients))
	return Forecast{Noise: round, Round: round, Largest: n.Clip}
}

// Settled returns the sd of the noise in λ after the last round if every round's sum has noise of
// sd 1 and nothing is clipped. Round t adds α_t times its noise. Tied and published factors contain
// the noise of earlier rounds, and round t removes the share α_t of this noise. The sd then tends
// to √(α/(2−α)) for a constant α, and it is 1/√T for α_t = 1/t and T rounds. The same holds for
// clients that divide their records into parts and average over the parts, because such a client
// stores the noisy sum that it sent. All other factors contain no noise, so that no round removes
// noise from λ, and the sd grows to α√T.
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
