package pvi

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/pvi/study"
)

// The rules by which numbers that a study leaves open are derived: settings on a
// plateau of simulations on the Adult, Abalone and breast cancer data, with ε from 0.3
// to 4.
const (
	// Steps of a client in the whole study, and least steps of one round: if every record
	// is in every batch, and if batches are sampled.
	fullTotal, fullLeast       = 200, 4
	sampledTotal, sampledLeast = 400, 20
	sampledRate                = 0.1

	// affordable is how many products of a record and a coordinate of θ a client
	// should have to compute in a study: some minutes on one core. Beyond, batches are
	// sampled.
	affordable = 1e11

	// The travel of clients together: what all visits of all clients add up to.
	sequentialTravel, synchronousTravel = 80, 60

	// largestStep is the most that one step should change the logarithm of an sd.
	largestStep = 0.4

	// clipIntervals is the clip, as a share of what gradients typically are, where
	// intervals are wanted: what is clipped moves estimates, and no interval knows of it.
	clipIntervals = 0.9

	// manyRecords is where the pace changes, in records of the whole federation.
	manyRecords = 10_000

	// Where few records have less signal than clearSignal, clip and travel shrink with it,
	// to leastPace at the least.
	clearSignal, leastPace = 25, 0.5
)

// A pace is what depends on how many records there are. Where they are few the noise costs
// most, and a smaller clip with longer steps serves best, unless the noise is such that long
// steps carry little else; where they are many the bias of the clip and the jitter of the
// last steps do, and a larger clip with shorter steps does.
type pace struct {
	// travel is the most that step size times steps of a client may be. Adam moves a
	// coordinate by half a step size a step on average, with steps that fall to nothing:
	// it is what a coordinate may have to travel, whatever ε and the dimension are.
	travel float64
	clip   float64 // as a share of what gradients typically are
}

var paces = struct{ few, unknown, many, summed pace }{
	few:     pace{80, 0.5},
	unknown: pace{40, 0.6},
	many:    pace{20, 0.7},
	// Where sums over many records move q there is less noise beside the signal.
	summed: pace{10, 0.84},
}

// pace returns that of the study, by its nominal number of records.
func (p *Protocol) pace() pace {
	switch n := p.study.Federation.NominalRecords * len(p.roster.Clients); {
	case n == 0:
		return paces.unknown
	case n < manyRecords:
		slow := min(1, max(leastPace, p.signal()/clearSignal))
		return pace{slow * paces.few.travel, slow * paces.few.clip}
	case p.Summed():
		return paces.summed
	}
	return paces.many
}

// signal is how many times as long as the noise the sum of all records' gradients is, in
// one coordinate and over all steps of the study together, if gradients are as long as the
// clip and agree: N μ / √(d M), for N nominal records, d coefficients and M clients with
// noise of their own. Noise of sd C/μ beside sums of the whole study is what an ε comes to,
// however many steps there are (Gaussian differential privacy; for sampled batches with
// much noise: Dong, Roth and Su 2022, theorem 11).
func (p *Protocol) signal() float64 {
	privacy, d := p.study.Privacy, p.descent
	mu := d.Rate * math.Sqrt(float64(d.Total)) / privacy.NoiseMultiplier
	if privacy.NoiseMultiplier == 0 {
		mu = accountant.GaussianMu(privacy.Epsilon, privacy.Delta)
	}
	noises := 1.0
	if p.study.Federation.Opens != study.OpenSums {
		noises = float64(len(p.roster.Clients))
	}
	n := float64(p.study.Federation.NominalRecords * len(p.roster.Clients))
	return n * mu / math.Sqrt(float64(p.model.Dim())*noises)
}

// stepsOfRound is how many steps a round has if the study has about total, or more if it
// must have least in each.
func stepsOfRound(rounds, total, least int) int {
	return max(least, (total+rounds-1)/rounds)
}

// travel returns step size times steps of a client. Every visit of every client moves
// q, in a synchronous round by α; or every sum over all of them does.
func (p *Protocol) travel() float64 {
	in, m := p.study.Inference, float64(len(p.roster.Clients))
	if p.Summed() {
		return p.pace().travel
	}
	if in.Schedule == study.Synchronous {
		return min(p.pace().travel, synchronousTravel/(in.Damping.Alpha*m))
	}
	return min(p.pace().travel, sequentialTravel/m)
}

// initialSD is about what the posterior's sds come to. Under sums it is small whatever
// they are: there are few steps, each of one draw of θ, and a wide q shakes them.
func (p *Protocol) initialSD() float64 {
	if p.Summed() || p.pace() == paces.many {
		return 0.03
	}
	return 0.1
}

// ErrNoClip is returned for a study that does not say to what gradients are clipped, of a
// model for which there is no rule.
var ErrNoClip = errors.New("nothing public says how large a record's gradient is in this model: write privacy.clip, the L2 norm to which gradients are clipped; sim tune finds one on made-up records")

// Between leastClip and mostClip there is a lattice for every noise.
const leastClip, mostClip = 1e-50, 1e50

func (p *Protocol) deriveGradientClip(d *Descent) error {
	if d.Clip = p.study.Privacy.Clip; d.Clip > 0 {
		if d.Clip < leastClip || d.Clip > mostClip {
			return fmt.Errorf("privacy.clip = %g is no norm that a gradient could have: write one from %g to %g", d.Clip, leastClip, mostClip)
		}
		return nil
	}
	if d.Typical = p.model.TypicalGradient(); d.Typical == 0 {
		return ErrNoClip
	}
	d.Typical *= contribution(p.study.Inference.Descent)
	share := p.pace().clip
	if p.study.Inference.NoiseAware == study.OneStep {
		share = clipIntervals
	}
	d.Clip = share * d.Typical
	return nil
}

// contribution is how many times longer than one gradient a record's whole contribution
// to a step is: draws of independent directions add their squares, and so does a
// preconditioned gradient in the spread, which is as long as that in the mean.
func contribution(d study.Descent) float64 {
	squares := float64(d.Draws)
	if d.Gradients == study.Preconditioned {
		squares *= 2
	}
	return math.Sqrt(squares)
}
