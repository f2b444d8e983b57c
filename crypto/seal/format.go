package seal

import "bytes"

// If an age file has one recipient, with a hybrid key, its header has one stanza, which always has
// the same length and line breaks:
//
//	age-encryption.org/v1
//	-> mlkem768x25519 <1120 bytes in base64: 1494>
//	<32 bytes in base64: 43>
//	--- <32 bytes in base64: 43>
//
// Then come a nonce and the payload in chunks, each with its tag (C2SP, "The age file encryption
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

// SealedSize returns the size of a seal, given the sizes of the context and the padded payload. All
// sizes are in bytes.
func SealedSize(context, size int) int {
	plain := plainSize(context, size)
	chunks := max(1, (plain+chunkSize-1)/chunkSize)
	return chunksAt + plain + chunks*tagSize
}

// oneHybridStanza reports whether sealed begins with a header for exactly one recipient with a
// hybrid key. It keeps headers with more recipients, with other kinds of keys, or of large size
// away from age's parser.
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
