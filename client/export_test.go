package client

import (
	"fedpvi/client/ledger"
	"fedpvi/dpmech"
)

// SeedNoise makes a client draw the noise for each plan from the stream that the function noise
// returns.
func (c *Client) SeedNoise(noise func(ask int) *dpmech.Stream) { c.noise = noise }

// Halted returns an error if this copy of the state must not be used any more, and nil
// otherwise.
func (c *Client) Halted() error { return c.halted() }

// Forget removes a part of a study's state.
func (c *Client) Forget(of ledger.Hash, part string) error {
	return c.store.Save(ledger.Change{Study: of, Parts: map[string][]byte{part: nil}})
}

// Missed returns the reasons why charged answers were not accepted, by plan.
func (c *Client) Missed(of ledger.Hash) (map[uint64]string, error) {
	var at position
	err := c.get(of, positionPart, &at)
	return at.Missed, err
}

// EntryPart is the name under which the state keeps the envelope of an entry.
func EntryPart(number uint64) string { return entryPart(number) }
