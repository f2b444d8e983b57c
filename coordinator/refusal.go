package coordinator

import (
	"context"
	"errors"
	"fmt"

	"fedpvi/crypto/signed"
	"fedpvi/transport"
)

func refuse(reason transport.Reason, format string, args ...any) error {
	return &transport.Refusal{Reason: reason, Text: fmt.Sprintf(format, args...)}
}

var (
	// errStopped is the answer of a coordinator that is shutting down.
	errStopped = &transport.Refusal{Reason: transport.Unavailable, Text: "the coordinator is being stopped: try again when it is back"}
	// errStore is the answer when the disk failed. What was asked for did not happen.
	errStore = &transport.Refusal{Reason: transport.Unavailable, Text: "the coordinator cannot write its state: nothing was changed, try again later"}
	// errPeer does not tell an unknown party from one that may not.
	errPeer = &transport.Refusal{Reason: transport.Denied, Text: "only for the clients of this study"}
)

// malformed refuses bytes for a reason whose text says nothing of them. What is right and
// of somebody else is not for this peer.
func malformed(what string, err error) error {
	if errors.Is(err, signed.ErrSender) {
		return refuse(transport.Denied, "%s: %v", what, err)
	}
	return refuse(transport.Malformed, "%s: %v", what, err)
}

// count tells the events that a call was refused.
func (s *Study) count(method string, err error) error {
	var r *transport.Refusal
	if errors.As(err, &r) && !errors.Is(err, context.Canceled) {
		s.events.Refused(method, string(r.Reason))
	}
	return err
}
