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

// These defaults were chosen by simulations with Adult, Abalone and breast cancer data, with ε from
// 0.3 to 4. Similar values work equally well.
const (
	// fullTotal is the number of steps that a client takes in the whole study, and fullLeast the
	// smallest number in a round, if batches contain all records. If batches are sampled, the numbers
	// are sampledTotal and sampledLeast.
	fullTotal, fullLeast       = 200, 4
	sampledTotal, sampledLeast = 400, 20

	// sequentialTravel and synchronousTravel limit the travel of all clients together, depending on
	// the schedule. A client's travel is its step size times its number of steps, added up over the
	// rounds.
	sequentialTravel, synchronousTravel = 80, 60

	// largestStep limits the step size: in one step, the log of a standard deviation should change by
	// at most this much.
	largestStep = 0.4

	// clipIntervals is the clipping bound for noise-aware intervals, relative to the norm of a typical
	// gradient. It is rather large, because these intervals do not take the bias of clipping into
	// account.
	clipIntervals = 0.9

	// If all clients together have manyRecords records or more, the [pace] is paces.many, or
	// paces.summed if sums are opened.
	manyRecords = 10_000

	// If there are few records and the signal-to-noise ratio is below clearSignal, the clipping bound
	// and the travel (see [pace]) are multiplied by the ratio divided by clearSignal, but at least by
	// leastPace.
	clearSignal, leastPace = 25, 0.5
)

// A pace holds the travel, which limits how far steps move q, and the clipping bound. With few
// records most of the error is noise. Then a smaller bound with longer steps is best, unless there
// is too much noise for long steps. With many records most of the error comes from clipping and
// from the last steps. Then a larger bound with shorter steps is best.
type pace struct {
	// travel is the largest product of the step size and a client's number of steps. If the step size
	// falls linearly to zero, a step of Adam moves a coordinate by half of the first step size on
	// average. So travel is proportional to the distance that a coordinate can move, for any ε and any
	// dimension.
	travel float64
	clip   float64 // clipping bound, relative to the norm of a typical gradient
}

var paces = struct{ few, unknown, many, summed pace }{
	few:     pace{80, 0.5},
	unknown: pace{40, 0.6},
	many:    pace{20, 0.7},
	// In sums over all clients, the noise is smaller relative to the signal.
	summed: pace{10, 0.84},
}

// Gradients holds the settings for the steps of gradient descent.
type Gradients struct {
	*method.Setting
	Steps *method.Steps

	// Summed is true if each round opens a sum of gradients over all clients.
	Summed bool
}

// NewGradients returns the settings for the study's steps. It uses defaults for those that the
// study does not give.
func NewGradients(s *method.Setting, summed bool) (*Gradients, error) {
	in := s.Study.Inference
	d := &method.Steps{Round: in.Descent.Steps, Rate: in.Descent.Rate, StepSize: in.Descent.StepSize, Epoch: 1}
	g := &Gradients{s, d, summed}
	if d.Rate == 0 && g.Holders() > 1 {
		d.Rate = 1 // there is no known bound for random batches
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

// travel returns a client's step size times its number of steps. If opened sums move q, it is that
// of the [pace]. Otherwise each client moves q. In a synchronous round it does so by the damping α
// times its change, and there is also a limit on the sum over all clients.
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

// initialSD returns roughly the standard deviation of the posterior, which is smaller with more
// records. If sums are opened, there are few steps with one draw of θ each, and these would be
// noisy if q were wide.
func (g *Gradients) initialSD() float64 {
	if g.Summed || g.pace() == paces.many {
		return 0.03
	}
	return 0.1
}

// ErrNoClip is the error if the study does not give a clipping bound for gradients and the model
// has no default for it.
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

// contribution returns the norm of a record's contribution to a step, relative to one gradient. For
// independent draws, squared norms add up. A preconditioned vector has two halves of equal norm,
// one for the mean and one for the standard deviations of q.
func contribution(d study.Descent) float64 {
	squares := float64(d.Draws)
	if d.Gradients == study.Preconditioned {
		squares *= 2
	}
	return math.Sqrt(squares)
}

// Size returns the length of a record's contribution to a step.
func (g *Gradients) Size() int {
	size := g.Model.Dim() * g.Study.Inference.Descent.Draws
	if g.Study.Inference.Descent.Gradients.Joint() {
		size *= 2
	}
	return size
}

// Options returns the options for a descent with the given number of steps and sampling rate.
func (g *Gradients) Options(steps int, rate float64) solver.DPSVIOptions {
	d, in := g.Steps, g.Study.Inference.Descent
	return solver.DPSVIOptions{
		Steps: steps, Draws: in.Draws, Rate: rate,
		Gradients: in.Gradients, Records: float64(g.Study.Federation.NominalRecords),
		Optimiser: in.Optimiser, Schedule: gpu.LinearDecay{First: d.StepSize, Last: d.StepSize * in.Decay},
		Average: in.Average, InitialSD: d.InitialSD,
	}
}

// AveragedNoise returns the standard deviation of a client's noise in the average over all steps
// and draws of θ. sd is the standard deviation in one step.
func (g *Gradients) AveragedNoise(sd float64) float64 {
	draws := g.Steps.Total * g.Study.Inference.Descent.Draws
	return sd / (g.Steps.Rate * math.Sqrt(float64(draws)))
}

// ClosedFormNoise returns the standard deviation of the noise of all clients together, in the
// average over the last steps. These are the steps over which a client averages q for its proposal.
// sd is the standard deviation in one step.
func (g *Gradients) ClosedFormNoise(sd float64, steps int) float64 {
	window := max(g.Study.Inference.Descent.Average, 1/float64(steps))
	return g.AveragedNoise(sd) * math.Sqrt(float64(g.Clients)/window)
}
