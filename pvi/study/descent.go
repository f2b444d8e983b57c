package study

import (
	"fedpvi/accountant"
	"fedpvi/internal/document"
)

// Descent has the options of the solver DPSVI. DPSEP uses those about steps and batches. Where a
// field says so, 0 means that the option is derived from public numbers.
type Descent struct {
	Steps     int     // number of steps in each round; 0 to derive the number
	StepSize  float64 // step size of the optimiser at the beginning of the study; 0 to derive the step size
	Draws     int     // number of draws of θ in each step, released together; default 1
	Rate      float64 // probability that a record is in a batch; 1 for all records; 0 to derive the probability
	Sampling  Sampling
	Gradients Gradients
	Optimiser Optimiser
	Decay     float64 // last step size as a share of StepSize, with a linear decrease; default 0.05
	Average   float64 // fraction of a round's last steps over which q is averaged; default 0.5
	InitialSD float64 // upper bound on the sds of q in the first step; 0 to derive it

	// StartShare is the share of the budget, in μ², that a client spends on noisy sums of
	// sufficient statistics before its first steps. The steps then start at the q computed from
	// these sums. If it is 0, they start at the q of the plan.
	StartShare float64
}

// Gradients states whether a record contributes only the gradient for the mean of q, or also the
// gradient for the sds of q.
type Gradients string

const (
	// Aligned releases the gradient for the mean of q. The gradient for the sds is computed from
	// the released sum.
	Aligned Gradients = "aligned"
	// Joint releases the gradients for the mean and the sds of q, clipped as one vector.
	Joint Gradients = "joint"
	// Preconditioned is like Joint, but multiplies the gradient for the sds by a public factor
	// before clip and noise, and divides it afterwards. This gives both gradients the same scale.
	Preconditioned Gradients = "preconditioned"
	// PublishedGradients is like Joint, but each record also adds its share of the gradient of the
	// divergence from the cavity before the clip, as in Jälkö, Dikmen and Honkela (2017).
	PublishedGradients Gradients = "published"
)

// Joint reports whether the gradient with respect to the sds of q is released.
func (g Gradients) Joint() bool { return g != Aligned }

// Sampling is the way in which batches are drawn.
type Sampling string

const (
	// PoissonSampling takes each record with probability Rate, independently.
	PoissonSampling Sampling = "poisson"
	// WithoutReplacement draws a batch of a fixed size, Rate times the number of records. It is
	// charged as sampling without replacement.
	WithoutReplacement Sampling = "without-replacement"
	// AllocatedSampling puts each record into one random step of an epoch. It is only for DPSEP.
	AllocatedSampling Sampling = "random-allocation"
	// PublishedSampling draws a batch of a fixed size, but is charged as independent sampling, as
	// in the library d3p. This privacy claim does not hold, and the option exists to show that.
	PublishedSampling Sampling = "published"
)

// An Optimiser is a rule that computes steps from noisy gradients.
type Optimiser string

// These are the optimisers.
const (
	Adam    Optimiser = "adam"
	AdaGrad Optimiser = "adagrad"
	SGD     Optimiser = "sgd"
	Natural Optimiser = "natural" // gradient times the inverse Fisher information of q
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
// adjacency, which must have been read.
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

// maxReleasedDraws is the largest number of draws of θ in a step. The gradients at all draws of a
// step are released together.
const maxReleasedDraws = 64

// defaultStartShare is the default of Descent.StartShare. It leaves √(1 − 1/4) of the study's μ,
// about seven eighths, to the steps.
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

// checkSummed refuses keys for steps that a client takes by itself. In such a study, each step uses
// the sum of the gradients of all clients.
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
