// Package keyfile keeps one private key in one file of text that its owner can read
// and nobody else can: comment lines for people, then a line of three words.
//
//	# What this key is for, and what to do with the file.
//	fedpvi-identity-key v1 AAECAwQ…
//
// The third word is the key in base64 (RFC 4648 section 5, unpadded), with eight bytes
// of a checksum after it, so that a damaged file is refused and not taken for another key.
package keyfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"fedpvi/crypto/internal/private"
	"fedpvi/crypto/secret"
)

const (
	version      = "v1"
	checksumSize = 8
	maxKey       = 4 << 10
	maxFile      = 16 << 10
)

// Reasons for which the content of a file is refused.
var (
	errForm     = errors.New("it is not one line with a kind, a version and a key after lines of comment: it was changed; restore it from a backup")
	errVersion  = errors.New("its version is not " + version + ": a newer program wrote it, use that one")
	errChecksum = errors.New("the key does not fit its checksum: the file is damaged; restore it from a backup")
)

var encoding = base64.RawURLEncoding.Strict()

// Create writes key, which is of the kind named, to a new file. It refuses a path where
// something is: no key is ever overwritten. The comment may have several lines and
// must not have the key in it.
func Create(path, kind, comment string, key []byte) error {
	if len(key) > maxKey {
		return fmt.Errorf("a key of %d bytes: at most %d fit in a key file", len(key), maxKey)
	}
	text := encode(kind, comment, key)
	defer clear(text)
	if err := private.Create(path, text); err != nil {
		return fmt.Errorf("key file: %w", err)
	}
	return nil
}

// Load reads a key of the kind named. It refuses a file, or a directory, that is
// open to others, a link, and what is not exactly what Create wrote but for comments.
func Load(path, kind string) (secret.Secret, error) {
	text, err := private.Read(path, maxFile)
	if err != nil {
		return secret.Secret{}, fmt.Errorf("key file: %w", err)
	}
	defer clear(text)
	key, err := decode(kind, text)
	if err != nil {
		return secret.Secret{}, fmt.Errorf("key file %s: %w", path, err)
	}
	return secret.New(key), nil
}

func encode(kind, comment string, key []byte) []byte {
	var b bytes.Buffer
	b.Grow(maxFile) // no copies are left behind
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
		return nil, fmt.Errorf("it is not of kind %s: name another file", kind)
	}
	if string(words[1]) != version {
		return nil, errVersion
	}
	// The decoder would pass over these.
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

// checksum tells a damaged key, and one of another kind, from a whole one. It hides
// nothing: it stands beside the key.
func checksum(kind string, key []byte) []byte {
	h := sha256.New()
	h.Write([]byte(kind + "\x00" + version + "\x00"))
	h.Write(key)
	return h.Sum(nil)[:checksumSize]
}
