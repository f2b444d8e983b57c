package sim

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/model"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
	"fedpvi/sim/chain"
)

// A Reference is a posterior that is computed from the pooled records without privacy. No
// federation could compute it. It is the exact posterior if the model is conjugate, and
// otherwise the Gaussian that the study's approximation finds in its family.
type Reference struct {
	family  gaussian.Family
	Natural []float64 // natural parameters, in the layout of gaussian.Full if Exact is true, else of the study's family
	Exact   bool
	Method  string // description of the method for people
}

// ExactReference is the Method of a reference that is the exact posterior.
const ExactReference = "the exact posterior"

// NewReference fits the pooled records of all shards. If the study requests a Markov chain,
// NewReference starts the chain at this fit and returns the moments of the chain.
func NewReference(p *pvi.Protocol, shards []*shard.Shard) (*Reference, error) {
	r, err := newPooled(p, shards)
	if err != nil || r.Exact || !p.Study().Simulation.Chain {
		return r, err
	}
	return newChain(p, shards, r)
}

func newPooled(p *pvi.Protocol, shards []*shard.Shard) (*Reference, error) {
	if linear := p.Model().Linear(); linear != nil && p.Study().Inference.Solver != study.Laplace {
		return newExact(linear, shards)
	}
	r := &Reference{family: p.Family(), Natural: make([]float64, p.Family().Size()), Method: "variational inference with the same family of q"}
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
	if r.family.Name() == "diagonal" && !point && !p.Model().General() && solver.PooledDiagonal(r.Natural, p.Prior(), all) {
		return r, nil
	}
	if err := solver.Pooled(r.Natural, p.Prior(), r.family, all, point); err != nil {
		return nil, fmt.Errorf("fit of the pooled records: %w", err)
	}
	return r, nil
}

// stochastic reports whether the pooled fit uses stochastic gradients. It uses them if the
// federation does and the model has no closed expectations, or if the federation uses private
// steps and the model has groups.
func stochastic(p *pvi.Protocol) bool {
	switch p.Study().Inference.Solver {
	case study.SVI:
		return p.Model().General()
	case study.DPSVI, study.DPSEP:
		return p.Model().General() || len(p.Study().Model.Groups) > 0
	}
	return false
}

// leastClimb is the minimum number of rounds of the pooled fit if the study uses private steps.
const leastClimb = 5

// climb fits the pooled records with the study's solver, as if one client had all records.
func (r *Reference) climb(p *pvi.Protocol, all []solver.Likelihood) error {
	ascent, rounds := p.Study().Inference.Ascent, p.Study().Inference.Rounds
	if ascent.Steps == 0 {
		ascent = study.DefaultAscent // the study's solver is private, so the default solver replaces it
		if rounds < leastClimb {     // too few rounds for a solver without privacy
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

// newChain returns the normal distribution with the moments of the posterior. A Markov chain
// around the pooled fit estimates the moments.
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

// KL returns KL(q‖reference) for a q in the given family.
func (r *Reference) KL(family gaussian.Family, natural []float64) (float64, error) {
	if !r.Exact {
		return r.family.KL(natural, r.Natural)
	}
	return r.family.KL(widen(family, natural), r.Natural)
}

// In returns the natural parameters of the reference in a family. If the reference is exact and
// the family is diagonal, they are those of the mean-field posterior, which has the mean of the
// reference and the diagonal of its precision.
func (r *Reference) In(family gaussian.Family) []float64 {
	if !r.Exact {
		return r.Natural
	}
	d := family.Dim()
	mean := make([]float64, d)
	if err := r.family.Mean(mean, r.Natural); err != nil {
		panic("sim: " + err.Error()) // unreachable, because newExact has checked the parameters
	}
	in := make([]float64, family.Size())
	family.ProjectLikelihood(in, r.Natural, mean)
	return in
}
