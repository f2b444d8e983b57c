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
	// MaxElement is the largest absolute value of an element of a sum.
	MaxElement = field.MaxInteger

	// version is the first byte of every payload and body.
	version = 1

	wordSize = 8  // size of a word in bytes
	tagSize  = 16 // number of bytes that AES-GCM adds
	keySize  = 32
)

// A Hash is a SHA-256.
type Hash = transcript.Hash

// A Federation contains the rules for adding up the clients' vectors: the clients, how many of them
// open a sum, and how large the messages are. Each client has a place, its number from 1 in the
// order of the names. A Federation is immutable.
type Federation struct {
	chain   transcript.Chain // provides the headers of messages and the roster
	clients []roster.Entry   // the client at place p has index p − 1
	scheme  *packed.Scheme
	length  int
	words   int // number of words of a column
}

// New returns the federation of a study whose transcript has begun. fewest is U_min, the number of
// shares that open a sum, and length the number of elements of a vector in all plans. New returns
// an error if fewest is too small for secure sums.
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

// Fewest returns U_min, the number of shares that open a sum.
func (f *Federation) Fewest() int { return f.scheme.Fewest }

// Name returns the name of the client at a place.
func (f *Federation) Name(place int) identity.Name { return f.clients[place-1].Name }

// Place returns the place of a client, or 0 if there is none of this name.
func (f *Federation) Place(name identity.Name) int {
	for i, e := range f.clients {
		if e.Name == name {
			return i + 1
		}
	}
	return 0
}

func (f *Federation) key(place int) identity.PublicKey { return f.clients[place-1].Key }

// sender returns the place of the sender in h, or 0 if it is no client.
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

// pieceSize returns the size of a holder's part of a deal in bytes: the column with this offset, if
// the dealer sends it, or a tag. The dealer's own column is not sent.
func (f *Federation) pieceSize(offset int) int {
	switch {
	case offset < f.scheme.Sent():
		return f.columnSize()
	case offset < f.scheme.Clients-1:
		return tagSize
	}
	return 0
}

// Column returns the offset and the size, in bytes, of a holder's part in the body of a dealer's
// deal.
func (f *Federation) Column(dealer, holder int) (at, size int) {
	offset := f.scheme.Offset(dealer, holder)
	sent := min(offset, f.scheme.Sent())
	return sent*f.columnSize() + (offset-sent)*tagSize, f.pieceSize(offset)
}

// DealSize returns the size of the body of a deal in bytes.
func (f *Federation) DealSize() int {
	return f.scheme.Sent()*f.columnSize() + f.scheme.Hidden()*tagSize
}

// ColumnsSize returns the total size of a holder's parts of all deals in a cut, in bytes.
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

// Keys returns the offset and the size, in bytes, of the encrypted key for a holder in the body of
// a dealer's keys.
func (f *Federation) Keys(dealer, holder int) (at, size int) {
	before := holder - 1
	if holder > dealer {
		before--
	}
	return before * SealedKeySize, SealedKeySize
}

// KeysSize returns the size of the body of a client's keys in bytes.
func (f *Federation) KeysSize() int { return (f.Clients() - 1) * SealedKeySize }

// SealedKeySize is the size of the encrypted key for one holder, in bytes. A client's message with
// keys consists of these.
var SealedKeySize = seal.SealedSize(len(Hash{}), keySize+identity.SignatureSize)

// LargestBody returns an upper bound on the body of a client's message in bytes, for vectors and
// numbers of clients up to the given ones.
func LargestBody(length, clients int) int64 {
	// A deal has 2D columns of ⌈length/(D + 1)⌉ words, where D is the number of clients that may be
	// missing. D + 1 is at most the number of clients.
	deal := wordSize*(2*length+2*clients) + tagSize*clients
	return int64(max(deal, clients*SealedKeySize))
}

func appendPlace(b []byte, place int) []byte { return wire.AppendUint16(b, uint16(place)) }
