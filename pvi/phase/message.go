package phase

import (
	"encoding/hex"
	"fmt"
)

// A ClientID names a client.
type ClientID string

// A Digest identifies what the machines of a phase have agreed on. It is bound into every
// message and state, so that no machine accepts a message or state of the same study with other
// clients, whose noise shares would differ.
type Digest [32]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// A Verdict is the result of a plan.
type Verdict string

const (
	Accepted Verdict = "accepted" // the sum was opened, and λ or the scale moved
	Rejected Verdict = "rejected" // λ would not have been a proper distribution and stayed
	Void     Verdict = "void"     // too few clients answered, and nothing was opened
)

// Refused is the error for a message that is out of place. The machine that returns it
// has not changed.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return "refused: " + r.Reason }

// Refuse returns a [Refused].
func Refuse(format string, args ...any) error {
	return &Refused{Reason: fmt.Errorf(format, args...).Error()}
}

// MessageBits is the size of the largest sum of messages that carry no noise of their own.
const MessageBits = 60
