package seal

import (
	"crypto/cipher"
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
	aead, err := k.payloadCipher(sealed[:chunksAt])
	if err != nil {
		return nil, err
	}
	rest := sealed[chunksAt:]
	for n := 0; len(rest) > 0; n++ {
		chunk := rest[:min(len(rest), chunkSize+tagSize)]
		rest = rest[len(chunk):]
		longer, err := openChunk(aead, plain, n, chunk, len(rest) == 0)
		if err != nil {
			clear(plain)
			return nil, ErrOpen
		}
		plain = longer
	}
	return plain, nil
}

// payloadCipher returns what opens the chunks that follow the header and the nonce in head.
func (k *Key) payloadCipher(head []byte) (cipher.AEAD, error) {
	file, err := age.DecryptHeader(head[:headerSize], k.identity)
	if err != nil {
		return nil, ErrOpen
	}
	defer clear(file)
	key, err := hkdf.Key(sha256.New, file, head[headerSize:], payloadInfo, chacha20poly1305.KeySize)
	if err != nil {
		return nil, ErrOpen
	}
	defer clear(key)
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, ErrOpen
	}
	return aead, nil
}

// openChunk appends chunk number n, from 0, to plain.
func openChunk(aead cipher.AEAD, plain []byte, n int, chunk []byte, last bool) ([]byte, error) {
	var nonce [chacha20poly1305.NonceSize]byte
	binary.BigEndian.PutUint64(nonce[3:], uint64(n))
	if last {
		nonce[len(nonce)-1] = 1
	}
	return aead.Open(plain, nonce[:], chunk, nil)
}
