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

// Defaults from simulations on Adult, Abalone and breast cancer data with ε from 0.3 to 4.
// Neighbouring values were equally good.
const (
	// fullTotal is a client's number of steps in the whole study, and fullLeast the smallest number
	// in a round, if batches contain all records. sampledTotal and sampledLeast are for sampled
	// batches.
	fullTotal, fullLeast       = 200, 4
	sampledTotal, sampledLeast = 400, 20

	// sequentialTravel and synchronousTravel limit the travel of all clients together, by schedule.
	// A client's travel is its step size times its number of steps, summed over the rounds.
	sequentialTravel, synchronousTravel = 80, 60

	// largestStep limits the step size: one step should change the log of an sd by at most this
	// much.
	largestStep = 0.4

	// clipIntervals is the clip for noise-aware intervals, relative to the norm of a typical
	// gradient. They do not account for the bias of clipping.
	clipIntervals = 0.9

	// manyRecords is the number of records of all clients from which the [pace] is paces.many, or
	// paces.summed if sums are opened.
	manyRecords = 10_000

	// If the ratio of signal to noise is below clearSignal, a study with few records multiplies
	// clip and travel (see [pace]) by the ratio over clearSignal, but by at least leastPace.
	clearSignal, leastPace = 25, 0.5
)

// A pace holds the travel, which limits how far steps move q, and the clip. With few records most
// of the error is noise, and a smaller clip with longer steps is best, unless the noise is too
// large for long steps. With many records clipping and the last steps cause most of the error, and
// a larger clip with shorter steps is best.
type pace struct {
	// travel is the largest product of the step size and a client's number of steps. With a step
	// size that falls linearly to zero, Adam moves a coordinate by half of the first step size per
	// step on average. So travel is proportional to the distance that a coordinate can move, for
	// any ε and dimension.
	travel float64
	clip   float64 // clip, relative to the norm of a typical gradient
}

var paces = struct{ few, unknown, many, summed pace }{
	few:     pace{80, 0.5},
	unknown: pace{40, 0.6},
	many:    pace{20, 0.7},
	// With sums over all clients, the noise is smaller relative to the signal.
	summed: pace{10, 0.84},
}

// Gradients holds the settings of the steps of a gradient descent.
type Gradients struct {
	*method.Setting
	Steps *method.Steps

	// Summed is true if each round opens a sum of gradients over all clients.
	Summed bool
}

// NewGradients returns the settings of the study's steps, with defaults where the study gives none.
func NewGradients(s *method.Setting, summed bool) (*Gradients, error) {
	in := s.Study.Inference
	d := &method.Steps{Round: in.Descent.Steps, Rate: in.Descent.Rate, StepSize: in.Descent.StepSize, Epoch: 1}
	g := &Gradients{s, d, summed}
	if d.Rate == 0 && g.Holders() > 1 {
		d.Rate = 1 // no bound is known for random batches
	}
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

// CheckTotal returns an error if the study has more than [Most] steps.
func CheckTotal(d *method.Steps, rounds int) error {
	if d.Total > Most {
		return fmt.Errorf("%d rounds of %d steps are %d noisy sums of a client, at most %d are possible: lower inference.rounds or inference.steps", rounds, d.Round, d.Total, Most)
	}
	return nil
}

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

// signal returns a ratio of signal to noise in one coordinate, over all steps together. Let N be
// the nominal number of records of all clients, d the number of coefficients, M the number of
// clients, and μ the Gaussian-DP parameter for the study's ε. If every client adds noise for
// itself, the ratio is
//
//	N μ / √(d M).
//
// If only sums over all clients are opened, it is N μ / √d.
//
// The formulas treat all steps as one in which each record has one gradient. The signal is the
// largest possible sum: all gradients have the norm C of the clip and the same direction. The noise
// in each opened sum has the sd C/μ. One step with this noise is μ-Gaussian-DP, and so are many
// steps with sampled batches and much noise, approximately (Dong, Roth and Su 2022, theorem 11).
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

// travel returns the product of a client's step size and number of steps: that of the [pace] if
// opened sums move q. Otherwise each client moves q, in a synchronous round by the damping α times
// its change, and the sum over all clients is bounded too.
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

// initialSD returns roughly the sd of the posterior, which is smaller with many records. If sums
// are opened, there are few steps with one draw of θ each, and a wide q would make them noisy.
func (g *Gradients) initialSD() float64 {
	if g.Summed || g.pace() == paces.many {
		return 0.03
	}
	return 0.1
}

// ErrNoClip is the error for a study that gives no clip of gradients and whose model has no default
// clip.
var ErrNoClip = errors.New("public numbers do not determine the size of a record's gradient in this model: write privacy.clip, the L2 norm to which gradients are clipped; sim tune finds a value on made-up records")

func (g *Gradients) deriveClip() error {
	d := g.Steps
	if d.Clip = g.Study.Privacy.Clip; d.Clip > 0 {
		if d.Clip < LeastClip || d.Clip > MostClip {
			return fmt.Errorf("privacy.clip = %g is outside the possible norms of a gradient: write a clip from %g to %g", d.Clip, LeastClip, MostClip)
		}
		return nil
	}
	if d.Typical = g.Model.TypicalGradient(); d.Typical == 0 {
		return ErrNoClip
	}
	d.Typical *= contribution(g.Study.Inference.Descent) * g.TypicalRows()
	share := g.pace().clip
	if g.Study.Inference.NoiseAware == study.OneStep {
		share = clipIntervals
	}
	d.Clip = share * d.Typical
	return nil
}

// contribution returns the norm of a record's contribution to a step, relative to one gradient.
// Squared norms of independent draws add up. A preconditioned vector has two halves of equal norm,
// for the mean and for the sds of q.
func contribution(d study.Descent) float64 {
	squares := float64(d.Draws)
	if d.Gradients == study.Preconditioned {
		squares *= 2
	}
	return math.Sqrt(squares)
}

// Size returns the number of elements of a record's contribution to a step.
func (g *Gradients) Size() int {
	size := g.Model.Dim() * g.Study.Inference.Descent.Draws
	if g.Study.Inference.Descent.Gradients.Joint() {
		size *= 2
	}
	return size
}

// Options returns the options of a descent with the given number of steps and sampling rate.
func (g *Gradients) Options(steps int, rate float64) solver.DPSVIOptions {
	d, in := g.Steps, g.Study.Inference.Descent
	return solver.DPSVIOptions{
		Steps: steps, Draws: in.Draws, Rate: rate,
		Gradients: in.Gradients, Records: float64(g.Study.Federation.NominalRecords),
		Optimiser: in.Optimiser, Schedule: gpu.LinearDecay{First: d.StepSize, Last: d.StepSize * in.Decay},
		Average: in.Average, InitialSD: d.InitialSD,
	}
}

// AveragedNoise returns the sd of a client's noise in the average over all steps and draws of θ. sd
// is the sd of the noise of one step.
func (g *Gradients) AveragedNoise(sd float64) float64 {
	draws := g.Steps.Total * g.Study.Inference.Descent.Draws
	return sd / (g.Steps.Rate * math.Sqrt(float64(draws)))
}

// ClosedFormNoise returns the sd of the noise of all clients together, averaged over the last
// steps, over which a client averages q for its proposal. sd is the sd of the noise of one step.
func (g *Gradients) ClosedFormNoise(sd float64, steps int) float64 {
	window := max(g.Study.Inference.Descent.Average, 1/float64(steps))
	return g.AveragedNoise(sd) * math.Sqrt(float64(g.Clients)/window)
}
