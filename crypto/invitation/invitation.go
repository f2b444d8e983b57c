// Package invitation is how a party comes into a study: the coordinator makes one for a
// name, somebody carries it to the party by mail, chat or voice of their own choice, and
// the party redeems it once, for the key that it made.
//
// The holder of an invitation can join in its name until it is used or expires. The
// coordinator keeps a [Ticket] with the hash of its token, from which it cannot be made.
package invitation

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/secret"
)

const (
	// Prefix is what an invitation begins with; the number is the version.
	Prefix = "fedpvi-invite-1-"
	// MaxText is the longest text of an invitation, in bytes.
	MaxText = 4 << 10
	// MaxAddresses is the most addresses in one.
	MaxAddresses = 8

	maxAddress   = 255 + len(":65535")
	tokenSize    = 32
	checksumSize = 8
)

// A Hash is a SHA-256.
type Hash = [sha256.Size]byte

// ErrForm says that a text is no invitation. Its text does not depend on it.
var ErrForm = errors.New("not an invitation, or not all of it: it is one line that begins with " + Prefix + "; copy it again, from the first character to the last")

// An Invitation is what its text says. Only Text shows the token.
type Invitation struct {
	Study       Hash
	Name        identity.Name        // that the party will have
	Coordinator identity.Fingerprint // who alone may answer
	Pin         identity.Pin         // of the coordinator's key for TLS
	Addresses   []string             // host:port, the first is tried first
	Expires     time.Time            // in whole seconds
	Token       secret.Secret        // 256 random bits
}

// New makes an invitation of what i says and a new token, whatever token i has, and the
// ticket by which its maker knows it again.
func New(i Invitation) (Invitation, Ticket, error) {
	token := make([]byte, tokenSize)
	rand.Read(token) // never fails: crypto/rand aborts the program instead
	i.Token = secret.New(token)
	i.Expires = i.Expires.UTC().Truncate(time.Second)
	if err := i.check(); err != nil {
		return Invitation{}, Ticket{}, err
	}
	return i, Ticket{Study: i.Study, Name: i.Name, TokenHash: tokenHash(i.Study, token), Expires: i.Expires}, nil
}

func (i Invitation) check() error {
	if _, err := identity.ParseName(string(i.Name)); err != nil {
		return err
	}
	if n := len(i.Addresses); n < 1 || n > MaxAddresses {
		return fmt.Errorf("an invitation with %d addresses of the coordinator: give 1 to %d", n, MaxAddresses)
	}
	for n, a := range i.Addresses {
		if err := checkAddress(a); err != nil {
			return fmt.Errorf("address %d of the invitation: %w", n+1, err)
		}
	}
	if i.Expires.Unix() <= 0 {
		return errors.New("an invitation without an end: say when it expires")
	}
	return nil
}

// checkAddress refuses what is not a host name or an IP address and a port. The text is
// not part of the error.
func checkAddress(a string) error {
	bad := errors.New("not host:port with a name or an IP address and a port from 1 to 65535")
	host, port, err := net.SplitHostPort(a)
	if err != nil || len(a) > maxAddress {
		return bad
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != port || net.JoinHostPort(host, port) != a {
		return bad
	}
	if net.ParseIP(host) == nil && !isHostName(host) {
		return bad
	}
	return nil
}

func isHostName(host string) bool {
	for label := range strings.SplitSeq(host, ".") {
		if len(label) == 0 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
			return false
		}
	}
	return len(host) <= 255
}

var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// Text returns the invitation in one line of letters and digits after the prefix, with
// the token in it: whoever reads the line can join. It survives changes of case, and
// spaces and line breaks that mail puts in.
func (i Invitation) Text() string {
	b := i.append(nil)
	defer clear(b)
	return Prefix + strings.ToLower(encoding.EncodeToString(append(b, checksum(b)...)))
}

func (i Invitation) append(b []byte) []byte {
	b = append(b, i.Study[:]...)
	b = append(b, i.Coordinator[:]...)
	b = append(b, i.Pin[:]...)
	b = wire.AppendUint64(b, uint64(i.Expires.Unix()))
	b = append(b, i.Token.Reveal()...)
	b = wire.AppendBytes(b, string(i.Name))
	b = append(b, byte(len(i.Addresses)))
	for _, a := range i.Addresses {
		b = wire.AppendBytes(b, a)
	}
	return b
}

// Parse reads what Text wrote. It does not know whether the invitation expired, was used
// or was ever made: its maker does.
func Parse(text string) (Invitation, error) {
	if len(text) > MaxText {
		return Invitation{}, ErrForm
	}
	text = strings.ToLower(strings.Join(strings.Fields(text), ""))
	body, ok := strings.CutPrefix(text, Prefix)
	if !ok {
		return Invitation{}, ErrForm
	}
	b, err := encoding.DecodeString(strings.ToUpper(body))
	// The decoder passes over loose last bits.
	if err != nil || len(b) < checksumSize || strings.ToLower(encoding.EncodeToString(b)) != body {
		return Invitation{}, ErrForm
	}
	b, sum := b[:len(b)-checksumSize], b[len(b)-checksumSize:]
	if string(checksum(b)) != string(sum) {
		return Invitation{}, ErrForm
	}
	return decode(b)
}

func decode(b []byte) (Invitation, error) {
	var i Invitation
	r := wire.NewReader(b)
	r.Fixed(i.Study[:])
	r.Fixed(i.Coordinator[:])
	r.Fixed(i.Pin[:])
	expires := int64(r.Uint64())
	i.Expires = time.Unix(expires, 0).UTC()
	token := make([]byte, tokenSize)
	r.Fixed(token)
	i.Token = secret.New(token)
	i.Name = identity.Name(r.Bytes(identity.MaxName))
	for n := r.Uint8(); n > 0 && !r.Failed(); n-- {
		i.Addresses = append(i.Addresses, string(r.Bytes(maxAddress)))
	}
	if !r.Done() || expires > maxUnix || i.check() != nil {
		return Invitation{}, ErrForm
	}
	return i, nil
}

// maxUnix is the end of the year 9999, after which times have no text.
const maxUnix = 253402300799

func checksum(b []byte) []byte {
	sum := sha256.Sum256(append([]byte("fedpvi/v1/invitation-text\x00"), b...))
	return sum[:checksumSize]
}

func tokenHash(study Hash, token []byte) Hash {
	h := sha256.New()
	h.Write([]byte("fedpvi/v1/token\x00"))
	h.Write(study[:])
	h.Write(token)
	return Hash(h.Sum(nil))
}

// Format prints what is not secret, for every verb.
func (i Invitation) Format(f fmt.State, _ rune) { io.WriteString(f, i.String()) }

// String says for whom the invitation is, and until when, without the token.
func (i Invitation) String() string {
	return fmt.Sprintf("invitation of %s until %s", i.Name, i.Expires.Format(time.RFC3339))
}

// LogValue logs what String says.
func (i Invitation) LogValue() slog.Value { return slog.StringValue(i.String()) }

// sameHash takes the same time wherever two hashes differ.
func sameHash(a, b Hash) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }
