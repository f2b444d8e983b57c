package pvi

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

func (p *Protocol) deriveModel() error {
	var err error
	if p.model, err = fit.New(p.study); err != nil {
		return err
	}
	if p.family, err = gaussian.New(p.study.Inference.Q, p.model.Dim()); err != nil {
		return err
	}
	p.coordinates = lambda.NewCoordinates(p.family, p.centred())
	if gaussian.Independent(p.family) && p.family.Size() > keptPrior {
		return p.model.CheckPrior()
	}
	p.prior, err = p.model.Prior(p.family)
	return err
}

// keptPrior is up to how many natural parameters those of a prior with independent coordinates are kept. More of
// them are made where they are wanted, of the few priors that coordinates have.
const keptPrior = 1 << 16

// Prior returns the natural parameters of the prior. It is not a copy.
func (p *Protocol) Prior() []float64 {
	if p.prior != nil {
		return p.prior
	}
	prior, err := p.model.Prior(p.family)
	if err != nil {
		panic("pvi: " + err.Error()) // unreachable: NewProtocol made one
	}
	return prior
}

// priorAt returns one of the natural parameters of the prior, as Prior does.
func (p *Protocol) priorAt(i int) float64 {
	if p.prior != nil {
		return p.prior[i]
	}
	d := p.family.Dim()
	h, precision := p.model.NaturalPrior(i % d)
	if i < d {
		return h
	}
	return precision
}

// changeClip is C of a change of natural parameters: as given, or half of the precision
// that a client with the nominal number of records of unit length would add; of one of
// its parts, if it has any.
func (p *Protocol) changeClip() float64 {
	if c := p.study.Privacy.Clip; c > 0 {
		return c
	}
	parts := max(1, p.study.Inference.Partitions.Count)
	return float64(p.study.Federation.NominalRecords) / float64(parts) * p.model.Curvature() / 2
}

// recordClip is C at datapoint level: as given, or half of the public bound on
// the norm of a record's statistics.
func (p *Protocol) recordClip() float64 {
	if c := p.study.Privacy.Clip; c > 0 {
		return c
	}
	return p.recordBound() / 2
}

// recordBound bounds the norm of a record's natural parameters: of its statistics if
// the model is conjugate, else roughly and on the safe side.
func (p *Protocol) recordBound() float64 {
	squares, fourths := p.study.RegressorBounds()
	if linear := p.model.Linear(); linear != nil {
		return linear.StatisticsBound(squares, fourths, p.study.OutcomeBound())
	}
	return p.model.RecordBound()
}

// checkShard refuses records that no client of the study has. A shard without records is
// refused unless the unit is the record: then whether there is any is itself private, and
// noise alone is a right release.
func (p *Protocol) checkShard(s *shard.Shard) error {
	if s.Len() == 0 && p.study.Privacy.Unit != study.Record {
		return errors.New("the shard has no records")
	}
	if s.Len() > p.study.Federation.MaxRecords {
		return fmt.Errorf("the shard has more records than federation.max_records = %d", p.study.Federation.MaxRecords)
	}
	if nominal := p.study.Federation.NominalRecords; p.privateSize() && s.Len() < nominal {
		return fmt.Errorf("the shard has fewer records than federation.nominal_records = %d, for which batches of a fixed size were made: lower it", nominal)
	}
	if nominal := p.study.Federation.NominalRecords; p.publishedPropagation() && s.Len() != nominal {
		return fmt.Errorf("the shard has not federation.nominal_records = %d records, one for each step of a pass of the published form", nominal)
	}
	if want := p.model.Width(); s.Dim() != want {
		return fmt.Errorf("the shard has %d regressors, the model %d", s.Dim(), want)
	}
	return nil
}

// NewSite returns the site of a client with the given records, at the prior.
func (p *Protocol) NewSite(id ClientID, s *shard.Shard) (*Site, error) {
	if p.parts == nil && !p.Summed() {
		solver, err := p.NewSolver(s)
		if err != nil {
			return nil, err
		}
		return NewSolverSite(p, id, solver)
	}
	if err := p.checkShard(s); err != nil {
		return nil, err
	}
	site, err := newSite(p, id)
	if err != nil {
		return nil, err
	}
	if p.parts != nil {
		site.parts = newParts(p, s)
		return site, nil
	}
	site.gradients, err = p.newGradientSum(s)
	return site, err
}

// NewSolver returns the solver that the study names, for the records of one client,
// unless their gradients are summed or there is one for each of its parts.
func (p *Protocol) NewSolver(s *shard.Shard) (solver.Solver, error) {
	if err := p.checkShard(s); err != nil {
		return nil, err
	}
	if p.Summed() {
		return nil, errors.New(`with federation.opens = "sums" a client has no solver of its own: NewSite makes its site`)
	}
	if p.parts != nil {
		return nil, errors.New("the study has inference.partitions, and a solver for each of them: NewSite makes the site")
	}
	refine, err := p.newSolver(s)
	if err == nil && p.study.Inference.SplitPrior {
		refine = solver.SplitPrior(refine, len(p.roster.Clients))
	}
	return refine, err
}

func (p *Protocol) newSolver(s *shard.Shard) (solver.Solver, error) {
	in := p.study.Inference
	switch in.Solver {
	case study.Conjugate:
		return solver.NewConjugate(p.model.Linear(), s), nil
	case study.ClippedAnalytical:
		if in.Factors == study.Published {
			return solver.NewPublishedAnalytical(p.model.Linear(), s, p.records), nil
		}
		return solver.NewClippedAnalytical(p.model.Linear(), s, p.records), nil
	case study.DPSVI:
		return p.descentSolver(s)
	case study.DPSEP:
		return p.propagationSolver(s)
	}
	l, err := p.Likelihood(s)
	if err != nil {
		return nil, err
	}
	return solver.New(in.Solver, in.Ascent, l)
}

// weight returns by how many changes of one client λ moves if all that a plan asks
// answer alike.
func (p *Protocol) weight(plan *Plan) float64 {
	return math.Ldexp(float64(p.damping(plan.Number)), -dampingBits) * float64(len(plan.Participants))
}

// Likelihood returns what a client's records say about θ.
func (p *Protocol) Likelihood(s *shard.Shard) (solver.Likelihood, error) {
	return p.model.Likelihood(s, len(p.roster.Clients))
}
