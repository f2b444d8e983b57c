package channel

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
)

const (
	requestDomain identity.Domain = "fedpvi/v1/certificate-request"
	maxRequest                    = 2 << 10
)

// ErrRequest says why a request for a certificate is refused, whatever is wrong with it.
var ErrRequest = errors.New("a request for a certificate that is malformed, or is not signed by the identity, or not with the key for connections, that the roster has for this party")

// NewRequest asks the authority of a study for a certificate: a certificate request
// (PKCS #10, RFC 2986) signed with the key for connections, and signed again by the
// party's identity. It is no secret, and it may be used again to renew.
func NewRequest(signer *identity.Identity, key *Key, p Party) ([]byte, error) {
	template := &x509.CertificateRequest{URIs: []*url.URL{p.uri()}}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, fmt.Errorf("requesting a certificate: %w", err)
	}
	signature := signer.Sign(requestDomain, requestStatement(p.Study, der))
	return append(wire.AppendBytes(nil, der), signature[:]...), nil
}

func requestStatement(study Hash, der []byte) []byte { return append(bytes.Clone(study[:]), der...) }

// checkRequest returns the key that a certificate is asked for, which is the only thing
// that the authority takes from the request.
func checkRequest(request []byte, p Party, holder identity.PublicKey, pin identity.Pin) (ed25519.PublicKey, error) {
	r := wire.NewReader(request)
	der := r.Bytes(maxRequest)
	var signature [identity.SignatureSize]byte
	r.Fixed(signature[:])
	// The signature first: what a stranger wrote is not parsed.
	if !r.Done() || !holder.Verify(requestDomain, requestStatement(p.Study, der), signature) {
		return nil, ErrRequest
	}
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil || csr.CheckSignature() != nil {
		return nil, ErrRequest
	}
	named, err := partyOf(csr.URIs)
	key, ok := csr.PublicKey.(ed25519.PublicKey)
	if err != nil || !ok || named != p || sha256.Sum256(csr.RawSubjectPublicKeyInfo) != pin {
		return nil, ErrRequest
	}
	return key, nil
}
