package client

import (
	"time"

	"fedpvi/client/ledger"
	"fedpvi/dpmech"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// SeedNoise makes a client draw its noise for each plan from the stream that noise returns.
func (c *Client) SeedNoise(noise func(ask int) *dpmech.Stream) { c.noise = noise }

// Halted returns an error if this copy of the state must no longer be used.
func (c *Client) Halted() error { return c.halted() }

// Forget removes a part of a study's state.
func (c *Client) Forget(of ledger.Hash, part string) error {
	return c.store.Save(ledger.Change{Study: of, Parts: map[string][]byte{part: nil}})
}

// Missed returns the reasons why charged answers were not accepted, keyed by plan number.
func (c *Client) Missed(of ledger.Hash) (map[uint64]string, error) {
	at, _, err := c.position(of)
	return at.Missed, err
}

// EntryPart returns the name under which the state keeps an entry's envelope.
func EntryPart(number uint64) string { return entryPart(number) }

// Stopwatch replaces the clock with which a client times its rehearsals.
func (c *Client) Stopwatch(clock func() time.Time) { c.stopwatch = clock }

// Limits returns a refusal if a study takes longer than the policy allows.
func (p *Policy) Limits(d Duration) error { return p.allowsHours(d) }

// Estimate returns the estimated computing time of a study on this machine.
func Estimate(st *study.Study, clients []pvi.ClientID) (Duration, error) {
	p, err := session.Public(st, clients)
	if err != nil {
		return Duration{}, err
	}
	l, err := leaves(st, clients, p)
	if err != nil {
		return Duration{}, err
	}
	return (&Client{stopwatch: time.Now}).estimate(st, p, l), nil
}
