package sums

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/sums/field"
	"fedpvi/crypto/sums/packed"
)

// A key is a secret that a dealer has drawn for a holder. Each pair of clients has two, one in each
// direction. The zero key means that the key is not known yet.
type key [keySize]byte

func newKey() (k key) {
	rand.Read(k[:])
	return k
}

const pairDomain identity.Domain = "fedpvi/v1/pair-key"

// errPair has the same text for all causes, so that it reveals nothing about the encrypted content.
var errPair = errors.New("a key from another client cannot be read: it was changed, or was made for another client or study")

// pairContext returns the context for encrypting the key that a dealer draws for a holder. It is a
// hash of the study and the pair, so that the key cannot be used elsewhere.
func (f *Federation) pairContext(dealer, holder int) Hash {
	h := f.chain.Header(pairDomain, 0, Hash{})
	return sha256.Sum256(appendPlace(appendPlace(h.Bytes(), dealer), holder))
}

// sealKey encrypts the key of a pair for the holder. It includes the dealer's signature.
func (f *Federation) sealKey(signer *identity.Identity, dealer, holder int, k key) ([]byte, error) {
	context := f.pairContext(dealer, holder)
	signature := signer.Sign(pairDomain, append(context[:], k[:]...))
	return seal.Seal(f.clients[holder-1].Recipient, context[:], append(k[:], signature[:]...), keySize+identity.SignatureSize)
}

func (f *Federation) openKey(opener *seal.Key, dealer, holder int, sealed []byte) (key, error) {
	context := f.pairContext(dealer, holder)
	plain, err := opener.Open(sealed, context[:], keySize+identity.SignatureSize)
	if err != nil || len(plain) != keySize+identity.SignatureSize {
		return key{}, errPair
	}
	k := key(plain)
	if k == (key{}) || !f.key(dealer).Verify(pairDomain, append(context[:], k[:]...), [identity.SignatureSize]byte(plain[keySize:])) {
		return key{}, errPair
	}
	return k, nil
}

// A dealing identifies a deal. It has the hash of the plan's envelope, the dealer, and a salt that
// the dealer has drawn. The keys of a deal depend on all three, so no key is ever used for two
// deals.
type dealing struct {
	plan   Hash
	dealer int
	salt   Hash
}

// These are the uses of the keys that derive computes from the key of a pair.
const (
	columnUse = "column" // stream of a derived column
	sealUse   = "seal"   // encryption of a column that is sent
	tagUse    = "tag"    // tag of a derived column
)

// derive computes the key for one use in one deal from the key of a pair (HKDF-Expand of RFC 5869
// with SHA-256). The info strings differ between the uses, because they have different lengths.
func (d dealing) derive(pair key, holder int, use string) []byte {
	info := append([]byte("fedpvi/v1/"), use...)
	info = append(info, d.plan[:]...)
	info = appendPlace(appendPlace(info, d.dealer), holder)
	info = append(info, d.salt[:]...)
	k, err := hkdf.Expand(sha256.New, pair[:], string(info), keySize)
	if err != nil {
		panic(err) // happens only for more than 255 blocks
	}
	return k
}

func block(k []byte) cipher.Block {
	b, err := aes.NewCipher(k)
	if err != nil {
		panic(err) // happens only for a key of another length
	}
	return b
}

// aead returns AES-256-GCM. A key is used for only one message, with a nonce of zeros.
func (d dealing) aead(pair key, holder int, use string) cipher.AEAD {
	a, err := cipher.NewGCM(block(d.derive(pair, holder, use)))
	if err != nil {
		panic(err) // happens only for a cipher with another block size
	}
	return a
}

var nonce [12]byte

// A stream generates the words of a column that the dealer does not send. They are taken from the
// key stream of AES-256-CTR.
type stream struct {
	cipher cipher.Stream
	bytes  [packed.Block * wordSize]byte
}

func (d dealing) stream(pair key, holder int) *stream {
	return &stream{cipher: cipher.NewCTR(block(d.derive(pair, holder, columnUse)), make([]byte, aes.BlockSize))}
}

var zeros [packed.Block * wordSize]byte

// read fills dst, which has at most packed.Block words, with the next words. A word is the low 61
// bits of eight bytes. With probability 2⁻⁶¹, it is not a field element, and read skips it.
func (s *stream) read(dst []uint64) {
	for len(dst) > 0 {
		b := s.bytes[:len(dst)*wordSize]
		s.cipher.XORKeyStream(b, zeros[:len(b)])
		if !getBits(dst, b) {
			dst = dst[skip(dst):]
			continue
		}
		return
	}
}

// getBits is like getWords, but uses only the low 61 bits of each word.
func getBits(dst []uint64, b []byte) bool { return decode(dst, b, field.P) }

// skip removes words that are not field elements, and returns how many are left.
func skip(words []uint64) (n int) {
	for _, x := range words {
		if field.Valid(x) {
			words[n] = x
			n++
		}
	}
	return n
}
