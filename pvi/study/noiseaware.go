package study

import (
	"math"
	"slices"

	"fedpvi/internal/document"
)

// NoiseAware says how to compute a second posterior, which accounts for the privacy noise and is
// reported beside q.
type NoiseAware string

const (
	// OneStep makes every client release the gradient and the curvature of its log likelihood, once,
	// after the rounds. The second posterior is a Newton step from q. Its covariance accounts for the
	// noise in both releases.
	OneStep NoiseAware = "one-step"
	// ClosedForm widens the posterior of each coefficient by a formula that uses the known standard
	// deviation of the noise. This costs no privacy.
	ClosedForm NoiseAware = "closed-form"
	// Iterates adds the variance of the mean of q over the last rounds to the variance of each
	// coefficient. Jälkö, Prediger, Honkela and Kaski ("DPVIm: Differentially Private Variational
	// Inference Improved", 2023) proposed this for the end of a long run of steps of constant size.
	// The result depends on the step size, so the option exists only for comparisons.
	Iterates NoiseAware = "iterates"
	// NoNoiseAware reports no second posterior.
	NoNoiseAware NoiseAware = "none"
)

// leastIterates is the smallest number of rounds for Iterates. With fewer, the estimate of the
// variance would be poor.
const leastIterates = 20

func readNoiseAware(s *Study, t *document.Table) {
	in := &s.Inference
	in.NoiseAware = NoNoiseAware
	if !in.Sampled() {
		refuseAll(t, []string{"noise_aware", "noise_aware_shares"}, `is used only with solver = "dp-svi" or "dp-sep"`)
		return
	}
	in.NoiseAware = ClosedForm
	readChoice(t, "noise_aware", &in.NoiseAware, OneStep, ClosedForm, Iterates, NoNoiseAware)
	m := &s.Model
	if in.NoiseAware == Iterates && in.Rounds < leastIterates {
		t.Errorf("noise_aware", `"iterates" is the variance of q's means over the last rounds: it needs %d rounds or more, each of few steps; write rounds = 200 and steps = 1, or %q`, leastIterates, ClosedForm)
	}
	bounded := m.Family.find().curved && len(m.Groups) == 0 && (m.Family != Linear || m.NoiseSD > 0)
	if in.NoiseAware == OneStep && !bounded {
		t.Errorf("noise_aware", `"one-step" releases the curvature of records, which has no public bound in this model: it is for logistic, probit and softmax regressions, and linear ones with a known noise_sd, without groups; write %q, which needs no release`, ClosedForm)
	}
	if in.NoiseAware == OneStep && (in.Descent.StartShare > 0 || in.Descent.Sampling == PublishedSampling || in.Descent.Sampling == AllocatedSampling) {
		t.Errorf("noise_aware", `"one-step" shares the budget with steps that start at the prior, in batches that are accounted as they are drawn: remove start and sampling, or write %q`, ClosedForm)
	}
	readNoiseAwareShares(in, t)
}

func readNoiseAwareShares(in *Inference, t *document.Table) {
	if !t.Has("noise_aware_shares") {
		return
	}
	shares, ok := t.Floats("noise_aware_shares")
	if in.NoiseAware != OneStep {
		t.Errorf("noise_aware_shares", "is used only with noise_aware = %q", OneStep)
		return
	}
	if !ok {
		return
	}
	if len(shares) != 3 || slices.Min(shares) <= 0 || math.Abs(shares[0]+shares[1]+shares[2]-1) > 1e-9 {
		t.Errorf("noise_aware_shares", "must be three positive shares of the budget that add up to 1, of the rounds, the gradient and the curvature: noise_aware_shares = [0.25, 0.5, 0.25]")
		return
	}
	copy(in.NoiseAwareShares[:], shares)
}
