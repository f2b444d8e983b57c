package transport

import (
	"context"
	"crypto/sha256"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/secret"
)

// A Hash is a SHA-256.
type Hash = [sha256.Size]byte

// An Item is a message of a party: a signed envelope (see [fedpvi/crypto/signed]) and a body. The
// payload of the envelope holds the size and the SHA-256 of the body, which may be longer than an
// envelope.
type Item struct {
	Envelope []byte
	Body     []byte
	Stored   Stored // replaces Body if not nil; only a coordinator returns such items
	// Derived states that the body follows from earlier entries. A client that can compute the body
	// receives the item with a nil body.
	Derived bool
}

// A JoinRequest is a guest's request to become a party.
type JoinRequest struct {
	Token   []byte // of the invitation
	Entry   []byte // of the roster, signed by the guest
	Request []byte // for a certificate
}

// An Admission is the response to a join.
type Admission struct {
	Study       []byte // the bytes of the study document
	Authority   []byte // certificate of the study's own authority (X.509, DER)
	Certificate []byte // of the guest's key for connections
	Coordinator []byte // entry of the roster, signed by the coordinator
}

// A Standing is the coordinator's view of a client.
type Standing struct {
	Entries  uint64 // number of entries in the transcript
	Approved bool   // the client's approval has arrived
	// Last is the envelope of the client's last signed message that names its ledger; nil if there
	// is none. It shows a client that its own state is older.
	Last []byte
	// Gossip is set if the coordinator gossips and the client may join the gossip.
	Gossip Gossip
}

// Gossip holds the address and the key of the coordinator's gossip. It is sent to the parties of a
// study only.
type Gossip struct {
	// Address is host:port. If the host is empty, it is the host at which the client calls the
	// coordinator. Address is empty if the coordinator does not gossip.
	Address string
	Key     secret.Secret
}

// A Coordinator handles the calls of the parties of one study. The methods may be called
// concurrently, and repeatedly with the same arguments: a repeated call returns the same answer and
// has no further effect. A call that is not allowed in the current state returns a [*Refusal].
//
// The connection authenticates the peer. The implementation looks up the peer in the roster.
type Coordinator interface {
	// Join redeems an invitation for a guest. Guests may call no other method.
	Join(ctx context.Context, r JoinRequest) (Admission, error)

	// Renew issues a new certificate for the peer.
	Renew(ctx context.Context, peer channel.Party, request []byte) (certificate []byte, err error)

	// Standing returns the state of the peer.
	Standing(ctx context.Context, peer channel.Party) (Standing, error)

	// Approve accepts the peer's signed approval, or its signed departure (an Approval or a Leave
	// of fedpvi/crypto/transcript).
	Approve(ctx context.Context, peer channel.Party, envelope []byte) error

	// Entry returns an entry of the transcript, counted from 1. If the entry does not exist yet,
	// Entry waits for it until ctx is done, and then returns the error of ctx. The caller must not
	// modify the item, because Entry may return the same bytes to many callers. An implementation
	// should do so for long bodies.
	Entry(ctx context.Context, peer channel.Party, number uint64) (Item, error)

	// Offer announces a release. It checks the envelope, and returns the number of bytes of the
	// body that were already received. This number is the size of the body if the release was
	// accepted before. The argument whole is the complete body or nil. A complete body is checked
	// and accepted at once, as after the last byte of Write. Offer does not keep the slices.
	Offer(ctx context.Context, peer channel.Party, envelope, whole []byte) (have int64, err error)

	// Write adds a piece of the body of an offered release at an offset. After the last byte, Write
	// checks and accepts the release, which is durable when Write returns nil. Write does not keep
	// the slice. For each release a server calls Write for one piece at a time, in order.
	Write(ctx context.Context, peer channel.Party, envelope Hash, offset int64, piece []byte) error
}

// A Reason is the kind of a refusal. Its text never changes.
type Reason string

// These are the reasons. Every error that is not a Refusal is internal, and a peer learns no
// details of an internal error.
const (
	Malformed   Reason = "malformed"    // bytes in a wrong form
	Denied      Reason = "denied"       // not for this peer, or not part of the study
	Unknown     Reason = "unknown"      // no such study, entry or release
	OutOfPlace  Reason = "out-of-place" // late, early, or contrary to an earlier message
	TooLarge    Reason = "too-large"    // beyond a limit
	Ended       Reason = "ended"        // the study is over
	Unavailable Reason = "unavailable"  // not possible now: try again later
	Version     Reason = "version"      // no common protocol version
)

// A Refusal states why a call was refused. The state is unchanged. The text must contain no data
// values and no secrets, because the other end shows it.
type Refusal struct {
	Reason Reason
	Text   string
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Text }
