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

// ErrRequest is returned for any invalid certificate request.
var ErrRequest = errors.New("the request for a certificate is malformed, or not signed with the identity and the TLS key that the roster has for this party")

// NewRequest returns a message that requests a certificate from a study's authority. It has a
// certificate request (PKCS #10, RFC 2986), which is signed with the TLS key, and a signature of
// this by the party's identity. The message is not secret. It can be sent again to renew the
// certificate.
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

// checkRequest verifies a certificate request and returns the key to be certified.
func checkRequest(request []byte, p Party, holder identity.PublicKey, pin identity.Pin) (ed25519.PublicKey, error) {
	r := wire.NewReader(request)
	der := r.Bytes(maxRequest)
	var signature [identity.SignatureSize]byte
	r.Fixed(signature[:])
	// Verify the signature first, so that requests from unknown senders are never parsed.
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

// RequestOf returns the party in a certificate request, without verifying the request.
func RequestOf(request []byte) (Party, error) {
	r := wire.NewReader(request)
	csr, err := x509.ParseCertificateRequest(r.Bytes(maxRequest))
	if err != nil {
		return Party{}, ErrRequest
	}
	p, err := partyOf(csr.URIs)
	if err != nil {
		return Party{}, ErrRequest
	}
	return p, nil
}
