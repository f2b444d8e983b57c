package transport

import (
	"math"
	"net"
	"strconv"

	"fedpvi/crypto/secret"
	"fedpvi/transport/internal/wirepb"
)

// maxGossipKey is the maximum length of a gossip key in a message, in bytes.
const maxGossipKey = 64

// say puts g into the gossip fields of a response.
func (g Gossip) say(m *wirepb.StandingResponse) {
	_, port, err := net.SplitHostPort(g.Address)
	if err != nil {
		return // the coordinator does not gossip
	}
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		m.SetGossipPort(uint32(n))
		m.SetGossipKey(g.Key.Reveal())
	}
}

// gossip returns the address and key of the coordinator's gossip. If they are not valid, it returns
// a zero Gossip and not an error, because no study depends on gossip.
func (c *Client) gossip(m *wirepb.StandingResponse) Gossip {
	port, key := m.GetGossipPort(), m.GetGossipKey()
	host, _, err := net.SplitHostPort(c.config.Address)
	if err != nil || port == 0 || port > math.MaxUint16 || len(key) == 0 || len(key) > maxGossipKey {
		return Gossip{}
	}
	return Gossip{Address: net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10)), Key: secret.New(key)}
}
