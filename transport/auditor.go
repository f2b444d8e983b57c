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
	// Handshake reports a connection, or a handshake that failed with the error err. from is the
	// address of the client, even if the connection comes through a load balancer. serverName
	// selects a study. It is empty if the handshake failed. peer is zero if the handshake failed, or
	// if the peer is a guest, which has no certificate.
	Handshake(from net.Addr, serverName string, peer channel.Party, err error)
	// Denied reports a call of a method that was refused because of the caller or the form of the
	// call. reason is the text of a [Reason].
	Denied(from net.Addr, peer channel.Party, method string, reason string)
}

type unaudited struct{}

func (unaudited) Handshake(net.Addr, string, channel.Party, error) {}
func (unaudited) Denied(net.Addr, channel.Party, string, string)   {}

// denials are the outcomes of refused calls that are reported to an auditor. Other refusals are not
// reported. The refusal of a late answer, for example, depends on the time that a client needed,
// and therefore on the client's records.
var denials = []string{string(Denied), string(Malformed), string(TooLarge), string(Version), string(Unknown)}

// audit reports a call to the auditor if denials contains the outcome of the call.
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
