// Package keyfile stores a private key in a text file that only its owner can read. The file has
// comment lines for people, and then one line with three words.
//
//	# A comment: the purpose of the key and how to handle the file.
//	fedpvi-identity-key v1 AAECAwQ…
//
// The third word is the key with a checksum of eight bytes, in base64 (RFC 4648 section 5,
// unpadded). Thanks to the checksum, a damaged file cannot be mistaken for another key. If the
// state directory has a [Lock], the text is encrypted.
package keyfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const (
	version      = "v1"
	checksumSize = 8
	maxKey       = 4 << 10
	maxFile      = 16 << 10
)

// ErrDamaged is wrapped by the errors of Load if the key file or the lock file is missing or
// damaged, or if it has a key of another kind.
var ErrDamaged = errors.New("damaged")

// These are the errors of Load for malformed files.
var (
	errForm     = fmt.Errorf("%w: after comments it must have one line with a kind, a version and a key; restore it from a backup", ErrDamaged)
	errVersion  = errors.New("its version is not " + version + ": use the newer program that wrote it")
	errChecksum = fmt.Errorf("%w: the checksum of the key is wrong; restore it from a backup", ErrDamaged)
)

var encoding = base64.RawURLEncoding.Strict()

func encode(kind, comment string, key []byte) []byte {
	var b bytes.Buffer
	b.Grow(maxFile) // allocate the buffer at once, because growing it would leave copies of the key in memory
	for line := range strings.Lines(comment) {
		b.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
	}
	b.WriteString(kind + " " + version + " ")
	checked := append(bytes.Clone(key), checksum(kind, key)...)
	defer clear(checked)
	word := encoding.AppendEncode(nil, checked)
	defer clear(word)
	b.Write(word)
	b.WriteByte('\n')
	return b.Bytes()
}

func decode(kind string, text []byte) ([]byte, error) {
	for bytes.HasPrefix(text, []byte("#")) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	line, rest, ended := bytes.Cut(text, []byte("\n"))
	words := bytes.Split(line, []byte(" "))
	if !ended || len(rest) != 0 || len(words) != 3 {
		return nil, errForm
	}
	if string(words[0]) != kind {
		return nil, fmt.Errorf("%w: its kind is not %s; restore it from a backup", ErrDamaged, kind)
	}
	if string(words[1]) != version {
		return nil, errVersion
	}
	// The base64 decoder ignores line breaks. But a key must have only one text form.
	if bytes.ContainsAny(words[2], "\r\n") {
		return nil, errForm
	}
	checked := make([]byte, encoding.DecodedLen(len(words[2])))
	n, err := encoding.Decode(checked, words[2])
	if err != nil || n < checksumSize || n > maxKey+checksumSize {
		return nil, errForm
	}
	key := checked[: n-checksumSize : n-checksumSize]
	if !bytes.Equal(checksum(kind, key), checked[len(key):n]) {
		return nil, errChecksum
	}
	return key, nil
}

// checksum need not protect the key, because the file has the key itself.
func checksum(kind string, key []byte) []byte {
	h := sha256.New()
	h.Write([]byte(kind + "\x00" + version + "\x00"))
	h.Write(key)
	return h.Sum(nil)[:checksumSize]
}
