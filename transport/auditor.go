package transport

import (
	"context"
	"net"
	"slices"

	"google.golang.org/grpc/peer"

	"fedpvi/crypto/channel"
)

// An Auditor writes connections and refused calls to an audit log. Its methods are called
// concurrently. They must return quickly, because the server waits for them.
type Auditor interface {
	// Handshake reports a connection or, if err is not nil, a failed handshake. from is the
	// client's address, even if the client is behind a load balancer. serverName selects a study.
	// It is empty if the handshake failed. peer is zero if the handshake failed, and for a guest,
	// which has no certificate.
	Handshake(from net.Addr, serverName string, peer channel.Party, err error)
	// Denied reports a call that was refused because of its caller or its form. reason is the text
	// of a [Reason].
	Denied(from net.Addr, peer channel.Party, method string, reason string)
}

type unaudited struct{}

func (unaudited) Handshake(net.Addr, string, channel.Party, error) {}
func (unaudited) Denied(net.Addr, channel.Party, string, string)   {}

// denials are the refusals that the auditor hears about. Others may depend on records: a late
// answer, for example, shows how long a client took.
var denials = []string{string(Denied), string(Malformed), string(TooLarge), string(Version), string(Unknown)}

// audit reports a call to the auditor if its outcome is in denials.
func (s *Server) audit(ctx context.Context, party channel.Party, method, outcome string) {
	if p, ok := peer.FromContext(ctx); ok && slices.Contains(denials, outcome) {
		s.auditor.Denied(p.Addr, party, method, outcome)
	}
}

// AddressOf returns the address of the client that made a call. If ctx does not belong to a call,
// it returns nil.
func AddressOf(ctx context.Context) net.Addr {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr
	}
	return nil
}
