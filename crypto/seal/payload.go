package seal

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
)

// payloadInfo names the key of a payload among those that are derived from the key of a file.
const payloadInfo = "payload"

// decrypt appends to plain the plaintext of a file of age with one hybrid stanza. The header is age's own
// work. The payload is not: age reads it through two buffers of a chunk each, which are 128 KiB
// for an answer of any size. It is ChaCha20-Poly1305 in chunks of 64 KiB, with the number of the
// chunk, and whether it is the last, as the nonce, under a key that HKDF-SHA-256 makes of the
// file's (C2SP, "The age file encryption format", section Payload).
func (k *Key) decrypt(plain, sealed []byte) ([]byte, error) {
	file, err := age.DecryptHeader(sealed[:headerSize], k.identity)
	if err != nil {
		return nil, ErrOpen
	}
	defer clear(file)
	salt, rest := sealed[headerSize:headerSize+nonceSize], sealed[headerSize+nonceSize:]
	key, err := hkdf.Key(sha256.New, file, salt, payloadInfo, chacha20poly1305.KeySize)
	if err != nil {
		return nil, ErrOpen
	}
	defer clear(key)
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, ErrOpen
	}
	for n := uint64(0); len(rest) > 0; n++ {
		chunk := rest[:min(len(rest), chunkSize+tagSize)]
		rest = rest[len(chunk):]
		var nonce [chacha20poly1305.NonceSize]byte
		binary.BigEndian.PutUint64(nonce[3:], n)
		if len(rest) == 0 {
			nonce[len(nonce)-1] = 1
		}
		longer, err := aead.Open(plain, nonce[:], chunk, nil)
		if err != nil {
			clear(plain)
			return nil, ErrOpen
		}
		plain = longer
	}
	return plain, nil
}
