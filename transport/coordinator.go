package transport

import (
	"context"
	"crypto/sha256"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/secret"
)

// A Hash is a SHA-256 hash.
type Hash = [sha256.Size]byte

// An Item is a message of a party. It consists of a signed envelope (see [fedpvi/crypto/signed])
// and a body. The envelope contains the size and the SHA-256 of the body. Unlike the envelope,
// the body may be long.
type Item struct {
	Envelope []byte
	Body     []byte
	Stored   Stored // body on disk instead of Body; nil if not used; only a coordinator returns such items
	// Derived states that clients can compute the body from earlier entries. A client that does
	// so receives the item with a nil body.
	Derived bool
}

// A JoinRequest is a guest's request to become a party.
type JoinRequest struct {
	Token   []byte // token of the invitation
	Entry   []byte // roster entry, signed by the guest
	Request []byte // request for a certificate
}

// An Admission is the response to a join.
type Admission struct {
	Study       []byte // study document, byte for byte
	Authority   []byte // certificate of the study's certificate authority (X.509, DER)
	Certificate []byte // certificate for the guest's TLS key
	Coordinator []byte // roster entry, signed by the coordinator
}

// A RenewRequest is a client's request for a certificate, and for new keys.
type RenewRequest struct {
	Request []byte // request for a certificate, signed with the client's identity
	Renewal []byte // renewal of the client's roster entry; nil to keep its keys
}

// Renewed is the response to a RenewRequest.
type Renewed struct {
	Certificate []byte // certificate for the client's TLS key (X.509, DER)
	// Authority is the certificate of the study's certificate authority (X.509, DER), and Signature
	// is the signature of this certificate by the coordinator's identity. An older coordinator
	// sends neither.
	Authority, Signature []byte
	Renewals             [][]byte // renewals of the coordinator's roster entry since the study was made
}

// A Standing is the coordinator's record of a client.
type Standing struct {
	Entries  uint64 // number of entries in the transcript
	Approved bool   // whether the client's approval has arrived
	// Last is the envelope of the client's last message, which names an entry of its ledger. It is
	// nil if there is no message. A client can compare the envelope with its own state, and detect
	// that this state is older.
	Last []byte
	// Gossip is set if the coordinator takes part in gossip and the client may do so.
	Gossip Gossip
	// Renewals are the renewals of the coordinator's roster entry since the study was made.
	Renewals [][]byte
}

// Gossip contains the address and the key of the coordinator's gossip. Only the clients of the
// study receive it.
type Gossip struct {
	// Address is host:port. If the host is empty, it is the host at which the client reaches the
	// coordinator. Address is empty if the coordinator does not take part in gossip.
	Address string
	Key     secret.Secret
}

// A Coordinator handles the calls of the parties of one study. The methods may be called
// concurrently. A repeated call with the same arguments returns the same result and has no further
// effect. A call that is not allowed in the current state returns a [*Refusal].
//
// The connection authenticates the peer. The implementation looks up the peer in the roster.
type Coordinator interface {
	// Join redeems an invitation for a guest.
	Join(ctx context.Context, r JoinRequest) (Admission, error)

	// Renew issues a new certificate for the client whose identity has signed the request, and
	// accepts new keys for it. The peer is that client, or a guest.
	Renew(ctx context.Context, peer channel.Party, r RenewRequest) (Renewed, error)

	// Standing returns the coordinator's record of the peer.
	Standing(ctx context.Context, peer channel.Party) (Standing, error)

	// Approve accepts the peer's signed approval or its signed departure. These are an Approval
	// or a Leave of fedpvi/crypto/transcript.
	Approve(ctx context.Context, peer channel.Party, envelope []byte) error

	// Entry returns the entry of the transcript with the given number, from 1. If the entry does
	// not exist yet, Entry waits for it until ctx is done, and then returns the error of ctx.
	// The caller must not modify the item. Entry may return the same memory to many callers, and
	// should do so for long bodies.
	Entry(ctx context.Context, peer channel.Party, number uint64) (Item, error)

	// Offer announces a release. It checks the envelope and returns the number of bytes of the
	// body that have already arrived. For a release that was already accepted this is the size
	// of the body. The argument whole is the complete body or nil. A complete body is checked
	// and accepted at once. Offer does not keep the slices.
	Offer(ctx context.Context, peer channel.Party, envelope, whole []byte) (have int64, err error)

	// Write adds a piece of the body of an offered release, at an offset. After the last byte
	// Write checks and accepts the release. When Write returns nil, the release is durable.
	// Write does not keep the slice. A server calls Write for the pieces of a release one after
	// the other, in order.
	Write(ctx context.Context, peer channel.Party, envelope Hash, offset int64, piece []byte) error

	// Pieces returns the peer's parts of other clients' messages, one after the other, or a release
	// that is too long for the outcome that counts it.
	Pieces(ctx context.Context, peer channel.Party, of Wanted) (Pieces, error)

	// Confirm accepts the peer's signed confirmation of a cut.
	Confirm(ctx context.Context, peer channel.Party, envelope []byte) error

	// Complain records that the peer cannot open its part of another client's message, and
	// therefore does not confirm the cut of a plan. The arguments are the number of the plan and
	// the place of the other client in the roster.
	Complain(ctx context.Context, peer channel.Party, ask uint64, place int) error
}

// Wanted selects messages. [Coordinator].Pieces returns the parts of these messages that belong to
// a client, or one whole release.
type Wanted struct {
	// Ask is the number of the plan whose cut lists the messages, or of the plan that the release
	// answers. It is not used if KeysOf is not empty.
	Ask uint64
	// Release is the hash of the wanted release. If it is zero, parts of messages are wanted.
	Release Hash
	// KeysOf contains the places in the roster of the clients whose keys are wanted.
	KeysOf []int
}

// Pieces are bytes that a server reads while it sends them. Their size does not change.
type Pieces interface {
	Size() uint64
	// Read fills b with bytes, starting at the offset from. It may be called concurrently.
	Read(b []byte, from int64) error
}

// A Reason is the kind of a refusal. The text of a Reason is part of the protocol and never
// changes.
type Reason string

// Reasons of refusals. Every other error is internal, and a client learns no details of it.
const (
	Malformed   Reason = "malformed"    // the bytes have an invalid form
	Denied      Reason = "denied"       // the peer may not make this call, or is not part of the study
	Unknown     Reason = "unknown"      // there is no such study, entry or release
	OutOfPlace  Reason = "out-of-place" // the call is too late, too early, or contradicts an earlier message
	TooLarge    Reason = "too-large"    // a size exceeds its limit
	Ended       Reason = "ended"        // the study is over
	Unavailable Reason = "unavailable"  // the call is not possible now; a later call may succeed
	Version     Reason = "version"      // the two ends have no common protocol version
)

// A Refusal is the reason why a call was refused. The call has changed nothing. The other end
// displays the text, so the text must contain no data values and no secrets.
type Refusal struct {
	Reason Reason
	Text   string
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Text }
