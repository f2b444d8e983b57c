package dpmech

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"fedpvi/accountant"
)

// A ClipRule says how an [AdaptiveSum] moves its clip.
type ClipRule struct {
	// Quantile is γ in (0, 1): the clip moves to where this share of the
	// vectors is not clipped.
	Quantile float64

	// Rate is η > 0, the step of ln C when the clip begins to move, and Settled
	// in (0, Rate] the smallest. The step is Rate/(1 + s/2) but at least Settled, s
	// the number of times that the clip turned round (Kesten 1958), so that a
	// clip that is far off moves fast and one that has arrived averages the noise.
	// With Settled = Rate it is the rule of Andrew et al.
	Rate, Settled float64

	// Share in (0, 1) is the part of a release's μ² that the count takes.
	Share float64

	// Expected is the expected number of vectors in a sum: that of the clients, or
	// q·N for Poisson batches of N records. It must be public, so it is never
	// the realised number.
	Expected float64

	// Floor and Ceiling bound the clip. They are public, and needed: where no
	// vector has a norm that a clip could find, as with empty shards, the rule
	// would go on until there is no lattice for the noise.
	Floor, Ceiling float64
}

// DefaultClipRule returns the median of norms as target, a tenth of the budget
// for the count, and 2³⁰ times either way from start as limits.
func DefaultClipRule(start, expected float64) ClipRule {
	return ClipRule{
		Quantile: 0.5, Rate: 1, Settled: 0.05, Share: 0.1, Expected: expected,
		Floor: math.Ldexp(start, -30), Ceiling: math.Ldexp(start, 30),
	}
}

func (r ClipRule) check(start float64) error {
	var errs []error
	inside := func(name string, x, low, high float64) {
		if !(x > low && x < high) {
			errs = append(errs, fmt.Errorf("%s must lie in (%g, %g), got %g", name, low, high, x))
		}
	}
	inside("quantile", r.Quantile, 0, 1)
	inside("share of the count", r.Share, 0, 1)
	inside("rate", r.Rate, 0, 10)
	inside("expected number of vectors", r.Expected, 0, math.Inf(1))
	if !(r.Settled > 0 && r.Settled <= r.Rate) {
		errs = append(errs, fmt.Errorf("settled rate must lie in (0, %g], got %g", r.Rate, r.Settled))
	}
	if !(r.Floor > 0 && r.Floor <= start && start <= r.Ceiling) || math.IsInf(r.Ceiling, 0) {
		errs = append(errs, fmt.Errorf("clip %g must lie between a positive floor and a finite ceiling, got %g and %g", start, r.Floor, r.Ceiling))
	}
	return errors.Join(errs...)
}

// clipBits is the precision of log₂ of the clip: it moves by multiples of
// 2^-clipBits, so that machines agree on it to the last bit.
const clipBits = 16

// An AdaptiveSum is a [GaussianSum] whose clip C follows a quantile of the
// vectors' norms (Andrew, Thakkar, McMahan, Ramaswamy, "Differentially Private
// Learning with Adaptive Clipping", 2021). Every release has one element more
// than a vector: how many norms were at most C, less half of how many vectors
// there were. When a sum of releases was opened, Follow moves the clip,
//
//	C ← C·exp(−η(b̂ − γ)),  b̂ = ½ + count/Expected.
//
// # Guarantee
//
// With f = Share, a vector v adds (clip(v, C), ±C√(f/(1−f))), with + if ‖v‖ ≤ C.
// Its norm is at most C/√(1−f) = C', to which a GaussianSum clips it once more,
// in integers, and for which it makes the noise. So a vector that is added,
// removed or zeroed moves the sum by at most C', one that is replaced by 2C',
// and the cost is that GaussianSum's event. A vector that is not there adds zero
// to the count too, not −½.
//
// In the paper's terms: σ is the noise multiplier z of the release, the count
// is of ±½ with noise σ_b = z/(2√f), the vector's noise is
// σ_Δ·C = (z⁻² − (2σ_b)⁻²)^(-1/2)·C = z·C/√(1−f).
//
// The clip is a function of opened sums alone. An AdaptiveSum is not safe for
// concurrent use.
type AdaptiveSum struct {
	cfg   Config
	rule  ClipRule
	state clipState
	inner *GaussianSum
	clip  float64
	row   []float64
}

// clipState is what follows from the sums that were opened.
type clipState struct {
	Steps  int64 // log₂(C/start) in units of 2^-clipBits
	Turns  int   // how often the clip turned round
	Rising int   // the sign of its last move, 0 at first
	Sums   int   // that were followed
}

// NewAdaptiveSum returns a mechanism whose clip begins at cfg.Clip. cfg.Dim is that
// of a vector; a release has one element more.
func NewAdaptiveSum(cfg Config, rule ClipRule) (*AdaptiveSum, error) {
	if err := errors.Join(cfg.check(), rule.check(cfg.Clip)); err != nil {
		return nil, fmt.Errorf("adaptive sum: %w", err)
	}
	a := &AdaptiveSum{cfg: cfg, rule: rule, row: make([]float64, cfg.Dim+1)}
	for _, clip := range []float64{rule.Floor, rule.Ceiling, cfg.Clip} { // the last one stays
		if err := a.set(clip); err != nil {
			return nil, fmt.Errorf("adaptive sum: with a clip of %g: %w", clip, err)
		}
	}
	return a, nil
}

// set makes the mechanism for a clip.
func (a *AdaptiveSum) set(clip float64) error {
	cfg := a.cfg
	cfg.Dim = a.cfg.Dim + 1
	cfg.Clip = a.norm(clip)
	inner, err := NewGaussianSum(cfg)
	if err != nil {
		return err
	}
	a.inner, a.clip = inner, clip
	return nil
}

// norm is C' for a clip C.
func (a *AdaptiveSum) norm(clip float64) float64 { return clip / math.Sqrt(1-a.rule.Share) }

// mark is what the norm of one vector adds to the count, up to its sign.
func (a *AdaptiveSum) mark() float64 { return a.norm(a.clip) * math.Sqrt(a.rule.Share) }

// Clip returns C as it is now.
func (a *AdaptiveSum) Clip() float64 { return a.clip }

// Sum returns the mechanism for the clip as it is now. It makes the noise, and
// states the cost of a release.
func (a *AdaptiveSum) Sum() *GaussianSum { return a.inner }

// Followed returns the number of sums that moved the clip.
func (a *AdaptiveSum) Followed() int { return a.state.Sums }

// EventFor returns an event that no release of a, whatever its clip, costs more than,
// against an observer to whom the given number of noise shares are unknown. A
// plan is accounted with it before the first release. The ratio of sensitivity
// to noise is that of the Config, which every lattice only rounds down, and the
// noise is that of the coarsest lattice.
func (a *AdaptiveSum) EventFor(shares int, adjacency accountant.Adjacency) accountant.Event {
	const sigma = 1 << (sigmaBits - 1)
	ratio := math.Sqrt(float64(a.cfg.Shares)) / a.cfg.NoiseMultiplier * (1 + 0x1p-48)
	return accountant.DiscreteGaussian{
		Sensitivity: ratio * sigma * adjacency.Factor(),
		Sigma:       sigma,
		Shares:      shares,
		Dim:         a.cfg.Dim + 1,
		Adjacency:   adjacency,
	}
}

// Event is EventFor the Config's shares and adjacency.
func (a *AdaptiveSum) Event() accountant.Event { return a.EventFor(a.cfg.Shares, a.cfg.Adjacency) }

// Release is [GaussianSum.Release]: dst and sum have one element more than a
// vector.
func (a *AdaptiveSum) Release(dst, sum []int64, src *Stream, query Query) error {
	return a.inner.Release(dst, sum, src, func(add func([]float64) error) error {
		return query(func(v []float64) error {
			if err := a.checkLength(v); err != nil {
				_ = add(nil) // no row: the release fails, also if query goes on
				return err
			}
			return add(a.encode(v))
		})
	})
}

// Draw draws the noise of one release with the clip as it is now.
func (a *AdaptiveSum) Draw(noise *Noise, src *Stream) { a.inner.Draw(noise, src) }

// ReleaseOne is [GaussianSum.ReleaseOne]. The noise must have been drawn for the
// clip as it is now.
func (a *AdaptiveSum) ReleaseOne(dst, sum []int64, noise *Noise, v []float64) error {
	if err := a.checkLength(v); err != nil {
		_ = a.inner.ReleaseOne(dst, sum, noise, nil) // no row either: it uses the noise up
		return err
	}
	return a.inner.ReleaseOne(dst, sum, noise, a.encode(v))
}

func (a *AdaptiveSum) checkLength(v []float64) error {
	if len(v) != a.cfg.Dim {
		return fmt.Errorf("adaptive sum: vector has %d elements, want %d", len(v), a.cfg.Dim)
	}
	return nil
}

// encode returns v, clipped, and the mark of its norm. It is for use, not for
// privacy, which rests on the inner sum's own clip. A v that is not finite is
// left as it is, for the inner sum to deal with.
func (a *AdaptiveSum) encode(v []float64) []float64 {
	d := a.cfg.Dim
	copy(a.row, v)
	a.row[d] = a.mark()
	norm := floats.Norm(v, 2)
	if norm <= a.clip || !finite(v) {
		return a.row
	}
	for i := range v {
		a.row[i] *= a.clip / norm
	}
	a.row[d] = -a.row[d]
	return a.row
}

// Fraction returns b̂, the estimate of the share of norms of at most the clip, from
// an opened sum of releases. Noise may carry it out of [0, 1].
func (a *AdaptiveSum) Fraction(total []int64) (float64, error) {
	if len(total) != a.cfg.Dim+1 {
		return 0, fmt.Errorf("adaptive sum: the total has %d elements, want %d", len(total), a.cfg.Dim+1)
	}
	count := a.inner.Lattice().Float(total[a.cfg.Dim]) / a.mark() / 2
	return 0.5 + float64(count/a.rule.Expected), nil
}

// Follow moves the clip after a sum of releases was opened. All that know the
// opened sums have the same clip.
func (a *AdaptiveSum) Follow(total []int64) error {
	b, err := a.Fraction(total)
	if err != nil {
		return err
	}
	s := a.state
	s.Sums++
	excess := b - a.rule.Quantile
	rising := 0
	switch {
	case excess < 0:
		rising = 1
	case excess > 0:
		rising = -1
	}
	if rising*s.Rising < 0 {
		s.Turns++
	}
	if rising != 0 {
		s.Rising = rising
	}
	rate := max(a.rule.Settled, a.rule.Rate/(1+float64(s.Turns)/2))
	move := float64(rate*excess) / math.Ln2 * (1 << clipBits)
	const most = 1 << 40 // beyond it the limits decide
	s.Steps -= int64(math.Round(min(max(move, -most), most)))
	return a.restore(s)
}

// restore sets the clip that a state asks for, within its limits.
func (a *AdaptiveSum) restore(s clipState) error {
	low, high := a.limits()
	s.Steps = min(max(s.Steps, low), high)
	if err := a.set(a.at(s.Steps)); err != nil {
		return fmt.Errorf("adaptive sum: with a clip of %g: %w", a.at(s.Steps), err)
	}
	a.state = s
	return nil
}

// limits returns the least and the most steps for which the clip is not below the
// floor and not above the ceiling.
func (a *AdaptiveSum) limits() (low, high int64) {
	steps := func(limit float64) float64 { return math.Log2(limit/a.cfg.Clip) * (1 << clipBits) }
	// One further, lest a machine's logarithm decides.
	low, high = int64(math.Floor(steps(a.rule.Floor)))-1, int64(math.Ceil(steps(a.rule.Ceiling)))+1
	for a.at(low) < a.rule.Floor {
		low++
	}
	for a.at(high) > a.rule.Ceiling {
		high--
	}
	return low, high
}

// at returns the clip that is steps away from the start: a product of square
// roots of square roots of 2, which is the same on every machine.
func (a *AdaptiveSum) at(steps int64) float64 {
	clip := math.Ldexp(a.cfg.Clip, int(steps>>clipBits))
	root := 2.0
	for bit := clipBits - 1; bit >= 0; bit-- {
		root = math.Sqrt(root)
		if steps>>bit&1 == 1 {
			clip *= root
		}
	}
	return clip
}

// MarshalBinary returns where the clip is, which is public.
func (a *AdaptiveSum) MarshalBinary() ([]byte, error) { return json.Marshal(a.state) }

// Restore sets the clip to a state that MarshalBinary returned for the same
// Config and rule.
func (a *AdaptiveSum) Restore(state []byte) error {
	var s clipState
	if err := json.Unmarshal(state, &s); err != nil {
		return fmt.Errorf("adaptive sum: restoring: %w", err)
	}
	low, high := a.limits()
	if s.Steps < low || s.Steps > high || s.Turns < 0 || s.Turns > s.Sums || s.Rising < -1 || s.Rising > 1 {
		return errors.New("adaptive sum: restoring: the state does not belong to this rule")
	}
	return a.restore(s)
}
