package channel

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"
)

// Credentials are a party's TLS key and its certificate from the study's authority.
type Credentials struct {
	party       Party
	authority   *x509.Certificate
	certificate *tls.Certificate
}

// NewCredentials returns the credentials with the given key and certificate. It checks that the
// study's authority has issued the certificate for this party and key, and that the certificate is
// valid now. Certificates are X.509 in DER.
func NewCredentials(p Party, key *Key, authority, certificate []byte, now time.Time) (*Credentials, error) {
	root, err := parseAuthority(authority, p.Study)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(certificate)
	if err != nil {
		return nil, errors.New("the certificate from the authority is malformed")
	}
	c := &Credentials{p, root, &tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key, Leaf: leaf}}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: c.roots(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage(p.Role)}}); err != nil {
		return nil, errors.New("the certificate is not from the authority of the study, or not valid now: check the clock, and ask the coordinator to renew the certificate")
	}
	if named, err := partyOf(leaf.URIs); err != nil || named != p {
		return nil, errors.New("the certificate belongs to another party")
	}
	if public, ok := leaf.PublicKey.(ed25519.PublicKey); !ok || !public.Equal(key.public) {
		return nil, errors.New("the certificate belongs to another key than the local one")
	}
	return c, nil
}

// Expires returns when the certificate expires.
func (c *Credentials) Expires() time.Time { return c.certificate.Leaf.NotAfter }

// RenewFrom returns when to start requesting a new certificate, which is after two thirds of the
// validity period. The last third leaves time for retries.
func (c *Credentials) RenewFrom() time.Time { return renewFrom(c.certificate.Leaf) }

func renewFrom(c *x509.Certificate) time.Time {
	return c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 3)
}

func (c *Credentials) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.authority)
	return pool
}
