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
	// Derived states that the body follows from earlier entries. A client that computes it does not
	// need it, and receives the item with a nil body.
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
	// Gossip is set if the coordinator gossips and the client may join.
	Gossip Gossip
}

// Gossip holds the address and the key of the coordinator's gossip. It is sent to the parties of a
// study only.
type Gossip struct {
	// Address is host:port. Without a host it is the host at which the coordinator is called. Empty
	// without gossip.
	Address string
	Key     secret.Secret
}

// A Coordinator handles the calls of the parties of one study. The methods may be called
// concurrently, and repeatedly with the same arguments: a repeated call returns the same answer and
// has no further effect. A call that is out of place returns a [*Refusal].
//
// The peer is authenticated by its connection; the implementation looks it up in the roster.
type Coordinator interface {
	// Join redeems an invitation for a guest. It is the only method for guests.
	Join(ctx context.Context, r JoinRequest) (Admission, error)

	// Renew issues a new certificate for the peer.
	Renew(ctx context.Context, peer channel.Party, request []byte) (certificate []byte, err error)

	// Standing returns the state of the peer.
	Standing(ctx context.Context, peer channel.Party) (Standing, error)

	// Approve accepts the peer's signed approval, or its signed departure (an Approval or a Leave
	// of fedpvi/crypto/transcript).
	Approve(ctx context.Context, peer channel.Party, envelope []byte) error

	// Entry returns an entry of the transcript, counted from 1. It waits for the next one until ctx
	// is done, and then returns ctx's error. The item must not be modified: the same bytes may be
	// returned to many callers, and should be for long bodies.
	Entry(ctx context.Context, peer channel.Party, number uint64) (Item, error)

	// Offer announces a release. It checks the envelope, and returns how many bytes of the body
	// were received already: all of them if the release was accepted before. A complete body may
	// come with the offer and be accepted at once, as with the last byte of Write; it is nil
	// otherwise. Offer does not keep the slices.
	Offer(ctx context.Context, peer channel.Party, envelope, whole []byte) (have int64, err error)

	// Write adds a piece of the body of an offered release at an offset. With the last byte the
	// release is checked and accepted: it is durable when Write returns nil. Write does not keep
	// the slice. A server makes one call at a time for a release, in order.
	Write(ctx context.Context, peer channel.Party, envelope Hash, offset int64, piece []byte) error
}

// A Reason is the kind of a refusal. Its text never changes.
type Reason string

// The reasons. Every other error is internal, and a peer learns no details of it.
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

// A Refusal states why a call was refused. The state is unchanged. The text is shown at the other
// end: it contains no data values and no secrets.
type Refusal struct {
	Reason Reason
	Text   string
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Text }
