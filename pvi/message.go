package pvi

import (
	"encoding/hex"
	"fmt"
)

// A Digest identifies a protocol: the SHA-256 of the study's digest and the
// roster. It is bound into every message and state, so that none is taken for
// one of the same study with other clients, whose noise shares would differ.
type Digest [32]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// A Plan asks clients for a release. Its slices must not be changed.
type Plan struct {
	Protocol     Digest
	Number       int        // of the plan, from 1
	Lambda       []Wide     // λ − λ_prior, on the lattice
	Centre       []int64    // of clipping coordinates, in units of 2^-16; nil if they are not centred
	Participants []ClientID // who is asked, in order
}

// A Release is the change of its factor that a client proposes, in lattice
// steps. It passed the gate: it may be read by whomever the study says.
type Release struct {
	Protocol Digest
	Number   int // of the plan that it answers
	Client   ClientID
	Change   []int64
}

// A Verdict says what became of a round.
type Verdict string

const (
	Accepted Verdict = "accepted" // λ moved
	Rejected Verdict = "rejected" // λ would not have been a proper distribution and stayed
	Void     Verdict = "void"     // too few answers: nothing was opened
)

// An Outcome ends a round. Privacy is spent whatever the verdict. Its slices must
// not be changed.
type Outcome struct {
	Protocol     Digest
	Sequence     int // 1 for the first outcome of a study, and so on
	Number       int // of the plan
	Verdict      Verdict
	Centre       []int64    // of the plan
	Participants []ClientID // whose changes are in Sum, in order
	Sum          []int64    // in lattice steps; nil if void
}

// Refused is an error that leaves the state of a machine as it was: the message
// was out of place.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return "refused: " + r.Reason }

func refuse(format string, args ...any) error {
	return &Refused{Reason: fmt.Errorf(format, args...).Error()}
}
