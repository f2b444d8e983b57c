package lastround

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"slices"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/onestep"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// A Round is the last round of a study with a one-step posterior, in which every client releases
// the gradient and the curvature of its log likelihood at the mean of the final q. It is immutable.
//
// # The release
//
// A release consists of two sums over the client's records:
//
//   - the sum of the gradients, each clipped to the norm C of the descent;
//   - the sum of the information matrices w·x xᵀ, packed so that the L2 norm is the Frobenius
//     norm. The vector x holds the regressors of the record, and w is the information of its
//     outcome about the linear predictor. Each matrix is clipped to a public bound on its norm:
//     the largest possible w times the bound on ‖x‖².
//
// Adding or removing a record changes each sum by at most its clip, and adding or removing a person
// with k rows by at most k clips (see [dpmech.Config]). If the study protects persons, C is the
// clip for the sum over a person's rows, and the gradient of one row is clipped to C/√k. Both sums
// get Gaussian noise. Their point is a function of earlier releases, so their cost composes with
// that of the rounds.
type Round struct {
	Shares    [3]float64 // shares of the privacy budget: rounds, gradient and curvature
	Gradient  *dpmech.GaussianSum
	Curvature *dpmech.GaussianSum

	roster phase.Roster
	model  *fit.Model
}

// A Setting holds the public numbers from which a last round is derived.
type Setting struct {
	Study       *study.Study
	Roster      phase.Roster
	Model       *fit.Model
	NoiseShares int // noise shares that together hide a record

	// Steps, Rate and Clip describe the private steps of the rounds: their number, the sampling
	// rate, and the clip of a record's gradient.
	Steps int
	Rate  float64
	Clip  float64
}

// Default shares of the privacy budget for the rounds, the gradient and the curvature. largeShares
// is for ε above largeEpsilon, where the noise in the curvature matters less.
var (
	defaultShares = [3]float64{0.25, 0.50, 0.25}
	largeShares   = [3]float64{0.25, 0.60, 0.15}
)

const largeEpsilon = 1

// New derives the last round of a study. multiplier is the noise multiplier σ of the private steps.
// New chooses the noise so that rounds, gradient and curvature cost their shares of the budget,
// where steps over batches with rate q count as steps over all records with multiplier σ/q.
func New(s Setting, multiplier float64) (*Round, error) {
	bound, err := s.Model.InformationBound()
	if err != nil {
		return nil, fmt.Errorf("inference.noise_aware = %q: %w: write %q", study.OneStep, err, study.ClosedForm)
	}
	r := &Round{Shares: s.Study.Inference.NoiseAwareShares, roster: s.Roster, model: s.Model}
	if r.Shares[0] == 0 {
		r.Shares = defaultShares
		if s.Study.Privacy.Epsilon > largeEpsilon {
			r.Shares = largeShares
		}
	}
	unit := multiplier * math.Sqrt(r.Shares[0]) / (s.Rate * math.Sqrt(float64(s.Steps)))
	rows := float64(s.Study.Privacy.Rows())
	cfg := dpmech.Config{
		Dim: s.Model.Dim(), Clip: s.Clip / math.Sqrt(rows), NoiseMultiplier: rows * unit / math.Sqrt(r.Shares[1]),
		Shares: s.NoiseShares, Terms: s.Study.Federation.MaxRecords, Releases: len(s.Roster.Clients),
		Adjacency: s.Study.Privacy.Adjacency,
		PerUnit:   s.Study.Privacy.Rows() * s.Study.Holders(len(s.Roster.Clients)),
	}
	if r.Gradient, err = dpmech.NewGaussianSum(cfg); err != nil {
		return nil, fmt.Errorf("the gradient of the last round: %w", err)
	}
	cfg.Dim, cfg.Clip, cfg.NoiseMultiplier = onestep.Size(s.Model.Dim()), bound, rows*unit/math.Sqrt(r.Shares[2])
	if r.Curvature, err = dpmech.NewGaussianSum(cfg); err != nil {
		return nil, fmt.Errorf("the curvature of the last round: %w", err)
	}
	return r, nil
}

// EventFor returns the cost of the last round under an adjacency. shares is the number of noise
// shares that the observer cannot subtract.
func (r *Round) EventFor(shares int, adjacency accountant.Adjacency) accountant.Event {
	return accountant.Composed{r.Gradient.EventFor(shares, adjacency), r.Curvature.EventFor(shares, adjacency)}
}

// Limit returns the largest absolute value of an element of one release.
func (r *Round) Limit() int64 {
	return max(r.rangeOf(r.Gradient).Of(1), r.rangeOf(r.Curvature).Of(1))
}

func (r *Round) rangeOf(m *dpmech.GaussianSum) dpmech.Range {
	return phase.RangeOf(r.model.Study, m, len(r.roster.Clients))
}

// ReleasesSize returns the number of elements of the releases of all clients, or 0 if outcomes have
// none. See [phase.Publishes].
func (r *Round) ReleasesSize() int {
	if !phase.Publishes(r.model.Study, len(r.roster.Clients), r.Size()) {
		return 0
	}
	return len(r.roster.Clients) * r.Size()
}

// Fetched reports whether readers fetch the releases separately because they are too long for the
// outcome. See [phase.Fetched].
func (r *Round) Fetched() bool {
	return phase.Fetched(r.model.Study, len(r.roster.Clients), r.Size())
}

// checkReleases refuses an outcome whose releases do not add up to its sums.
func (r *Round) checkReleases(o *Outcome) error {
	if o.Gradient == nil || r.ReleasesSize() == 0 {
		if o.Releases != nil {
			return phase.Refuse("the outcome of the last round has releases, which this study does not publish")
		}
		return nil
	}
	return phase.CheckReleases("the last round", o.Releases, slices.Concat(o.Gradient, o.Curvature), len(o.Participants), r.Limit())
}

// Size returns the number of elements of a release: the gradient and the curvature.
func (r *Round) Size() int { return r.Gradient.Dim() + r.Curvature.Dim() }

func (r *Round) check(gradient, curvature []int64, answers int) error {
	for _, part := range []struct {
		name string
		sum  []int64
		of   *dpmech.GaussianSum
	}{{"gradient", gradient, r.Gradient}, {"curvature", curvature, r.Curvature}} {
		if len(part.sum) != part.of.Dim() {
			return phase.Refuse("a %s of the last round has %d elements, want %d", part.name, len(part.sum), part.of.Dim())
		}
		most := r.rangeOf(part.of).Of(answers)
		for i, n := range part.sum {
			if n > most || n < -most {
				return phase.Refuse("element %d of a %s of the last round is beyond what %d answers can yield", i+1, part.name, answers)
			}
		}
	}
	return nil
}

// A Start is the state at the end of the rounds.
type Start struct {
	Protocol phase.Digest
	Lambda   []lambda.Wide
	Point    []float64 // θ̃, the mean of the final q
	// Exact is true if all machines compute the same bits of λ and Point.
	Exact bool
}

// digest identifies the last round. It covers λ only if all machines compute the same bits.
func (s *Start) digest() phase.Digest {
	h := sha256.New()
	io.WriteString(h, "fedpvi/curvature/v1")
	h.Write(s.Protocol[:])
	if s.Exact {
		for _, w := range s.Lambda {
			fmt.Fprintf(h, "%x,%x;", w.Hi, w.Lo)
		}
	}
	return phase.Digest(h.Sum(nil))
}
