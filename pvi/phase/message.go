package phase

import (
	"encoding/hex"
	"fmt"
)

// A ClientID names a client.
type ClientID string

// A Digest identifies the settings of a phase on which server and sites have agreed. Every message
// and saved state contains it, so that a message for another roster is refused: its noise shares
// would be different.
type Digest [32]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// A Verdict is the result of a round, or of a pass of the scale phase.
type Verdict string

const (
	Accepted Verdict = "accepted" // the sum was opened, and λ or the scale changed
	Rejected Verdict = "rejected" // λ would not be a proper distribution and did not change
	Void     Verdict = "void"     // too few clients answered, and no sum was opened
)

// Refused is the error for an invalid message. The state machine has not changed.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return "refused: " + r.Reason }

// Refuse returns a [Refused] with a formatted reason.
func Refuse(format string, args ...any) error {
	return &Refused{Reason: fmt.Errorf(format, args...).Error()}
}

// MessageBits limits sums without noise: their elements are at most 2^MessageBits in absolute
// value.
const MessageBits = 60
