package seal

import "bytes"

// The header of an age file for one recipient with a hybrid key has one stanza. Its length and its
// line breaks are always the same:
//
//	age-encryption.org/v1
//	-> mlkem768x25519 <1120 bytes in base64: 1494>
//	<32 bytes in base64: 43>
//	--- <32 bytes in base64: 43>
//
// A nonce follows, then the payload in chunks, each with its tag (C2SP, "The age file encryption
// format").
const (
	intro    = "age-encryption.org/v1\n"
	stanza   = "-> mlkem768x25519 "
	footer   = "--- "
	encWidth = 1494
	b64Width = 43

	stanzaEnd  = len(intro) + len(stanza) + encWidth
	bodyEnd    = stanzaEnd + 1 + b64Width
	headerSize = bodyEnd + 1 + len(footer) + b64Width + 1

	nonceSize = 16
	chunksAt  = headerSize + nonceSize
	chunkSize = 64 << 10
	tagSize   = 16
)

// SealedSize returns the size of a seal for a context and a padded payload of the given sizes, all
// in bytes.
func SealedSize(context, size int) int {
	plain := plainSize(context, size)
	chunks := max(1, (plain+chunkSize-1)/chunkSize)
	return chunksAt + plain + chunks*tagSize
}

// oneHybridStanza reports whether sealed begins with a header for exactly one recipient with a
// hybrid key, so that age's parser never sees another recipient, another kind of key, or a large
// header.
func oneHybridStanza(sealed []byte) bool {
	if len(sealed) < headerSize {
		return false
	}
	header := sealed[:headerSize]
	return bytes.HasPrefix(header, []byte(intro+stanza)) &&
		header[stanzaEnd] == '\n' &&
		header[bodyEnd] == '\n' &&
		bytes.HasPrefix(header[bodyEnd+1:], []byte(footer)) &&
		header[headerSize-1] == '\n' &&
		bytes.Count(header, []byte{'\n'}) == 4
}
