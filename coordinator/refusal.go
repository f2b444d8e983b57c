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
	// errStopped is returned while the coordinator shuts down.
	errStopped = &transport.Refusal{Reason: transport.Unavailable, Text: "the coordinator is being stopped: try again when it is back"}
	// errStore is returned if the disk has failed. The call did not change anything.
	errStore = &transport.Refusal{Reason: transport.Unavailable, Text: "the coordinator cannot write its state: nothing was changed, try again later"}
	// errDestroyed is returned if an answer arrives after the study is over.
	errDestroyed = &transport.Refusal{Reason: transport.Ended, Text: "the key that opens answers was destroyed, as the study is over"}
	// errPeer is returned both to unknown callers and to callers that may not use the method, so
	// that they cannot tell which applies.
	errPeer = &transport.Refusal{Reason: transport.Denied, Text: "only for the clients of this study"}
)

// malformed refuses malformed bytes with a text that does not depend on them. If err says that
// another party signed the bytes, the reason is Denied, and otherwise Malformed.
func malformed(name string, err error) error {
	if errors.Is(err, signed.ErrSender) {
		return refuse(transport.Denied, "%s: %v", name, err)
	}
	return refuse(transport.Malformed, "%s: %v", name, err)
}

// count counts err for the metrics if it is a refusal, and returns it. A cancelled call does not
// count.
func (s *Study) count(method string, err error) error {
	var r *transport.Refusal
	if errors.As(err, &r) && !errors.Is(err, context.Canceled) {
		s.events.Refused(method, string(r.Reason))
	}
	return err
}
