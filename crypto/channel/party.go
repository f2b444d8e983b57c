// Package channel is who may be at the other end of a connection: mutual TLS 1.3 between
// the parties of a study, with the post-quantum key exchange X25519MLKEM768 and nothing
// older, certificates from an [Authority] that the study has for itself, and a pin of
// the one key that a party may show.
//
// A certificate that the public authorities vouch for is worth nothing here, and one of
// the right authority is worth nothing with another key than the roster pins. There is
// no resumption of sessions: every connection is checked in full. Time comes from the
// caller.
package channel

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"net/url"
	"strings"

	"fedpvi/crypto/identity"
)

// A Hash is a SHA-256.
type Hash = [sha256.Size]byte

// domainName is what the names of servers end in: no public authority certifies names
// under it (RFC 2606).
const domainName = "fedpvi.invalid"

// A Party is who a certificate says that its holder is. The zero Party is a guest, who
// showed none.
type Party struct {
	Study Hash
	Role  identity.Role
	Name  identity.Name
}

var errParty = errors.New("a certificate that names no party of a study")

// uri is spiffe://STUDY/ROLE/NAME, with the study in hexadecimal (SPIFFE-ID, section 2).
func (p Party) uri() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: hex.EncodeToString(p.Study[:]), Path: "/" + p.Role.String() + "/" + string(p.Name)}
}

// partyOf reads the one name of a certificate, in the one way to write it.
func partyOf(uris []*url.URL) (Party, error) {
	if len(uris) != 1 {
		return Party{}, errParty
	}
	study, err := hex.DecodeString(uris[0].Host)
	words := strings.Split(uris[0].Path, "/")
	if err != nil || len(study) != len(Hash{}) || len(words) != 3 {
		return Party{}, errParty
	}
	role, err := identity.ParseRole(words[1])
	if err != nil {
		return Party{}, errParty
	}
	name, err := identity.ParseName(words[2])
	if err != nil {
		return Party{}, errParty
	}
	p := Party{Hash(study), role, name}
	if p.uri().String() != uris[0].String() {
		return Party{}, errParty
	}
	return p, nil
}

// usage is what the key of a party in this role is for: the coordinator is called, the
// others call.
func usage(r identity.Role) x509.ExtKeyUsage {
	if r == identity.Coordinator {
		return x509.ExtKeyUsageServerAuth
	}
	return x509.ExtKeyUsageClientAuth
}

// ServerName is the name under which the coordinator of a study is called, in the
// certificate and in the clear when a connection begins. The study cannot be read from it.
func ServerName(study Hash) string {
	sum := sha256.Sum256(append([]byte("fedpvi/v1/server-name\x00"), study[:]...))
	label := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20])
	return strings.ToLower(label) + "." + domainName
}

// PeerOf returns who is at the other end of a connection that was made with a
// configuration of this package: the zero Party for a guest, who may join and do
// nothing else. Parties leave the roster while they are connected: who answers a call
// looks the party up again.
func PeerOf(state tls.ConnectionState) (Party, error) {
	if !state.HandshakeComplete {
		return Party{}, errors.New("who is at the other end is not known before the handshake is over")
	}
	if len(state.PeerCertificates) == 0 {
		return Party{}, nil
	}
	return partyOf(state.PeerCertificates[0].URIs)
}

func pinOf(c *x509.Certificate) identity.Pin { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }
