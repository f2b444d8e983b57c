package transport

import (
	"context"
	"crypto/sha256"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/secret"
)

// A Hash is a SHA-256 hash.
type Hash = [sha256.Size]byte

// An Item is a message from a party. It has a short signed envelope (see [fedpvi/crypto/signed])
// and a body, which may be long. The envelope has the body's size and SHA-256.
type Item struct {
	Envelope []byte
	Body     []byte
	Stored   Stored // body on disk, instead of Body; only in a coordinator's items
	// Derived means that clients can compute the body from earlier entries. If a client has set
	// Config.Brief, it receives the item without a body.
	Derived bool
}

// A JoinRequest is a guest's request to become a party. A guest has no certificate.
type JoinRequest struct {
	Token   []byte // token of the invitation
	Entry   []byte // roster entry, signed by the guest
	Request []byte // request for a certificate for the guest's TLS key
}

// An Admission is the response to a JoinRequest.
type Admission struct {
	Study       []byte // study document, byte for byte
	Authority   []byte // certificate of the study's authority (X.509, DER)
	Certificate []byte // certificate for the guest's TLS key
	Coordinator []byte // roster entry, signed by the coordinator
}

// A RenewRequest is a client's request for a new certificate, and perhaps for new keys.
type RenewRequest struct {
	Request []byte // request for a certificate, signed with the client's identity
	Renewal []byte // renewal of the client's roster entry; nil if it keeps its keys
}

// Renewed is the response to a RenewRequest.
type Renewed struct {
	Certificate []byte // certificate for the client's TLS key (X.509, DER)
	// Authority is the certificate of the study's authority (X.509, DER), and Signature is the
	// coordinator's signature of it. Older coordinators send neither.
	Authority, Signature []byte
	Renewals             [][]byte // all renewals of the coordinator's roster entry so far
}

// A Standing is the coordinator's record of a client.
type Standing struct {
	Entries  uint64 // number of entries in the transcript
	Approved bool   // whether the client's approval of the study has arrived
	// Last is the envelope of the last message that the coordinator has received from the client,
	// or nil. It names an entry of the client's ledger. If the ledger does not have this entry, the
	// client's state is an old copy.
	Last []byte
	// Gossip is zero unless both the coordinator and the client are allowed to gossip.
	Gossip Gossip
	// Renewals has all renewals of the coordinator's roster entry so far.
	Renewals [][]byte
}

// Gossip has the address and key of the coordinator's gossip, which only the study's clients may
// know.
type Gossip struct {
	// Address is host:port. It is empty if the coordinator does not gossip. If only the host is
	// empty, it is that of the client's connection to the coordinator.
	Address string
	Key     secret.Secret
}

// A Coordinator handles the calls of the parties in one study. It is safe for concurrent use. If a
// call is repeated with the same arguments, it has no further effect and returns the same result.
// If a call is not allowed in the current state, it returns a [*Refusal].
//
// The connection authenticates the peer. The Coordinator looks it up in the roster.
type Coordinator interface {
	// Join redeems the invitation of a guest, which has no certificate.
	Join(ctx context.Context, r JoinRequest) (Admission, error)

	// Renew issues a new certificate to the client whose identity has signed the request. If the
	// request has new keys, Renew also replaces the client's keys. The peer is this client or a
	// guest.
	Renew(ctx context.Context, peer channel.Party, r RenewRequest) (Renewed, error)

	// Standing returns the coordinator's record of the peer.
	Standing(ctx context.Context, peer channel.Party) (Standing, error)

	// Approve accepts the peer's signed approval, or its signed withdrawal (see package
	// fedpvi/crypto/transcript).
	Approve(ctx context.Context, peer channel.Party, envelope []byte) error

	// Entry returns the transcript entry with the given number, from 1. If the entry does not exist
	// yet, Entry waits for it until ctx is done. The caller must not modify the item. If a body is
	// long, Entry should return the same memory to all callers.
	Entry(ctx context.Context, peer channel.Party, number uint64) (Item, error)

	// Offer announces a release. whole is the complete body, or nil if the body will follow in
	// pieces. Offer checks the envelope. If it has the complete body, it accepts the release at
	// once. have is the number of bytes of the body that the coordinator has. For an accepted
	// release, this is its size. Offer must not keep the slices.
	Offer(ctx context.Context, peer channel.Party, envelope, whole []byte) (have int64, err error)

	// Write adds a piece to the body of an offered release, at an offset in bytes. Once the body is
	// complete, Write checks and accepts the release. If it then returns nil, the release is
	// durable. Write must not keep the slice. A server calls Write for one piece of a release after
	// the other.
	Write(ctx context.Context, peer channel.Party, envelope Hash, offset int64, piece []byte) error

	// Pieces returns the bytes that wanted describes as one sequence. They are a release that is
	// too long for the outcome of its plan, or the parts of other clients' messages that are meant
	// for the peer.
	Pieces(ctx context.Context, peer channel.Party, wanted Wanted) (Pieces, error)

	// Confirm accepts the peer's signed confirmation of a plan's cut.
	Confirm(ctx context.Context, peer channel.Party, envelope []byte) error

	// Complain records that the peer cannot decrypt its part of another client's message, and
	// therefore does not confirm the cut of plan ask. place is the other client's place in the
	// roster, from 1.
	Complain(ctx context.Context, peer channel.Party, ask uint64, place int) error
}

// Wanted describes bytes to get from [Coordinator.Pieces]: a whole release, the caller's parts of
// the deals in a cut, or the keys that other clients have sent for the caller.
type Wanted struct {
	// Ask is the number of a plan. If Release is not zero, it is the plan of the answer, and
	// otherwise the plan of the cut. With KeysOf, it is not used.
	Ask uint64
	// Release is the hash of a release, or zero if parts of messages are wanted.
	Release Hash
	// KeysOf has the places in the roster, from 1, of the clients whose keys are wanted.
	KeysOf []int
}

// Pieces is a byte sequence of constant size. A server reads it while sending it.
type Pieces interface {
	Size() uint64
	// Read fills b with the bytes that start at the offset from. It may be called concurrently.
	Read(b []byte, from int64) error
}

// A Reason is a kind of refusal. Its text is part of the protocol and never changes.
type Reason string

// These are the reasons for refusals. Any other error is internal, and clients get no details.
const (
	Malformed   Reason = "malformed"    // the bytes do not have the form that the protocol demands
	Denied      Reason = "denied"       // the peer may not make this call, or is not part of the study
	Unknown     Reason = "unknown"      // the study, entry or release does not exist
	OutOfPlace  Reason = "out-of-place" // the call comes too early or too late, or contradicts an earlier message
	TooLarge    Reason = "too-large"    // a size exceeds its limit
	Ended       Reason = "ended"        // the study is over
	Unavailable Reason = "unavailable"  // the call is not possible now but may succeed later
	Version     Reason = "version"      // the client and the coordinator have no protocol version in common
)

// A Refusal tells why a call was refused. The call has changed nothing. The other side shows Text
// to people, so it must not have data values or secrets.
type Refusal struct {
	Reason Reason
	Text   string
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Text }
