package transport

import (
	"context"
	"crypto/sha256"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/secret"
)

// A Hash is a SHA-256 hash.
type Hash = [sha256.Size]byte

// An Item is a message of a party: a short signed envelope (see [fedpvi/crypto/signed]), with the
// size and SHA-256 of a body, and the body, which can be long.
type Item struct {
	Envelope []byte
	Body     []byte
	Stored   Stored // body on disk, in place of Body; only in items from a coordinator
	// Derived states that clients can compute the body from earlier entries. With Config.Brief, a
	// client receives the item with a nil body.
	Derived bool
}

// A JoinRequest is the request of a guest, without a certificate, to become a party.
type JoinRequest struct {
	Token   []byte // token of the invitation
	Entry   []byte // roster entry, signed by the peer that wants to join
	Request []byte // request for a certificate of the guest's TLS key
}

// An Admission is the response to a join.
type Admission struct {
	Study       []byte // study document, byte for byte
	Authority   []byte // certificate of the study's certificate authority (X.509, DER)
	Certificate []byte // certificate for the guest's TLS key
	Coordinator []byte // roster entry, signed by the coordinator
}

// A RenewRequest is a client's request for a new certificate, and possibly new keys.
type RenewRequest struct {
	Request []byte // request for a certificate, signed with the client's identity
	Renewal []byte // renewal of the client's roster entry; nil to keep the keys
}

// Renewed is the response to a RenewRequest.
type Renewed struct {
	Certificate []byte // certificate for the client's TLS key (X.509, DER)
	// Authority is the certificate of the study's certificate authority (X.509, DER), and Signature
	// its signature by the coordinator's identity. Older coordinators send neither.
	Authority, Signature []byte
	Renewals             [][]byte // renewals of the coordinator's roster entry so far
}

// A Standing is the coordinator's record of a client.
type Standing struct {
	Entries  uint64 // number of entries in the transcript
	Approved bool   // whether the client's approval of the study has arrived
	// Last is the envelope of the last message that the coordinator received from the client, or
	// nil. It names an entry of the client's ledger. If the ledger lacks it, the client's state is
	// an older copy.
	Last []byte
	// Gossip is zero unless both the coordinator and the client may take part in gossip.
	Gossip Gossip
	// Renewals contains the renewals of the coordinator's roster entry so far.
	Renewals [][]byte
}

// Gossip contains the address and the key of the coordinator's gossip, for the clients of the study
// only.
type Gossip struct {
	// Address is host:port, or empty if the coordinator takes no part. An empty host stands for
	// that of the client's connection to the coordinator.
	Address string
	Key     secret.Secret
}

// A Coordinator handles the calls of the parties of one study. It is safe for concurrent use. A
// repeated call with the same arguments returns the same result and has no further effect. A call
// that is not allowed in the current state returns a [*Refusal].
//
// The connection authenticates the peer. The Coordinator looks it up in the roster.
type Coordinator interface {
	// Join redeems an invitation for a guest, a peer without a certificate.
	Join(ctx context.Context, r JoinRequest) (Admission, error)

	// Renew issues a new certificate for the client whose identity has signed the request, and
	// replaces its keys if the request contains new ones. The peer is this client, or a guest
	// (without a certificate).
	Renew(ctx context.Context, peer channel.Party, r RenewRequest) (Renewed, error)

	// Standing returns the coordinator's record of the peer.
	Standing(ctx context.Context, peer channel.Party) (Standing, error)

	// Approve accepts the peer's signed approval, or its signed message that it leaves (see package
	// fedpvi/crypto/transcript).
	Approve(ctx context.Context, peer channel.Party, envelope []byte) error

	// Entry returns the entry of the transcript with the given number, from 1. It waits for an
	// entry that does not exist yet, until ctx is done. The caller must not modify the item. Entry
	// should return the same memory to many callers for long bodies.
	Entry(ctx context.Context, peer channel.Party, number uint64) (Item, error)

	// Offer announces a release. whole is its complete body, or nil to send it later in pieces.
	// Offer checks the envelope and, with a complete body, accepts the release at once. have is the
	// number of bytes of the body that have arrived; for an accepted release, its size. Offer must
	// not keep the slices.
	Offer(ctx context.Context, peer channel.Party, envelope, whole []byte) (have int64, err error)

	// Write adds a piece of the body of an offered release, at an offset in bytes. When the body is
	// complete, Write checks and accepts the release, which is durable if Write then returns nil.
	// Write must not keep the slice. A server calls it for the pieces of a release in order, one at
	// a time.
	Write(ctx context.Context, peer channel.Party, envelope Hash, offset int64, piece []byte) error

	// Pieces returns the bytes that wanted selects, as one sequence: a release that is too long for
	// the outcome of its plan, or the peer's parts of other clients' messages.
	Pieces(ctx context.Context, peer channel.Party, wanted Wanted) (Pieces, error)

	// Confirm accepts the peer's signed confirmation of the cut of a plan.
	Confirm(ctx context.Context, peer channel.Party, envelope []byte) error

	// Complain records that the peer cannot open its part of another client's message, and so does
	// not confirm the cut of plan ask. place is the other client's place in the roster, from 1.
	Complain(ctx context.Context, peer channel.Party, ask uint64, place int) error
}

// Wanted selects the bytes for [Coordinator.Pieces]: a whole release, the caller's parts of the
// deals in a cut, or its parts of the keys of other clients.
type Wanted struct {
	// Ask is the number of a plan: of an answer, if Release is not zero, and otherwise of a cut. It
	// is not used with KeysOf.
	Ask uint64
	// Release is the hash of the wanted release, or zero for parts of messages.
	Release Hash
	// KeysOf contains the places in the roster, from 1, of the clients whose keys are wanted.
	KeysOf []int
}

// Pieces is a sequence of bytes of constant size that a server reads while it sends them.
type Pieces interface {
	Size() uint64
	// Read fills b with the bytes from the offset from. It can be called concurrently.
	Read(b []byte, from int64) error
}

// A Reason is the kind of a refusal. Its text is part of the protocol and never changes.
type Reason string

// The reasons of refusals. Any other error is internal, and a client receives no details of it.
const (
	Malformed   Reason = "malformed"    // the bytes do not have the form that the protocol requires
	Denied      Reason = "denied"       // the peer may not make this call, or is not part of the study
	Unknown     Reason = "unknown"      // there is no such study, entry or release
	OutOfPlace  Reason = "out-of-place" // the call is too late, too early, or contradicts an earlier message
	TooLarge    Reason = "too-large"    // a size exceeds its limit
	Ended       Reason = "ended"        // the study is over
	Unavailable Reason = "unavailable"  // the call is not possible now; a later call may succeed
	Version     Reason = "version"      // the client and the coordinator have no protocol version in common
)

// A Refusal is the reason why a call was refused. The call has changed nothing. The other party
// shows Text to people, so Text must not contain data values or secrets.
type Refusal struct {
	Reason Reason
	Text   string
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Text }
