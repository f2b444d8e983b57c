package transport

import (
	"context"
	"crypto/sha256"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/secret"
)

// A Hash is a SHA-256 hash.
type Hash = [sha256.Size]byte

// An Item is a message of a party: a signed envelope (see [fedpvi/crypto/signed]) and a body. The
// envelope is short. The body can be long. The envelope contains the size and the SHA-256 of the
// body.
type Item struct {
	Envelope []byte
	Body     []byte
	Stored   Stored // body on disk, in place of Body; only in items that a coordinator returns
	// Derived states that clients can compute the body from earlier entries. A client with
	// Config.Brief receives this kind of item with a nil body.
	Derived bool
}

// A JoinRequest is the request of a guest, a peer without a certificate, that wants to become a
// party.
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

// A RenewRequest is a client's request for a new certificate. The request can also replace the
// client's keys.
type RenewRequest struct {
	Request []byte // request for a certificate, signed with the client's identity
	Renewal []byte // renewal of the client's roster entry with new keys; nil to keep the keys
}

// Renewed is the response to a RenewRequest.
type Renewed struct {
	Certificate []byte // certificate for the client's TLS key (X.509, DER)
	// Authority is the certificate of the study's certificate authority (X.509, DER). Signature is
	// a signature of Authority by the coordinator's identity. Older versions of the coordinator
	// send neither field.
	Authority, Signature []byte
	Renewals             [][]byte // renewals of the coordinator's roster entry so far
}

// A Standing is the coordinator's record of a client.
type Standing struct {
	Entries  uint64 // number of entries in the transcript
	Approved bool   // whether the client's approval of the study has arrived
	// Last is the envelope of the last message that the coordinator received from the client, or
	// nil if there is none. The message names an entry of the client's ledger. If the client's
	// ledger does not contain this entry, the client's state is an older copy.
	Last []byte
	// Gossip is zero unless the coordinator takes part in gossip and the client is also allowed to
	// take part.
	Gossip Gossip
	// Renewals contains the renewals of the coordinator's roster entry so far.
	Renewals [][]byte
}

// Gossip contains the address and the key of the coordinator's gossip. Only the clients of the
// study receive this address and this key.
type Gossip struct {
	// Address is host:port. If the host is empty, the client uses the host of its connection to the
	// coordinator. If Address is empty, the coordinator takes no part in gossip.
	Address string
	Key     secret.Secret
}

// A Coordinator handles the calls of the parties of one study. The methods can be called
// concurrently. If a call is repeated with the same arguments, it returns the same result and has
// no further effect. A call that is not allowed in the current state returns a [*Refusal].
//
// The connection authenticates the peer. The Coordinator looks up the peer in the roster.
type Coordinator interface {
	// Join redeems an invitation for a guest, a peer without a certificate.
	Join(ctx context.Context, r JoinRequest) (Admission, error)

	// Renew issues a new certificate for the client whose identity has signed the request. If the
	// request contains new keys, Renew also replaces the client's keys. The peer is this client, or
	// a guest (a peer without a certificate).
	Renew(ctx context.Context, peer channel.Party, r RenewRequest) (Renewed, error)

	// Standing returns the coordinator's record of the peer.
	Standing(ctx context.Context, peer channel.Party) (Standing, error)

	// Approve accepts the peer's signed approval, or the signed message with which the peer leaves
	// the study. Package fedpvi/crypto/transcript defines both messages.
	Approve(ctx context.Context, peer channel.Party, envelope []byte) error

	// Entry returns the entry of the transcript with the given number, which is at least 1. If the
	// entry does not exist yet, Entry waits for it. When ctx is done first, Entry returns the error
	// of ctx. The caller must not modify the item. Entry can return the same memory to many
	// callers, and should do so for long bodies.
	Entry(ctx context.Context, peer channel.Party, number uint64) (Item, error)

	// Offer announces a release. whole is its complete body, or nil to send the body later in
	// pieces. Offer checks the envelope, and also checks and accepts a complete body at once. have
	// is the number of bytes of the body that have already arrived. If the release was accepted
	// before, it is the size of the body. Offer must not keep the slices.
	Offer(ctx context.Context, peer channel.Party, envelope, whole []byte) (have int64, err error)

	// Write adds a piece of the body of an offered release, at an offset in bytes. When the body is
	// complete, Write checks and accepts the release. If Write then returns nil, the release is
	// durable. Write must not keep the slice. A server calls Write for the pieces of a release one
	// at a time, from the first to the last.
	Write(ctx context.Context, peer channel.Party, envelope Hash, offset int64, piece []byte) error

	// Pieces returns the bytes that wanted selects, as one sequence. They are a release, which
	// clients fetch if it is too long for the outcome of its plan, or the peer's parts of other
	// clients' messages.
	Pieces(ctx context.Context, peer channel.Party, wanted Wanted) (Pieces, error)

	// Confirm accepts the peer's signed confirmation of the cut of a plan.
	Confirm(ctx context.Context, peer channel.Party, envelope []byte) error

	// Complain records that the peer cannot open its part of another client's message, and for this
	// reason does not confirm the cut of a plan. ask is the number of the plan, and place is the
	// other client's place in the roster, counted from 1.
	Complain(ctx context.Context, peer channel.Party, ask uint64, place int) error
}

// Wanted selects the bytes that the method Pieces of [Coordinator] returns. They are a whole
// release, the caller's parts of the deals in a cut, or the caller's parts of the keys of other
// clients.
type Wanted struct {
	// Ask is the number of a plan. It selects the messages that the cut of this plan lists or, if
	// Release is not zero, an answer to this plan. If KeysOf is not empty, Ask is not used.
	Ask uint64
	// Release is the hash of the wanted release. It is zero if parts of messages are wanted.
	Release Hash
	// KeysOf contains the places in the roster, counted from 1, of the clients whose keys are
	// wanted.
	KeysOf []int
}

// Pieces is a sequence of bytes that a server reads while it sends them. The size of the sequence
// does not change.
type Pieces interface {
	Size() uint64
	// Read fills b with the bytes of the body that begin at the offset from. It can be called
	// concurrently.
	Read(b []byte, from int64) error
}

// A Reason is the kind of a refusal. The text of a Reason is part of the protocol and never
// changes.
type Reason string

// These are the reasons of refusals. Any other error is internal, and a client receives no details
// of it.
const (
	Malformed   Reason = "malformed"    // the bytes do not have the form that the protocol requires
	Denied      Reason = "denied"       // the peer is not allowed to make this call, or is not part of the study
	Unknown     Reason = "unknown"      // there is no such study, entry or release
	OutOfPlace  Reason = "out-of-place" // the call is too late, too early, or contradicts an earlier message
	TooLarge    Reason = "too-large"    // a size exceeds its limit
	Ended       Reason = "ended"        // the study is over
	Unavailable Reason = "unavailable"  // the call is not possible now; a later call may succeed
	Version     Reason = "version"      // the client and the coordinator have no protocol version in common
)

// A Refusal is the reason why a call was refused. The refused call has changed nothing. The other
// party shows Text to people, so Text must not contain data values or secrets.
type Refusal struct {
	Reason Reason
	Text   string
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Text }
