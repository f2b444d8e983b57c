package pvi

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/onestep"
	"fedpvi/pvi/study"
)

// A OneStep is the last round of a study that asks for a one-step posterior: every
// client releases the gradient and the curvature of its records' log likelihood at
// the mean of the final q. It does not change. [OneStepServer] and [OneStepSite]
// are its state machines.
//
// # What is released
//
//   - the sum over records of gradients, each clipped to the norm C of the descent;
//   - the sum over records of informations w·x xᵀ, packed so that the L2 norm is the
//     Frobenius norm, which is at most sup w times the public bound on ‖x‖², and
//     clipped to that.
//
// A record that is added or removed moves each by at most its clip. Both are Gaussian
// releases at a point that follows from earlier ones, and compose with the rounds.
type OneStep struct {
	Shares    [3]float64 // of the budget: of the rounds, the gradient and the curvature
	Gradient  *dpmech.GaussianSum
	Curvature *dpmech.GaussianSum
}

// Shares of the budget for rounds, gradient and curvature, up to and above an ε of
// largeEpsilon, from where on the curvature's noise matters less.
var (
	defaultShares = [3]float64{0.25, 0.50, 0.25}
	largeShares   = [3]float64{0.25, 0.60, 0.15}
)

const largeEpsilon = 1

// sharesOfBudget returns what the study says, or the default.
func (p *Protocol) sharesOfBudget() [3]float64 {
	shares := p.study.Inference.NoiseAwareShares
	switch {
	case shares[0] > 0:
		return shares
	case p.study.Privacy.Epsilon > largeEpsilon:
		return largeShares
	}
	return defaultShares
}

// newOneStep derives the last round whose noise keeps to the shares of the budget
// beside steps with the given noise multiplier; nil if the study asks for none. Steps
// over batches of rate q hide a record about as well as steps over all with σ/q.
func (p *Protocol) newOneStep(multiplier float64) (*OneStep, error) {
	if p.study.Inference.NoiseAware != study.OneStep {
		return nil, nil
	}
	bound, err := p.model.InformationBound()
	if err != nil {
		return nil, fmt.Errorf("inference.noise_aware = %q: %w: write %q", study.OneStep, err, study.ClosedForm)
	}
	d, c := p.descent, &OneStep{Shares: p.sharesOfBudget()}
	unit := multiplier * math.Sqrt(c.Shares[0]) / (d.Rate * math.Sqrt(float64(d.Total)))
	cfg := dpmech.Config{
		Dim: p.model.Dim(), Clip: d.Clip, NoiseMultiplier: unit / math.Sqrt(c.Shares[1]),
		Shares: p.shares(), Terms: p.study.Federation.MaxRecords, Releases: len(p.roster),
		Adjacency: p.study.Privacy.Adjacency,
	}
	if c.Gradient, err = dpmech.NewGaussianSum(cfg); err != nil {
		return nil, fmt.Errorf("the gradient of the last round: %w", err)
	}
	cfg.Dim, cfg.Clip, cfg.NoiseMultiplier = onestep.Size(p.model.Dim()), bound, unit/math.Sqrt(c.Shares[2])
	if c.Curvature, err = dpmech.NewGaussianSum(cfg); err != nil {
		return nil, fmt.Errorf("the curvature of the last round: %w", err)
	}
	return c, nil
}

// EventFor returns the cost of the last round under an adjacency, against an observer
// to whom shares noise shares are unknown.
func (c *OneStep) EventFor(shares int, adjacency accountant.Adjacency) accountant.Event {
	return accountant.Composed{c.Gradient.EventFor(shares, adjacency), c.Curvature.EventFor(shares, adjacency)}
}

// OneStep returns what the last round comes to, nil if the study has none.
func (p *Protocol) OneStep() *OneStep { return p.oneStep }

// checkOneStep refuses sums of the last round that so many answers cannot yield.
func (p *Protocol) checkOneStep(gradient, curvature []int64, answers int) error {
	for _, part := range []struct {
		name string
		sum  []int64
		of   *dpmech.GaussianSum
	}{{"gradient", gradient, p.oneStep.Gradient}, {"curvature", curvature, p.oneStep.Curvature}} {
		if len(part.sum) != part.of.Dim() {
			return refuse("a %s of the last round has %d elements, want %d", part.name, len(part.sum), part.of.Dim())
		}
		most := part.of.MaxTotal() / int64(len(p.roster)) * int64(answers)
		for i, n := range part.sum {
			if n > most || n < -most {
				return refuse("element %d of a %s of the last round is beyond what %d answers can yield", i+1, part.name, answers)
			}
		}
	}
	return nil
}

// oneStepDigest is the identity of the last round at a λ; at any λ where machines may
// differ by rounding.
func oneStepDigest(p *Protocol, lambda []Wide) Digest {
	h := sha256.New()
	io.WriteString(h, "fedpvi/curvature/v1")
	h.Write(p.digest[:])
	if p.Summed() {
		lambda = nil
	}
	for _, w := range lambda {
		fmt.Fprintf(h, "%x,%x;", w.Hi, w.Lo)
	}
	return Digest(h.Sum(nil))
}
