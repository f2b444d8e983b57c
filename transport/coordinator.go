package transport

import (
	"context"
	"crypto/sha256"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/secret"
)

// A Hash is a SHA-256.
type Hash = [sha256.Size]byte

// An Item is something that a party of a study said: an envelope that it signed
// (see [fedpvi/crypto/signed]), in whose payload stand the size and the SHA-256 of a
// body, which may be longer than an envelope can be, and the body.
type Item struct {
	Envelope []byte
	Body     []byte
	Stored   Stored // in the place of Body, if it is not nil; a coordinator alone gives such items
	// Derived says that the body follows from the entries before. Who works it out need not be sent it,
	// and gets the item with a nil body.
	Derived bool
}

// A JoinRequest is what a guest sends to become a party.
type JoinRequest struct {
	Token   []byte // of the invitation
	Entry   []byte // of the roster, signed by the guest
	Request []byte // for a certificate
}

// An Admission is what the guest gets.
type Admission struct {
	Study       []byte // the bytes of the study document
	Authority   []byte // certificate of the study's own authority (X.509, DER)
	Certificate []byte // of the guest's key for connections
	Coordinator []byte // entry of the roster, signed by the coordinator
}

// A Standing is what the coordinator knows of a client.
type Standing struct {
	Entries  uint64 // of the transcript so far
	Approved bool   // the client's approval is there
	// Last is the envelope of the client's last signed message that speaks of its
	// ledger: by it a client notices that its own state is older. Nil if there is none.
	Last []byte
	// Gossip is how to gossip with the coordinator, if that is wanted on both sides.
	Gossip Gossip
}

// A Gossip is where the coordinator gossips, and with which key. It goes to the parties of a
// study alone.
type Gossip struct {
	// Address is host and port; without a host it is that under which the coordinator is
	// called. Empty if it does not gossip.
	Address string
	Key     secret.Secret
}

// A Coordinator answers the parties of one study. Methods may be called by many at
// once, and again with the same arguments: what was done already is answered the same
// and not done twice. What is out of place is a [*Refusal].
//
// The peer is who the connection proves the caller to be; who answers looks it up in the
// roster.
type Coordinator interface {
	// Join redeems an invitation for a guest. It is the only method for guests.
	Join(ctx context.Context, r JoinRequest) (Admission, error)

	// Renew issues a new certificate for a request of the peer's.
	Renew(ctx context.Context, peer channel.Party, request []byte) (certificate []byte, err error)

	// Standing says what is known of the peer.
	Standing(ctx context.Context, peer channel.Party) (Standing, error)

	// Approve takes the signed consent of the peer to take part, or the signed word that
	// it takes no part any more (an Approval or a Leave of fedpvi/crypto/transcript).
	Approve(ctx context.Context, peer channel.Party, envelope []byte) error

	// Entry returns an entry of the transcript, from 1. It waits for the next one until
	// ctx is done, and then returns ctx's error. Nobody changes the item: the same bytes
	// may be given to many, and should be, where bodies are long.
	Entry(ctx context.Context, peer channel.Party, number uint64) (Item, error)

	// Offer announces a release: its envelope is checked, and it says how many bytes of
	// the body are there already, all of them if the release was taken before. A whole
	// body that comes along may be checked and taken at once, as the last byte of Write is;
	// it is nil if none came. All bytes are the caller's again when Offer returns.
	Offer(ctx context.Context, peer channel.Party, envelope, whole []byte) (have int64, err error)

	// Write adds a piece of the body of an offered release at an offset. With the last
	// byte the release is checked and taken: it is durable when Write returns nil. The
	// piece is the caller's again then. A server calls it for one release by one call at a
	// time, in order.
	Write(ctx context.Context, peer channel.Party, envelope Hash, offset int64, piece []byte) error
}

// A Reason is the kind of a refusal, stable across versions.
type Reason string

// The reasons. Everything that is not one of them is an internal error, of which a peer
// learns no more than that.
const (
	Malformed   Reason = "malformed"    // bytes that are not what they should be
	Denied      Reason = "denied"       // not for this peer, or not one of the study
	Unknown     Reason = "unknown"      // no such study, entry or release
	OutOfPlace  Reason = "out-of-place" // late, early, or contrary to what was said before
	TooLarge    Reason = "too-large"    // beyond a limit
	Ended       Reason = "ended"        // the study is over
	Unavailable Reason = "unavailable"  // cannot be done now: try again later
	Version     Reason = "version"      // no protocol version that both programs speak
)

// A Refusal says why something was refused. The state is as it was. Its text has no data
// values and no secrets: it is shown at the other end.
type Refusal struct {
	Reason Reason
	Text   string
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Text }
