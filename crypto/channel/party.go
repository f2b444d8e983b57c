// Package channel configures the connections between the parties of a study. All connections use
// mutual TLS 1.3 with the post-quantum key exchange X25519MLKEM768. Each study has its own
// certificate [Authority]. The roster has the pin of each party's key, which is the key's SHA-256.
//
// A connection is accepted only if the peer has a certificate from the study's authority, and the
// pin of the certified key is in the roster. Certificates from public authorities are refused. TLS
// sessions are not resumed, so that each connection is checked completely. The caller supplies the
// clock.
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

// domainName is the domain of all server names. No public authority issues certificates under
// .invalid (RFC 2606).
const domainName = "fedpvi.invalid"

// A Party is the holder of a certificate. The zero Party is a guest, who has no certificate.
type Party struct {
	Study Hash
	Role  identity.Role
	Name  identity.Name
}

var errParty = errors.New("the certificate does not name a party of a study")

// uri returns the URI spiffe://STUDY/ROLE/NAME by which certificates identify the party (SPIFFE-ID,
// section 2). STUDY is in hexadecimal.
func (p Party) uri() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: hex.EncodeToString(p.Study[:]), Path: "/" + p.Role.String() + "/" + string(p.Name)}
}

// partyOf returns the party that a certificate's URIs identify. There must be exactly one, in the
// form of Party.uri.
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

// usage returns the extended key usage for a role: TLS server for the coordinator, and TLS client
// for all others.
func usage(r identity.Role) x509.ExtKeyUsage {
	if r == identity.Coordinator {
		return x509.ExtKeyUsageServerAuth
	}
	return x509.ExtKeyUsageClientAuth
}

// ServerName returns the TLS server name of a study's coordinator. Clients send it unencrypted, so
// its first label is a hash that does not reveal the study.
func ServerName(study Hash) string {
	sum := sha256.Sum256(append([]byte("fedpvi/v1/server-name\x00"), study[:]...))
	label := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20])
	return strings.ToLower(label) + "." + domainName
}

// PeerOf returns the party at the other end of a connection that was configured by this package.
// For a guest, it returns the zero Party. A party may leave the roster while it is connected, so
// callers must look it up in the roster for each request.
func PeerOf(state tls.ConnectionState) (Party, error) {
	if !state.HandshakeComplete {
		return Party{}, errors.New("the peer is not known before the handshake is complete")
	}
	if len(state.PeerCertificates) == 0 {
		return Party{}, nil
	}
	return partyOf(state.PeerCertificates[0].URIs)
}

func pinOf(c *x509.Certificate) identity.Pin { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }
