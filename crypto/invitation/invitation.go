// Package invitation implements the invitations by which parties join a study. The coordinator
// makes an invitation for a name, and sends it to the party in any way, such as by mail or chat.
// The party redeems it once, with the public key that it will use in the study.
//
// Anyone who has an invitation can join under its name until it is used or expires. The coordinator
// stores a [Ticket] that has only a hash of the invitation's token, so the token cannot be
// recovered from it.
package invitation

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
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
	// Prefix is the beginning of each invitation's text. It has the version of the format.
	Prefix = "fedpvi-invite-1-"
	// MaxText is the maximum length of an invitation's text in bytes.
	MaxText = 4 << 10
	// MaxAddresses is the maximum number of addresses in an invitation.
	MaxAddresses = 8

	maxAddress   = 255 + len(":65535")
	tokenSize    = 32
	checksumSize = 8
)

// A Hash is a SHA-256.
type Hash = [sha256.Size]byte

// ErrForm is returned for a text that is not an invitation. It does not depend on the text.
var ErrForm = errors.New("not a complete invitation: an invitation is one line that begins with " + Prefix + "; copy it again, from the first character to the last")

// An Invitation is a decoded invitation. Only its method Text reveals the secret token.
type Invitation struct {
	Study       Hash
	Name        identity.Name        // the party's name in the study
	Coordinator identity.Fingerprint // fingerprint of the coordinator's identity
	Pin         identity.Pin         // pin of the coordinator's TLS key
	Addresses   []string             // the coordinator's addresses as host:port, in order of preference
	Expires     time.Time            // when the invitation expires, in whole seconds
	Token       secret.Secret        // token of 256 random bits
}

// New returns the invitation i with a new token. It also returns the ticket with which the
// coordinator can check the token later.
func New(i Invitation) (Invitation, Ticket, error) {
	token := make([]byte, tokenSize)
	rand.Read(token) // Read never returns an error: if it fails, crypto/rand aborts the program
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
		return fmt.Errorf("the invitation has %d addresses of the coordinator: give 1 to %d", n, MaxAddresses)
	}
	for n, a := range i.Addresses {
		if err := checkAddress(a); err != nil {
			return fmt.Errorf("address %d of the invitation: %w", n+1, err)
		}
	}
	if i.Expires.Unix() <= 0 {
		return errors.New("the invitation has no time of expiry: give one")
	}
	return nil
}

// checkAddress checks that a consists of a host name or IP address and a port. The error does not
// quote it.
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

// Text returns the invitation as one line: the prefix, followed by letters and digits. Anyone who
// reads this line can join. Mail programs may insert spaces and line breaks or change the case of
// letters, but Parse ignores such changes.
func (i Invitation) Text() string {
	b := i.bytes()
	defer clear(b)
	return Prefix + strings.ToLower(encoding.EncodeToString(append(b, checksum(b)...)))
}

func (i Invitation) bytes() []byte {
	b := bytes.Clone(i.Study[:])
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

// Parse decodes the output of Text. Only the coordinator can tell whether the invitation is
// genuine, unused and still valid.
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
	// The decoder ignores the last bits, which are unused. Encode b again to find out whether they
	// were changed.
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

// maxUnix is the end of the year 9999, the last year that RFC 3339 can represent.
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

// Format prints the result of String for every verb.
func (i Invitation) Format(f fmt.State, _ rune) { io.WriteString(f, i.String()) }

// String returns the name and the expiry time, but not the token.
func (i Invitation) String() string {
	return fmt.Sprintf("invitation of %s until %s", i.Name, i.Expires.Format(time.RFC3339))
}

// LogValue logs the result of String.
func (i Invitation) LogValue() slog.Value { return slog.StringValue(i.String()) }
