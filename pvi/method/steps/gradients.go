package steps

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/accountant"
	"fedpvi/gpu"
	"fedpvi/pvi/method"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// The rules by which numbers that a study leaves open are derived. They are settings on a
// plateau of simulations on the Adult, Abalone and breast cancer data, with ε from 0.3
// to 4.
const (
	// Steps of a client in the whole study, and least steps of one round: if every record
	// is in every batch, and if batches are sampled.
	fullTotal, fullLeast       = 200, 4
	sampledTotal, sampledLeast = 400, 20

	// The travel of clients together: the sum over all visits of all clients.
	sequentialTravel, synchronousTravel = 80, 60

	// largestStep is the most that one step should change the logarithm of an sd.
	largestStep = 0.4

	// clipIntervals is the clip, as a share of a typical gradient, where
	// intervals are wanted: clipping moves estimates, and no interval accounts for it.
	clipIntervals = 0.9

	// manyRecords is where the pace changes, in records of the whole federation.
	manyRecords = 10_000

	// If few records have less signal than clearSignal, clip and travel shrink with it,
	// to leastPace at the least.
	clearSignal, leastPace = 25, 0.5
)

// A pace depends on the number of records. If they are few the noise costs
// most, and a smaller clip with longer steps serves best, unless the noise is such that long
// steps carry little else. If they are many the bias of the clip and the jitter of the
// last steps cost most, and a larger clip with shorter steps serves best.
type pace struct {
	// travel is the most that step size times steps of a client may be. Adam moves a
	// coordinate by half a step size a step on average, with steps that fall to nothing:
	// it is the distance that a coordinate may have to travel, whatever ε and the dimension are.
	travel float64
	clip   float64 // as a share of a typical gradient
}

var paces = struct{ few, unknown, many, summed pace }{
	few:     pace{80, 0.5},
	unknown: pace{40, 0.6},
	many:    pace{20, 0.7},
	// If sums over many records move q there is less noise beside the signal.
	summed: pace{10, 0.84},
}

// A Gradients derives the steps of a gradient descent.
type Gradients struct {
	*method.Setting
	Steps *method.Steps

	// Summed says that opened sums over all clients move q.
	Summed bool
}

// NewGradients completes the steps that the study leaves open.
func NewGradients(s *method.Setting, summed bool) (*Gradients, error) {
	in := s.Study.Inference
	d := &method.Steps{Round: in.Descent.Steps, Rate: in.Descent.Rate, StepSize: in.Descent.StepSize, Epoch: 1}
	g := &Gradients{s, d, summed}
	if d.Rate == 0 {
		d.Rate = 1
		steps := d.Round
		if steps == 0 {
			steps = OfRound(in.Rounds, fullTotal, fullLeast)
		}
		if float64(s.Study.Federation.NominalRecords)*float64(in.Rounds*steps)*float64(s.Model.Dim()) > Affordable {
			d.Rate = SampledRate
		}
	}
	if err := g.deriveBatch(); err != nil {
		return nil, err
	}
	switch {
	case d.Round > 0:
	case d.Rate == 1:
		d.Round = OfRound(in.Rounds, fullTotal, fullLeast)
	default:
		d.Round = OfRound(in.Rounds, sampledTotal, sampledLeast)
	}
	d.Total = d.Round * in.Rounds
	if err := CheckTotal(d, in.Rounds); err != nil {
		return nil, err
	}
	if d.StepSize == 0 {
		d.StepSize = min(largestStep, g.travel()/float64(d.Total))
	}
	if d.InitialSD = in.Descent.InitialSD; d.InitialSD == 0 {
		d.InitialSD = g.initialSD()
	}
	return g, g.deriveClip()
}

// CheckTotal returns an error for more steps than are possible.
func CheckTotal(d *method.Steps, rounds int) error {
	if d.Total > Most {
		return fmt.Errorf("%d rounds of %d steps are %d noisy sums of a client, at most %d are possible: lower inference.rounds or inference.steps", rounds, d.Round, d.Total, Most)
	}
	return nil
}

// deriveBatch finds the size of batches that have a fixed size.
func (g *Gradients) deriveBatch() error {
	if g.Study.Inference.Descent.Sampling == study.PoissonSampling {
		return nil
	}
	nominal := g.Study.Federation.NominalRecords
	if most := g.Study.Federation.MaxRecords; nominal > most {
		return fmt.Errorf("federation.nominal_records = %d is above federation.max_records = %d", nominal, most)
	}
	d := g.Steps
	d.Batch = max(1, int(math.Round(d.Rate*float64(nominal))))
	d.Rate = float64(d.Batch) / float64(nominal)
	return nil
}

// pace returns the pace of the study, by its nominal number of records.
func (g *Gradients) pace() pace {
	switch n := g.Study.Federation.NominalRecords * g.Clients; {
	case n == 0:
		return paces.unknown
	case n < manyRecords:
		slow := min(1, max(leastPace, g.signal()/clearSignal))
		return pace{slow * paces.few.travel, slow * paces.few.clip}
	case g.Summed:
		return paces.summed
	}
	return paces.many
}

// signal returns how many times as long as the noise the sum of all records' gradients is, in
// one coordinate and over all steps of the study together, if gradients are as long as the
// clip and agree: N μ / √(d M), for N nominal records, d coefficients and M clients with
// noise of their own. An ε is worth noise of sd C/μ beside sums of the whole study,
// however many steps there are (Gaussian differential privacy; for sampled batches with
// much noise: Dong, Roth and Su 2022, theorem 11).
func (g *Gradients) signal() float64 {
	privacy, d := g.Study.Privacy, g.Steps
	mu := d.Rate * math.Sqrt(float64(d.Total)) / privacy.NoiseMultiplier
	if privacy.NoiseMultiplier == 0 {
		mu = accountant.GaussianMu(privacy.Epsilon, privacy.Delta)
	}
	noises := 1.0
	if g.Study.Federation.Opens != study.OpenSums {
		noises = float64(g.Clients)
	}
	n := float64(g.Study.Federation.NominalRecords * g.Clients)
	return n * mu / math.Sqrt(float64(g.Model.Dim())*noises)
}

// travel returns step size times steps of a client. Every visit of every client moves
// q, in a synchronous round by α; or every sum over all of them does.
func (g *Gradients) travel() float64 {
	in, m := g.Study.Inference, float64(g.Clients)
	if g.Summed {
		return g.pace().travel
	}
	if in.Schedule == study.Synchronous {
		return min(g.pace().travel, synchronousTravel/(in.Damping.Alpha*m))
	}
	return min(g.pace().travel, sequentialTravel/m)
}

// initialSD returns about the sds of the posterior. With sums it is small whatever
// they are: there are few steps, each of one draw of θ, and a wide q shakes them.
func (g *Gradients) initialSD() float64 {
	if g.Summed || g.pace() == paces.many {
		return 0.03
	}
	return 0.1
}

// ErrNoClip is returned for a study that has no clip for gradients, of a model for which
// there is no rule.
var ErrNoClip = errors.New("nothing public says how large a record's gradient is in this model: write privacy.clip, the L2 norm to which gradients are clipped; sim tune finds one on made-up records")

func (g *Gradients) deriveClip() error {
	d := g.Steps
	if d.Clip = g.Study.Privacy.Clip; d.Clip > 0 {
		if d.Clip < LeastClip || d.Clip > MostClip {
			return fmt.Errorf("privacy.clip = %g is no norm that a gradient could have: write one from %g to %g", d.Clip, LeastClip, MostClip)
		}
		return nil
	}
	if d.Typical = g.Model.TypicalGradient(); d.Typical == 0 {
		return ErrNoClip
	}
	d.Typical *= contribution(g.Study.Inference.Descent)
	share := g.pace().clip
	if g.Study.Inference.NoiseAware == study.OneStep {
		share = clipIntervals
	}
	d.Clip = share * d.Typical
	return nil
}

// contribution returns how many times longer than one gradient a record's whole contribution
// to a step is: draws of independent directions add their squares, and so does a
// preconditioned gradient in the spread, which is as long as that in the mean.
func contribution(d study.Descent) float64 {
	squares := float64(d.Draws)
	if d.Gradients == study.Preconditioned {
		squares *= 2
	}
	return math.Sqrt(squares)
}

// Size returns the number of elements of a record's vector.
func (g *Gradients) Size() int {
	size := g.Model.Dim() * g.Study.Inference.Descent.Draws
	if g.Study.Inference.Descent.Gradients.Joint() {
		size *= 2
	}
	return size
}

// Options returns the options of a descent of so many steps, over batches of a rate.
func (g *Gradients) Options(steps int, rate float64) solver.DPSVIOptions {
	d, in := g.Steps, g.Study.Inference.Descent
	return solver.DPSVIOptions{
		Steps: steps, Draws: in.Draws, Rate: rate,
		Gradients: in.Gradients, Records: float64(g.Study.Federation.NominalRecords),
		Optimiser: in.Optimiser, Schedule: gpu.LinearDecay{First: d.StepSize, Last: d.StepSize * in.Decay},
		Average: in.Average, InitialSD: d.InitialSD,
	}
}

// AveragedNoise returns the sd of a client's noise of the given sd in each step, averaged over
// all steps and their draws.
func (g *Gradients) AveragedNoise(sd float64) float64 {
	draws := g.Steps.Total * g.Study.Inference.Descent.Draws
	return sd / (g.Steps.Rate * math.Sqrt(float64(draws)))
}

// ClosedFormNoise returns the sd of the noise of all clients, averaged over the last of so many steps:
// clients propose the average of these.
func (g *Gradients) ClosedFormNoise(sd float64, steps int) float64 {
	window := max(g.Study.Inference.Descent.Average, 1/float64(steps))
	return g.AveragedNoise(sd) * math.Sqrt(float64(g.Clients)/window)
}
