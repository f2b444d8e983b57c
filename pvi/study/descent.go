package study

import (
	"fedpvi/accountant"
	"fedpvi/internal/document"
)

// Descent has the options of the solver DPSVI. DPSEP shares those for steps and batches. Some
// options may be 0 (see the fields), and are then computed from public numbers.
type Descent struct {
	Steps     int     // number of steps in each round; computed if 0
	StepSize  float64 // the optimiser's step size at the beginning of the study; computed if 0
	Draws     int     // number of draws of θ in each step, whose gradients are released together; default 1
	Rate      float64 // probability that a record is in a batch; 1 for all records; computed if 0
	Sampling  Sampling
	Gradients Gradients
	Optimiser Optimiser
	Decay     float64 // step size of the last step relative to StepSize, with a linear decrease in between; default 0.05
	Average   float64 // q is averaged over this fraction of a round's steps, at its end; default 0.5
	InitialSD float64 // upper bound on the standard deviations of q in the first step; computed if 0

	// StartShare is the share of the budget, in μ², that a client spends on noisy sums of sufficient
	// statistics before its first steps. The steps then start at the q that these sums imply. If
	// StartShare is 0, they start at the q of the plan.
	StartShare float64
}

// Gradients says whether a record contributes only a gradient with respect to the mean of q, or
// also one with respect to the standard deviations of q.
type Gradients string

const (
	// Aligned releases the gradient with respect to the mean of q, and computes the one with respect
	// to the standard deviations from the released sum.
	Aligned Gradients = "aligned"
	// Joint releases both gradients, clipped together as one vector.
	Joint Gradients = "joint"
	// Preconditioned is like Joint, but brings both gradients to the same scale: it multiplies the
	// gradient with respect to the standard deviations by a public factor, and divides by it again
	// after clipping and noise.
	Preconditioned Gradients = "preconditioned"
	// PublishedGradients is like Joint, but before clipping each record also adds its share of the
	// gradient of the divergence from the cavity, as in Jälkö, Dikmen and Honkela (2017). The cavity
	// is q without the client's factor.
	PublishedGradients Gradients = "published"
)

// Joint reports whether the gradient with respect to the standard deviations of q is released.
func (g Gradients) Joint() bool { return g != Aligned }

// Sampling says how batches are drawn.
type Sampling string

const (
	// PoissonSampling puts each record in the batch with probability Rate, independently of the
	// others.
	PoissonSampling Sampling = "poisson"
	// WithoutReplacement draws a batch of fixed size, Rate times the number of records. The privacy
	// cost is that of sampling without replacement.
	WithoutReplacement Sampling = "without-replacement"
	// AllocatedSampling puts each record in one random step of an epoch. Only DPSEP supports it.
	AllocatedSampling Sampling = "random-allocation"
	// PublishedSampling draws a batch of fixed size, but counts the privacy cost of independent
	// sampling, as the library d3p does. This privacy claim is wrong, and the option exists to show
	// that.
	PublishedSampling Sampling = "published"
)

// An Optimiser computes steps from noisy gradients.
type Optimiser string

// These are the optimisers.
const (
	Adam    Optimiser = "adam"
	AdaGrad Optimiser = "adagrad"
	SGD     Optimiser = "sgd"
	Natural Optimiser = "natural" // gradient multiplied by the inverse Fisher information of q
)

func readDescent(s *Study, t *document.Table) {
	d := &s.Inference.Descent
	*d = Descent{Draws: 1, Sampling: PoissonSampling, Gradients: Aligned, Optimiser: Adam, Decay: 0.05, Average: 0.5}
	readCount(t, "steps", &d.Steps, maxSteps)
	readCount(t, "draws", &d.Draws, maxReleasedDraws)
	readChoice(t, "gradients", &d.Gradients, Aligned, Joint, Preconditioned, PublishedGradients)
	readChoice(t, "optimiser", &d.Optimiser, Adam, AdaGrad, SGD, Natural)
	if !readPositive(t, "step_size", &d.StepSize) && d.Optimiser != Adam {
		t.Errorf("step_size", "is missing: only \"adam\" has a default, because its steps do not depend on the size of gradients")
	}
	readShare(t, "sampling_rate", &d.Rate, "(0, 1]")
	readChoice(t, "sampling", &d.Sampling, PoissonSampling, WithoutReplacement, PublishedSampling)
	readStart(s, t)
	readShare(t, "step_decay", &d.Decay, "[0, 1]")
	readShare(t, "average", &d.Average, "[0, 1]")
	readPositive(t, "initial_sd", &d.InitialSD)
	if s.Inference.Factors == Published {
		t.Errorf("factors", `"published" is not defined for solver = "dp-svi": write factors = %q, which costs the same, because a client remembers only its releases`, Exact)
	}
}

// checkDescent refuses options of [Descent] that do not fit federation.nominal_records or the
// adjacency. Those keys must be read first.
func checkDescent(s *Study, t *document.Table) {
	if s.Inference.Solver != DPSVI {
		return
	}
	d, nominal := &s.Inference.Descent, s.Federation.NominalRecords
	if s.Federation.Opens == OpenSums && s.Privacy.Unit.OfRecords() {
		checkSummed(d, t)
	}
	if d.Gradients == PublishedGradients && nominal == 0 {
		t.Errorf("gradients", `the published form divides the divergence by a public number of records: write federation.nominal_records, or gradients = "joint"`)
	}
	if d.Sampling == PoissonSampling {
		return
	}
	if d.Rate == 0 {
		t.Errorf("sampling", "batches of a fixed size need a sampling rate: write sampling_rate, the share of a client's records in a batch")
	}
	if nominal == 0 {
		t.Errorf("sampling", "the cost of batches of a fixed size depends on the number of records, which must be public: write federation.nominal_records, the fewest records that a client has")
	}
	if d.Sampling == WithoutReplacement && s.Privacy.Adjacency != accountant.ReplaceOne {
		t.Errorf("sampling", `the cost of a batch of fixed size reveals the number of records, which privacy.adjacency = %q keeps private: write adjacency = %q, or sampling = %q`, s.Privacy.Adjacency, accountant.ReplaceOne, PoissonSampling)
	}
}

// maxReleasedDraws is the largest number of draws of θ in a step. The gradients at all these draws
// are released together.
const maxReleasedDraws = 64

// defaultStartShare is the default of Descent.StartShare. It leaves √(1 − 1/4), about seven
// eighths, of the study's μ for the steps.
const defaultStartShare = 0.25

func readStart(s *Study, t *document.Table) {
	d := &s.Inference.Descent
	how, _ := t.Choice("start", "prior", "analytical")
	if how != "analytical" {
		refuse(t, "start_share", `is used only with start = "analytical"`)
		return
	}
	if !s.Model.Conjugate() {
		t.Errorf("start", `"analytical" is possible only with family = "linear" and a known noise_sd: write start = "prior"`)
	}
	d.StartShare = defaultStartShare
	readShare(t, "start_share", &d.StartShare, "(0, 1)")
}

// checkSummed refuses keys about steps that a client takes on its own. In a study that opens only
// sums, each step needs the gradients of all clients.
func checkSummed(d *Descent, t *document.Table) {
	for _, own := range []struct {
		key string
		is  bool
		say string
	}{
		{"draws", d.Draws > 1, "draws = 1"},
		{"gradients", d.Gradients == PublishedGradients, `gradients = "joint"`},
		{"sampling", d.Sampling != PoissonSampling, `sampling = "poisson"`},
		{"start", d.StartShare > 0, `start = "prior"`},
	} {
		if own.is {
			t.Errorf(own.key, "is for clients that take steps by themselves; with federation.opens = %q write %s", OpenSums, own.say)
		}
	}
}
