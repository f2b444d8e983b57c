package pvi

import (
	"errors"
	"fmt"

	"fedpvi/pvi/lastround"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// lastRounds returns the study's last round, or nothing if the study has none. multiplier is the
// noise multiplier of the private steps, which determines the noise.
func (p *Protocol) lastRounds(multiplier float64) ([]*lastround.Round, error) {
	if p.study.Inference.NoiseAware != study.OneStep {
		return nil, nil
	}
	d := p.method.(method.Stepped).Steps()
	r, err := lastround.New(lastround.Setting{
		Study: p.study, Roster: p.roster, Model: p.model, NoiseShares: p.setting.Shares(),
		Steps: d.Total, Rate: d.Rate, Clip: d.Clip,
	}, multiplier)
	return []*lastround.Round{r}, err
}

var (
	errNoLastRound = errors.New("the study asks for no last round: inference.noise_aware is not \"one-step\"")
	errTooEarly    = errors.New("the last round comes after all others, some of which have no outcome yet")
)

// LastRound returns the state machine with which the coordinator runs the last round. All plans of
// the rounds must have outcomes.
func (s *Server) LastRound() (*lastround.Server, error) {
	p := s.protocol
	switch {
	case len(p.after) == 0:
		return nil, errNoLastRound
	case !s.Done():
		return nil, errTooEarly
	}
	return lastround.NewServer(p.after[0], p.startOfLast(s.q)), nil
}

// LastRound returns the state machine with which a client with the given records takes part in the
// last round. The site must have applied the outcomes of all plans.
func (s *Site) LastRound(records *shard.Shard) (*lastround.Site, error) {
	p := s.protocol
	switch {
	case len(p.after) == 0:
		return nil, errNoLastRound
	case !s.Done():
		return nil, fmt.Errorf("client %s: %w", s.id, errTooEarly)
	}
	if err := p.checkShard(records); err != nil {
		return nil, fmt.Errorf("client %s: %w", s.id, err)
	}
	return lastround.NewSite(p.after[0], p.startOfLast(s.q), s.id, records, p.method.Releases()-s.Releases()), nil
}

func (p *Protocol) startOfLast(q *posterior) lastround.Start {
	return lastround.Start{Protocol: p.digest, Lambda: q.lambda, Point: q.mean(), Exact: p.method.Exact()}
}
