package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"fedpvi/crypto/identity"
)

// A Hash is a SHA-256, in hexadecimal where people read it.
type Hash [sha256.Size]byte

// String returns 64 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText encodes the hash as String does.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText decodes 64 hexadecimal digits.
func (h *Hash) UnmarshalText(text []byte) error { return fromHex(h[:], text) }

type signature [identity.SignatureSize]byte

func (s signature) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(s[:])), nil }

func (s *signature) UnmarshalText(text []byte) error { return fromHex(s[:], text) }

func fromHex(dst, text []byte) error {
	if len(text) != hex.EncodedLen(len(dst)) {
		return errors.New("a number in hexadecimal of the wrong length")
	}
	_, err := hex.Decode(dst, text)
	return err
}

// recordsDomain is for signatures that are shown to nobody: they key the names of files.
const recordsDomain identity.Domain = "fedpvi/v1/records"

// NameRecords names the content of a file of records while read reads it: the same for the
// same bytes, and of no use to anybody without the holder's key. A plain hash in a ledger
// that is shown to others would let them try which records are in the file. What is named
// is what was read, whatever becomes of the file meanwhile, and what read left of it.
func NameRecords(holder *identity.Identity, r io.Reader, read func(io.Reader) error) (Hash, error) {
	key := holder.Sign(recordsDomain, nil)
	defer clear(key[:])
	mac := hmac.New(sha256.New, key[:])
	if err := read(io.TeeReader(r, mac)); err != nil {
		return Hash{}, err
	}
	if _, err := io.Copy(mac, r); err != nil {
		return Hash{}, err
	}
	return Hash(mac.Sum(nil)), nil
}
