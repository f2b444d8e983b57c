package session

import (
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
)

// Conditional shows how the expected outcome depends on each column: it returns the expected
// outcomes of made-up records in which one column varies ([fit.Model.Conditional]). It returns nil
// for a study of version 1, and for a study that reports no intervals.
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

// Predict computes the quantities of the model for new records, such as predicted outcomes. It uses
// draws from the posterior, or the point estimate if the study reports only that. The result
// depends on the records, so only the holder of the records may see it.
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
