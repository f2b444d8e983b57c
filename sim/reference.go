package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/hierarchy"
	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
	"fedpvi/sim/chain"
)

// A Reference is the posterior of the pooled records without privacy, which no real federation
// could compute. It is exact if the model is conjugate. Otherwise it is a Gaussian approximation,
// which Method describes.
type Reference struct {
	family gaussian.Family
	// Natural holds the natural parameters, in the layout of family.
	Natural []float64
	Exact   bool
	Method  string // description of the method for people
}

// ExactReference is the value of [Reference.Method] for an exact posterior.
const ExactReference = "the exact posterior"

// NewReference fits the pooled records of all shards. It stops when the fit converges, when stop
// (which may be nil) returns true, or after a maximum number of steps. If the study asks for a
// Markov chain, the chain starts at the mean of this fit, and the reference is the normal
// distribution with the chain's moments.
func NewReference(p *pvi.Protocol, shards []*shard.Shard, stop func() bool) (*Reference, error) {
	r, err := newPooled(p, shards, stop)
	if err != nil || r.Exact || !p.Study().Simulation.Chain {
		return r, err
	}
	return newChain(p, shards, r)
}

func newPooled(p *pvi.Protocol, shards []*shard.Shard, stop func() bool) (*Reference, error) {
	if linear := p.Model().Linear(); linear != nil && p.Study().Inference.Solver != study.Laplace {
		return newExact(linear, shards)
	}
	r := &Reference{family: p.Family(), Method: "variational inference with the same family of q"}
	if p.Model().Centred() {
		r.Natural, r.Method = make([]float64, p.Family().Size()), "Laplace's approximation, averaged over the spreads of groups"
		return r, r.average(p, shards)
	}
	prior := p.Prior()
	if widens(p) {
		r.family, r.Method = gaussian.Full(p.Model().Dim()), "variational inference with a full covariance"
		var err error
		if prior, err = p.Model().Prior(r.family); err != nil {
			return nil, err
		}
	}
	r.Natural = slices.Clone(prior)
	point := p.Study().Inference.Solver == study.Laplace
	if point {
		r.Method = "Laplace's approximation"
	}
	var all []solver.Likelihood
	for _, s := range shards {
		l, err := p.Likelihood(s)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	if stochastic(p) {
		r.Method = "stochastic variational inference with the same family of q"
		return r, r.climb(p, all)
	}
	if r.family.Name() == "diagonal" && !point && !p.Model().General() && solver.PooledDiagonal(r.Natural, prior, all) {
		return r, nil
	}
	r.fit(prior, all, point, stop)
	return r, nil
}

// widestFit is the maximum number of parameters for which the pooled fit has a full covariance
// although q is diagonal.
const widestFit = 1000

// widens reports whether the pooled fit has a full covariance although q is diagonal. This applies
// from version 2 of the study language on, to regressions with at most widestFit parameters.
func widens(p *pvi.Protocol) bool {
	return p.Study().Version > 1 && p.Family().Name() == "diagonal" && !p.Model().General() && p.Model().Dim() <= widestFit
}

// fit sets r to the fit of the pooled records. If the search does not converge, r is the best q
// found, and if the search fails, r is the prior. r.Method then says so.
func (r *Reference) fit(prior []float64, all []solver.Likelihood, point bool, stop func() bool) {
	err := solver.Pooled(r.Natural, prior, r.family, all, point, stop)
	switch {
	case errors.Is(err, solver.ErrUnsettled):
		r.Method += " (unfinished: " + err.Error() + ")"
	case err != nil:
		copy(r.Natural, prior)
		r.Method = "no fit, so that the reference is the prior: " + err.Error()
	}
}

// stochastic reports whether the pooled fit takes stochastic gradient steps. For a general model
// ([fit.Model.General]) it does if the study's solver does. For a model with groups it does if the
// solver's steps are private and widens is false.
func stochastic(p *pvi.Protocol) bool {
	switch p.Study().Inference.Solver {
	case study.SVI:
		return p.Model().General()
	case study.DPSVI, study.DPSEP:
		return p.Model().General() || len(p.Study().Model.Groups) > 0 && !widens(p)
	}
	return false
}

const (
	mostScorings = 200
	// near and scored limit the squared length of a step, in posterior sds. After a step shorter
	// than near, average no longer changes the region of spreads over which it integrates. After a
	// step shorter than scored, it stops.
	near, scored = 1e-3, 1e-10
)

// average sets r to a posterior that is computed at its own mean. At any point θ, the gradient and
// the Fisher information of the pooled records define a normal likelihood. average looks for the θ
// that is the posterior mean under its own likelihood. For a linear regression with known noise,
// this likelihood is exact, and the only approximation is that the result is normal.
func (r *Reference) average(p *pvi.Protocol, shards []*shard.Shard) error {
	m := p.Model()
	prior, order := m.Hierarchy()
	d := len(prior.Mean)
	theta := make([]float64, m.Dim())
	for i, mean := range prior.Mean {
		theta[order[i]] = mean
	}
	var all []*solver.Regression
	for _, s := range shards {
		all = append(all, m.Regression(s))
	}
	length, before := 1.0, math.Inf(1)
	var region hierarchy.Region
	for range mostScorings {
		l := &hierarchy.Likelihood{Precision: mat.NewSymDense(d, nil), Linear: make([]float64, d)}
		for _, one := range all {
			gradient, information, err := one.Score(theta)
			if err != nil {
				return fmt.Errorf("fit of the pooled records: %w", err)
			}
			for i, a := range order[:d] {
				l.Linear[i] += gradient[a]
				for j, b := range order[:d] {
					l.Linear[i] += information.At(a, b) * theta[b]
					if j >= i {
						l.Precision.SetSym(i, j, l.Precision.At(i, j)+information.At(a, b))
					}
				}
			}
		}
		// After a short step, keep the region of integration over the spreads. If every step
		// changed it, the mean would change slightly each time, and the search would never end.
		if before > near {
			var err error
			if region, err = prior.Region(l); err != nil {
				return fmt.Errorf("fit of the pooled records: %w", err)
			}
		}
		mean, cov, err := prior.Posterior(l, region, 4*prior.Points(), 0)
		if err != nil {
			return fmt.Errorf("fit of the pooled records: %w", err)
		}
		var moved float64
		for i, a := range order[:d] {
			moved += (mean[i] - theta[a]) * (mean[i] - theta[a]) / cov.At(i, i)
		}
		if moved < scored {
			return r.take(mean, cov, order)
		}
		if moved > before {
			length /= 2 // the last step was too long
		}
		before = moved
		step := length
		for i, a := range order[:d] {
			step = min(step, m.Parameters.Prior(a).SD/math.Abs(mean[i]-theta[a]))
		}
		for i, a := range order[:d] {
			theta[a] += step * (mean[i] - theta[a])
		}
	}
	return errors.New("fit of the pooled records: it has not converged")
}

// take sets the reference to the normal distribution with the given moments. order[i] is the index
// in θ of coordinate i of the moments.
func (r *Reference) take(mean []float64, cov *mat.SymDense, order []int) error {
	theta, wide := make([]float64, len(order)), mat.NewSymDense(len(order), nil)
	for i, a := range order {
		theta[a] = mean[i]
		for j, b := range order[:i+1] {
			wide.SetSym(a, b, cov.At(i, j))
		}
	}
	return r.family.FromMoments(r.Natural, theta, wide)
}

// leastClimb is the minimum number of rounds in climb if the study's solver is private.
const leastClimb = 5

// climb fits the pooled records with the study's solver, as if a single client had all of them.
func (r *Reference) climb(p *pvi.Protocol, all []solver.Likelihood) error {
	ascent, rounds := p.Study().Inference.Ascent, p.Study().Inference.Rounds
	if ascent.Steps == 0 {
		ascent = study.DefaultAscent // the default solver replaces the study's private one
		// A private study has few rounds if its noise is large. For a fit without noise, they may
		// be too few.
		if rounds < leastClimb {
			ascent.Draws, rounds = (ascent.Draws+leastClimb-1)/leastClimb, leastClimb
		}
	}
	s := solver.NewSVI(solver.Together(all), ascent)
	copy(r.Natural, p.Prior())
	factor := make([]float64, len(r.Natural))
	stream := seeded.Stream(p.Study().Simulation.Seed, purposePooled)
	for range rounds {
		if _, err := s.Propose(factor, solver.Problem{Family: r.family, Natural: r.Natural, Cavity: p.Prior()}, stream); err != nil {
			return fmt.Errorf("fit of the pooled records: %w", err)
		}
		for i, prior := range p.Prior() {
			r.Natural[i] = prior + factor[i]
		}
	}
	return nil
}

func newExact(m *model.Linear, shards []*shard.Shard) (*Reference, error) {
	family := gaussian.Full(m.Dim())
	natural, err := m.Prior(family)
	if err != nil {
		return nil, err
	}
	for _, s := range shards {
		for i := range s.Len() {
			x, y := s.Record(i)
			m.AddStatistics(natural, x, y)
		}
	}
	if err := family.Check(natural); err != nil {
		return nil, fmt.Errorf("posterior of the pooled records: %w", err)
	}
	return &Reference{family: family, Natural: natural, Exact: true, Method: ExactReference}, nil
}

// newChain returns the normal distribution with the moments of the posterior, estimated by a Markov
// chain around the pooled fit.
func newChain(p *pvi.Protocol, shards []*shard.Shard, pooled *Reference) (*Reference, error) {
	if p.Model().General() || len(p.Study().Model.Groups) > 0 {
		return nil, errors.New(`simulation.reference = "markov-chain" is for regressions without groups: remove it`)
	}
	at, _, err := pooled.Moments()
	if err != nil {
		return nil, err
	}
	mean, cov, err := chain.Posterior(p.Model(), shards, at, variates(p.Study().Simulation.Seed, purposePooled))
	if err != nil {
		return nil, fmt.Errorf("posterior of the pooled records: %w", err)
	}
	family := gaussian.Full(len(mean))
	r := &Reference{family: family, Natural: make([]float64, family.Size()), Exact: true, Method: "a Markov chain that draws from the posterior itself"}
	return r, family.FromMoments(r.Natural, mean, cov)
}

// Moments returns the mean and the covariance of the reference.
func (r *Reference) Moments() (mean []float64, cov *mat.SymDense, err error) {
	return r.family.Moments(r.Natural)
}

// KL returns KL(q‖reference), for the natural parameters of q in the layout of family.
func (r *Reference) KL(family gaussian.Family, natural []float64) (float64, error) {
	if family.Name() == r.family.Name() {
		return r.family.KL(natural, r.Natural)
	}
	return gaussian.Full(family.Dim()).KL(widen(family, natural), widen(r.family, r.Natural))
}
