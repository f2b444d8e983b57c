package client

import (
	"fedpvi/client/ledger"
	"fedpvi/dpmech"
)

// SeedNoise makes a client draw the noise of a question from a stream that a test gives it.
// Only tests can.
func (c *Client) SeedNoise(noise func(ask int) *dpmech.Stream) { c.noise = noise }

// Halted returns why the state must not be used any more.
func (c *Client) Halted() error { return c.halted() }

// Forget removes a part of the state of a study.
func (c *Client) Forget(of ledger.Hash, part string) error {
	return c.store.Save(ledger.Change{Study: of, Parts: map[string][]byte{part: nil}})
}
