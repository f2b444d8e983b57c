package transport

import (
	"math"
	"net"
	"strconv"

	"fedpvi/crypto/secret"
	"fedpvi/transport/internal/wirepb"
)

// maxGossipKey bounds a key on the wire.
const maxGossipKey = 64

// say sets the fields of a standing about gossip.
func (g Gossip) say(m *wirepb.StandingResponse) {
	_, port, err := net.SplitHostPort(g.Address)
	if err != nil {
		return // there is none
	}
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		m.SetGossipPort(uint32(n))
		m.SetGossipKey(g.Key.Reveal())
	}
}

// gossip returns the address and key of the coordinator's gossip in a response. It returns a zero
// Gossip if the fields are invalid. An error is not necessary because no decision depends on
// gossip.
func (c *Client) gossip(m *wirepb.StandingResponse) Gossip {
	port, key := m.GetGossipPort(), m.GetGossipKey()
	host, _, err := net.SplitHostPort(c.config.Address)
	if err != nil || port == 0 || port > math.MaxUint16 || len(key) == 0 || len(key) > maxGossipKey {
		return Gossip{}
	}
	return Gossip{Address: net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10)), Key: secret.New(key)}
}
