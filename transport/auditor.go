package transport

import (
	"context"
	"net"
	"slices"

	"google.golang.org/grpc/peer"

	"fedpvi/crypto/channel"
)

// An Auditor receives the connections and refused calls that an audit log contains. Its methods
// are called concurrently, and must be fast.
type Auditor interface {
	// Handshake reports a connection. The address is that of the client, even if the connection
	// comes from a load balancer. The server name selects a study; it is empty if the handshake
	// failed. The peer is zero if it is a guest or if the handshake failed.
	Handshake(from net.Addr, serverName string, peer channel.Party, err error)
	// Denied reports a call that was refused because of its caller or its form.
	Denied(from net.Addr, peer channel.Party, method string, reason string)
}

type unaudited struct{}

func (unaudited) Handshake(net.Addr, string, channel.Party, error) {}
func (unaudited) Denied(net.Addr, channel.Party, string, string)   {}

// denials are the outcomes of calls that are reported to an auditor. Other refusals, such as that
// of a late answer, depend on the time that clients needed, and therefore on their records.
var denials = []string{string(Denied), string(Malformed), string(TooLarge), string(Version), string(Unknown)}

// audit reports a refused call.
func (s *Server) audit(ctx context.Context, party channel.Party, method, outcome string) {
	if p, ok := peer.FromContext(ctx); ok && slices.Contains(denials, outcome) {
		s.auditor.Denied(p.Addr, party, method, outcome)
	}
}

// AddressOf returns the address of the client that made a call, or nil if ctx does not belong to a
// call.
func AddressOf(ctx context.Context) net.Addr {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr
	}
	return nil
}
