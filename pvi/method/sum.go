package method

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/shard"
)

// A Sum is the base of methods that use one [dpmech.GaussianSum] for all releases. It computes
// their cost.
type Sum struct {
	*Setting
	Sending
	mechanism *dpmech.GaussianSum
	releases  int
}

// Sending is embedded in methods and describes their messages. Its CheckShard accepts all records.
type Sending struct{ messages Messages }

// NewSum returns the base of a method whose clients use the mechanism for cfg as often as releases
// says.
func (s *Setting) NewSum(cfg dpmech.Config, releases int) (*Sum, error) {
	cfg.Adjacency = s.Study.Privacy.Adjacency
	m, err := dpmech.NewGaussianSum(cfg)
	if err != nil {
		return nil, fmt.Errorf("%w (a release is a client's answer, a vector a record's statistics, or the change of a client or of a part of its records)", err)
	}
	return &Sum{Setting: s, mechanism: m, releases: releases}, nil
}

// SetMessages sets the description of the messages and returns err, so that one can pass it both
// results of a function. Sending must not be used before.
func (s *Sending) SetMessages(m Messages, err error) error {
	s.messages = m
	return err
}

// Messages implements [Method].
func (s *Sending) Messages() Messages { return s.messages }

// Mechanism implements [Single].
func (s *Sum) Mechanism() *dpmech.GaussianSum { return s.mechanism }

// Noise implements [Method].
func (s *Sum) Noise() Noise { return NoiseOf(s.mechanism) }

// Releases implements [Method].
func (s *Sum) Releases() int { return s.releases }

// ReleasesAfter implements [Method].
func (s *Sum) ReleasesAfter(rounds int) int { return min(rounds, s.releases) }

// Event implements [Method].
func (s *Sum) Event(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return accountant.Repeated{Event: s.mechanism.EventFor(shares, adjacency), Times: releases}, nil
}

// Increment implements [Method].
func (s *Sum) Increment(shares int, adjacency accountant.Adjacency, from, to int) (accountant.Event, error) {
	return accountant.Repeated{Event: s.mechanism.EventFor(shares, adjacency), Times: to - from}, nil
}

// CheckShard implements [Method].
func (s *Sending) CheckShard(*shard.Shard) error { return nil }
