package pvi

import (
	"errors"
	"fmt"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// checkShard returns an error for records that no client of the study can have. It accepts an
// empty shard only if the privacy unit is the record. In that case the existence of records is
// private, and a client without records releases noise.
func (p *Protocol) checkShard(s *shard.Shard) error {
	if s.Len() == 0 && !p.study.Privacy.Unit.OfRecords() {
		return errors.New("the shard has no records")
	}
	if s.Len() > p.study.Federation.MaxRecords {
		return fmt.Errorf("the shard has more records than federation.max_records = %d", p.study.Federation.MaxRecords)
	}
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
