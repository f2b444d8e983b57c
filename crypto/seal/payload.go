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
//
// The plaintext may go to the beginning of what is sealed, which is lost then.
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
	inPlace := cap(plain) > 0 && &plain[:1][0] == &sealed[0]
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
		longer, err := openChunk(aead, plain, nonce[:], chunk, inPlace)
		if err != nil {
			clear(plain)
			return nil, ErrOpen
		}
		plain = longer
	}
	return plain, nil
}

// openChunk appends a chunk to what was opened, which may be all that is before it.
func openChunk(aead cipher.AEAD, plain, nonce, chunk []byte, inPlace bool) ([]byte, error) {
	if !inPlace {
		return aead.Open(plain, nonce, chunk, nil)
	}
	opened, err := aead.Open(chunk[:0], nonce, chunk, nil)
	return append(plain, opened...), err
}
