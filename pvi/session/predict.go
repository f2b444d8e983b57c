package session

import (
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
)

// Conditional returns the expected outcomes of made-up records in which one column varies
// ([fit.Model.Conditional]). It returns nil in version 1, and for a study without intervals.
func (p *Posterior) Conditional() (*fit.Conditional, error) {
	if p.Marginals == nil || p.model == nil || p.model.Study.Version == 1 {
		return nil, nil
	}
	family, natural, err := p.gaussian()
	if err != nil {
		return nil, err
	}
	return p.model.Conditional(p.model.Draws(family, natural))
}

// Predict computes the quantities of new records, such as predicted outcomes, from the posterior or
// the point estimate. Only the holder of the records may see the result.
func (p *Posterior) Predict(records *shard.New) (*fit.Predicted, error) {
	if p.Estimates != nil {
		return p.model.PredictNew(records, fit.At(p.Result.Mean))
	}
	family, natural, err := p.gaussian()
	if err != nil {
		return nil, err
	}
	return p.model.PredictNew(records, p.model.Draws(family, natural))
}
