package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"fedpvi/crypto/identity"
)

// A Hash is a SHA-256 hash. Its text form is hexadecimal.
type Hash [sha256.Size]byte

// String returns 64 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the hash in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText decodes 64 hexadecimal digits.
func (h *Hash) UnmarshalText(text []byte) error { return fromHex(h[:], text) }

type signature [identity.SignatureSize]byte

func (s signature) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(s[:])), nil }

func (s *signature) UnmarshalText(text []byte) error { return fromHex(s[:], text) }

func fromHex(dst, text []byte) error {
	if len(text) != hex.EncodedLen(len(dst)) {
		return errors.New("a hexadecimal number of the wrong length")
	}
	_, err := hex.Decode(dst, text)
	return err
}

// recordsDomain is the signature domain for the secret key of [NameRecords]. The key is a signature
// that nobody sees.
const recordsDomain identity.Domain = "fedpvi/v1/records"

// NameRecords returns a hash that identifies a record file in the ledger. The function read writes
// the bytes of the file to named. The hash is keyed, so that only the holder of the private key can
// compute it. Otherwise a reader of an exported ledger could guess the records and check the guess.
func NameRecords(holder *identity.Identity, read func(named io.Writer) error) (Hash, error) {
	key := holder.Sign(recordsDomain, nil)
	defer clear(key[:])
	mac := hmac.New(sha256.New, key[:])
	if err := read(mac); err != nil {
		return Hash{}, err
	}
	return Hash(mac.Sum(nil)), nil
}
