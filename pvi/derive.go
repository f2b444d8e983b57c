package pvi

import (
	"errors"
	"fmt"

	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

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
	if err := p.method.CheckShard(s); err != nil {
		return err
	}
	if want := p.model.Width(); s.Dim() != want {
		return fmt.Errorf("the shard has %d regressors, the model %d", s.Dim(), want)
	}
	return nil
}

// Likelihood returns what a client's records say about θ.
func (p *Protocol) Likelihood(s *shard.Shard) (solver.Likelihood, error) {
	return p.model.Likelihood(s, len(p.roster.Clients))
}
