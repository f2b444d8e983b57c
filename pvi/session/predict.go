package session

import (
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
)

// Conditional returns expected outcomes of made-up records that differ in one column only
// ([fit.Model.Conditional]). It returns nil in version 1 and for studies without intervals.
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

// Predict computes quantities of new records, such as predicted outcomes, from the posterior or the
// point estimate. The result is for the holder of the records only.
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
