package identity

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// PublicKeySize is the size of a public key in bytes.
	PublicKeySize = ed25519.PublicKeySize
	// SignatureSize is the size of a signature in bytes.
	SignatureSize = ed25519.SignatureSize
)

// ErrPublicKey is returned for bytes that are not an identity's public key.
var ErrPublicKey = errors.New("not a public key of an identity")

// A PublicKey verifies a party's signatures. It is comparable, and can be used as a map key.
type PublicKey [PublicKeySize]byte

// ParsePublicKey returns the public key that consists of the given 32 bytes. It refuses points of
// small order. With such a key, one signature is valid for many messages, and a party could deny
// that it has signed one of them.
func ParsePublicKey(b []byte) (PublicKey, error) {
	if len(b) != PublicKeySize || smallOrder(PublicKey(b)) {
		return PublicKey{}, ErrPublicKey
	}
	return PublicKey(b), nil
}

// Fingerprint returns the SHA-256 of the key.
func (k PublicKey) Fingerprint() Fingerprint { return sha256.Sum256(k[:]) }

// Verify reports whether the holder of k has signed the message under the domain.
func (k PublicKey) Verify(domain Domain, message []byte, signature [SignatureSize]byte) bool {
	return !smallOrder(k) && ed25519.Verify(k[:], signedMessage(domain, message), signature[:])
}

// String returns the key in hexadecimal.
func (k PublicKey) String() string { return hex.EncodeToString(k[:]) }

// MarshalText returns the key in hexadecimal.
func (k PublicKey) MarshalText() ([]byte, error) { return hexText(k[:]), nil }

// UnmarshalText decodes the output of MarshalText. It refuses the same keys as ParsePublicKey.
func (k *PublicKey) UnmarshalText(text []byte) error {
	var b [PublicKeySize]byte
	if !fromHex(b[:], text) {
		return ErrPublicKey
	}
	parsed, err := ParsePublicKey(b[:])
	if err != nil {
		return err
	}
	*k = parsed
	return nil
}

// A Fingerprint identifies a public key. It is the SHA-256 of the key's 32 bytes.
type Fingerprint [sha256.Size]byte

// String returns the full fingerprint as 64 hexadecimal digits.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// Short returns the first 64 bits of the fingerprint in four groups (5ff1-0c4a-…), for people to
// read. With enough computing power, an attacker can find a key with the same short form, so
// programs must compare full fingerprints.
func (f Fingerprint) Short() string {
	var groups [4]string
	for i := range groups {
		groups[i] = hex.EncodeToString(f[2*i : 2*i+2])
	}
	return strings.Join(groups[:], "-")
}

// MarshalText returns the fingerprint in hexadecimal.
func (f Fingerprint) MarshalText() ([]byte, error) { return hexText(f[:]), nil }

// UnmarshalText decodes 64 lower-case hexadecimal digits.
func (f *Fingerprint) UnmarshalText(text []byte) error {
	if !fromHex(f[:], text) {
		return errors.New("not a fingerprint: a fingerprint has 64 hexadecimal digits in lower case")
	}
	return nil
}

// A Pin identifies a party's TLS key. It is the SHA-256 of the key's subject public key info (RFC
// 5280, DER). A connection is accepted only if the peer's key has the right pin.
type Pin [sha256.Size]byte

// String returns the pin in hexadecimal.
func (p Pin) String() string { return hex.EncodeToString(p[:]) }

func hexText(b []byte) []byte { return hex.AppendEncode(nil, b) }

// fromHex decodes lower-case hexadecimal digits into dst. It refuses upper-case digits, so that
// each value has exactly one text form.
func fromHex(dst, text []byte) bool {
	decoded, err := hex.DecodeString(string(text))
	if err != nil || len(decoded) != len(dst) || string(hexText(decoded)) != string(text) {
		return false
	}
	copy(dst, decoded)
	return true
}

// smallOrders lists all encodings, canonical or not, of the eight points of order 1, 2, 4 and 8,
// without the sign of x. RFC 7748 (section 6) warns of these points. Their encodings follow from p
// = 2²⁵⁵ − 19 and the y coordinate of a point of order 8.
var smallOrders = []string{
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}

func smallOrder(k PublicKey) bool {
	k[31] &= 0x7f
	return slices.Contains(smallOrders, k.String())
}

func checkDomain(d Domain) {
	if d == "" || strings.IndexByte(string(d), 0) >= 0 {
		panic(fmt.Sprintf("identity: domain %q is empty or contains a zero byte", string(d)))
	}
}
