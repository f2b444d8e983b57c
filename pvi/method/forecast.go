package method

import (
	"math"

	"fedpvi/pvi/study"
)

// A Forecast compares the noise of a study with the largest signal that passes its
// clip, before anything runs.
type Forecast struct {
	Noise   float64 `json:"noise_sd"`       // of every natural parameter, or of the average of all gradient sums, in the end
	Round   float64 `json:"round_noise_sd"` // of one round's sum, before damping
	Largest float64 `json:"largest_signal"` // of all clients, or of all their parts, each of which saturates the clip; of one record
	// Doubtful is true if so little signal is left of a client's change that
	// outcomes may leave no proper distribution.
	Doubtful bool `json:"doubtful"`
}

// NewForecast returns the forecast of one round, in which Noise and Largest are those of
// one release.
func (s *Setting) NewForecast(n Noise) Forecast {
	round := n.SD * math.Sqrt(float64(s.Clients))
	return Forecast{Noise: round, Round: round, Largest: n.Clip}
}

// Settled returns the sd that λ has in the end if every round adds noise of sd 1
// and nothing is clipped. Round t adds α_t times its noise. Tied and published
// factors hold the noise of earlier rounds and take α_t of it back, so that
// the sd tends to √(α/(2−α)) for a constant α and is 1/√T for α = 1/t. The same holds
// for a client that averages over parts, because it remembers the noisy sum that it sent.
// With other exact factors noise stays, and adds up to α√T.
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
