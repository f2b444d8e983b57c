package pvi

import (
	"fmt"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// checkShard returns an error if the shard does not fit the model or the method. It does not limit
// the number of records: a client that failed to start would reveal something about it.
func (p *Protocol) checkShard(s *shard.Shard) error {
	if err := p.method.CheckShard(s); err != nil {
		return err
	}
	if want := p.model.Width(); s.Dim() != want {
		return fmt.Errorf("the shard has %d regressors, the model %d", s.Dim(), want)
	}
	return nil
}

// Likelihood returns the likelihood of a client's records.
func (p *Protocol) Likelihood(s *shard.Shard) (solver.Likelihood, error) {
	return p.model.Likelihood(s, len(p.roster.Clients))
}
