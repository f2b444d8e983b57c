package study

import "fedpvi/internal/document"

// Descent says how the solver DPSVI descends. Where a number is zero the protocol
// derives it, from public numbers only.
type Descent struct {
	Steps     int     // in each round; 0 to derive it
	StepSize  float64 // of the optimiser, at the beginning of the study; 0 to derive it
	Rate      float64 // with which a record is in a batch, 1 for all; 0 to derive it
	Joint     bool    // the gradient in mean and spread is released, as published, not only that in the mean
	Optimiser Optimiser
	Decay     float64 // share of StepSize to which steps fall, linearly, over the study; default 0.05
	Average   float64 // share of the last steps of a round whose average is proposed; default 0.5
	InitialSD float64 // the most that an sd of q is at the very first step; default 0.1
}

// An Optimiser says how noisy gradients become steps.
type Optimiser string

// The optimisers.
const (
	Adam    Optimiser = "adam"
	AdaGrad Optimiser = "adagrad"
	SGD     Optimiser = "sgd"
)

func readDescent(s *Study, t *document.Table) {
	if s.Inference.Solver != DPSVI {
		return
	}
	d := &s.Inference.Descent
	*d = Descent{Optimiser: Adam, Decay: 0.05, Average: 0.5, InitialSD: 0.1}
	if v, ok := t.Int("steps"); ok {
		d.Steps = between(t, "steps", v, 1, maxSteps)
	}
	if v, ok := t.Choice("gradients", "aligned", "joint"); ok {
		d.Joint = v == "joint"
	}
	if v, ok := t.Choice("optimiser", string(Adam), string(AdaGrad), string(SGD)); ok {
		d.Optimiser = Optimiser(v)
	}
	if v, ok := t.Float("step_size"); ok {
		d.StepSize = positive(t, "step_size", v)
	} else if d.Optimiser != Adam {
		t.Errorf("step_size", "is missing: there is a rule for adam only, whose steps do not depend on the size of gradients")
	}
	d.Rate = share(t, "sampling_rate", d.Rate, false)
	d.Decay = share(t, "step_decay", d.Decay, true)
	d.Average = share(t, "average", d.Average, true)
	if v, ok := t.Float("initial_sd"); ok {
		d.InitialSD = positive(t, "initial_sd", v)
	}
	if s.Inference.Factors == Published {
		t.Errorf("factors", `"dp-svi" has no published form yet: write factors = %q, which costs the same, since all that a client remembers was released`, Exact)
	}
}

// share reads a number in (0, 1], or from 0 if zero may be.
func share(t *document.Table, key string, otherwise float64, zero bool) float64 {
	v, ok := t.Float(key)
	if !ok {
		return otherwise
	}
	if !(v > 0 || zero && v == 0) || v > 1 {
		t.Errorf(key, "must lie in (0, 1], got %g", v)
	}
	return v
}
