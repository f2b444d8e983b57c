package sums

import (
	"fmt"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums/field"
	"fedpvi/crypto/sums/packed"
	"fedpvi/crypto/transcript"
)

const (
	// MaxElement is the largest absolute value that an element of a sum can have.
	MaxElement = field.MaxInteger

	// version is the first byte of all payloads and bodies.
	version = 1

	wordSize = 8  // size of a word in bytes
	tagSize  = 16 // number of bytes that AES-GCM adds
	keySize  = 32
)

// A Hash is a SHA-256.
type Hash = transcript.Hash

// A Federation has the rules for adding up the clients' vectors: which clients there are, how many
// of them can open a sum, and how large the messages are. Each client has a place, which is its
// number in the order of names, from 1. A Federation is immutable.
type Federation struct {
	chain   transcript.Chain // has the roster, and makes the headers of messages
	clients []roster.Entry   // index p − 1 has the client at place p
	scheme  *packed.Scheme
	length  int
	words   int // number of words in a column
}

// New returns the federation of a study whose transcript has begun. fewest is U_min, the number of
// shares needed to open a sum. length is the number of elements that a vector has in all plans. If
// fewest is too small for secure sums, New returns an error.
func New(chain transcript.Chain, fewest, length int) (*Federation, error) {
	f := &Federation{chain: chain, length: length}
	for _, e := range chain.Members().Entries {
		if e.Role == identity.Client {
			f.clients = append(f.clients, e)
		}
	}
	var err error
	if f.scheme, err = packed.New(len(f.clients), fewest); err != nil {
		return nil, err
	}
	f.words = f.scheme.Words(length)
	if length < 1 || f.OpeningSize() > transcript.MaxBody || f.DealSize() > transcript.MaxBody {
		return nil, fmt.Errorf("vectors of %d elements cannot be added up: the messages would have more than %d bytes", length, transcript.MaxBody)
	}
	return f, nil
}

// Clients returns the number of clients.
func (f *Federation) Clients() int { return len(f.clients) }

// Fewest returns U_min, the number of shares needed to open a sum.
func (f *Federation) Fewest() int { return f.scheme.Fewest }

// Name returns the name of the client at a place.
func (f *Federation) Name(place int) identity.Name { return f.clients[place-1].Name }

// Place returns the place of a client, or 0 if no client has that name.
func (f *Federation) Place(name identity.Name) int {
	for i, e := range f.clients {
		if e.Name == name {
			return i + 1
		}
	}
	return 0
}

func (f *Federation) key(place int) identity.PublicKey { return f.clients[place-1].Key }

// sender returns the place of the client that sent a message with the header h. If the sender is
// not a client, it returns 0.
func (f *Federation) sender(h signed.Header) int {
	for i, e := range f.clients {
		if e.Key.Fingerprint() == h.Sender {
			return i + 1
		}
	}
	return 0
}

// columnSize returns the size of an encrypted column in bytes.
func (f *Federation) columnSize() int { return f.words*wordSize + tagSize }

// pieceSize returns the size of a holder's part of a deal, in bytes. The part is the column with
// this offset if the dealer sends it, and otherwise a tag. The dealer does not send its own column.
func (f *Federation) pieceSize(offset int) int {
	switch {
	case offset < f.scheme.Sent():
		return f.columnSize()
	case offset < f.scheme.Clients-1:
		return tagSize
	}
	return 0
}

// Column returns where in the body of a dealer's deal a holder's part begins, and the size of the
// part, in bytes.
func (f *Federation) Column(dealer, holder int) (at, size int) {
	offset := f.scheme.Offset(dealer, holder)
	sent := min(offset, f.scheme.Sent())
	return sent*f.columnSize() + (offset-sent)*tagSize, f.pieceSize(offset)
}

// DealSize returns the size of the body of a deal in bytes.
func (f *Federation) DealSize() int {
	return f.scheme.Sent()*f.columnSize() + f.scheme.Hidden()*tagSize
}

// ColumnsSize returns the total size, in bytes, of a holder's parts of all deals in a cut.
func (f *Federation) ColumnsSize(cut []Dealt, holder int) (size int) {
	for _, d := range cut {
		size += f.pieceSize(f.scheme.Offset(d.Place, holder))
	}
	return size
}

// ShareSize returns the size of the body of a share in bytes.
func (f *Federation) ShareSize() int { return f.words * wordSize }

// OpeningSize returns the size of the body of an opening in bytes.
func (f *Federation) OpeningSize() int { return 1 + f.Fewest()*(signatureSize+f.ShareSize()) }

// Keys returns where in the body of a dealer's keys the encrypted key for a holder begins, and its
// size, in bytes.
func (f *Federation) Keys(dealer, holder int) (at, size int) {
	before := holder - 1
	if holder > dealer {
		before--
	}
	return before * SealedKeySize, SealedKeySize
}

// KeysSize returns the size of the body of a client's key message in bytes.
func (f *Federation) KeysSize() int { return (f.Clients() - 1) * SealedKeySize }

// SealedKeySize is the size of the encrypted key for one holder, in bytes. A client's key message
// has one of these for each other client.
var SealedKeySize = seal.SealedSize(len(Hash{}), keySize+identity.SignatureSize)

// LargestBody returns an upper bound on the size of a client message's body, in bytes. It holds for
// vectors of up to length elements and for up to the given number of clients.
func LargestBody(length, clients int) int64 {
	// A deal has 2D columns of ⌈length/(D + 1)⌉ words, where D is how many clients may be missing.
	// D + 1 is at most the number of clients.
	deal := wordSize*(2*length+2*clients) + tagSize*clients
	return int64(max(deal, clients*SealedKeySize))
}

func appendPlace(b []byte, place int) []byte { return wire.AppendUint16(b, uint16(place)) }
