package session

import (
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
)

// Conditional returns the expected outcomes of made-up records ([fit.Model.Conditional]). It
// returns nil for a study of version 1, and for a study that reports no intervals.
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

// Predict returns the quantities of new records under the posterior, or at the point estimate if
// the study reports only point estimates. The result depends on the records, so only the holder of
// the records may see it.
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
