package channel

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync/atomic"
	"time"
)

// Credentials contain a party's TLS key, and the certificate of this key from the authority of the
// study. The certificate can be renewed while connections use it.
type Credentials struct {
	party     Party
	key       *Key
	authority *x509.Certificate
	current   atomic.Pointer[tls.Certificate]
}

// NewCredentials returns the credentials with the given key and certificate. It checks
// that the authority of the study issued the certificate for this party and key, and that
// the certificate is valid now. The certificates are X.509 in DER.
func NewCredentials(p Party, key *Key, authority, certificate []byte, now time.Time) (*Credentials, error) {
	root, err := parseAuthority(authority, p.Study)
	if err != nil {
		return nil, err
	}
	c := &Credentials{party: p, key: key, authority: root}
	if err := c.Renew(certificate, now); err != nil {
		return nil, err
	}
	return c, nil
}

// Renew replaces the certificate with a newer certificate for the same key. New connections use the
// new certificate. If Renew returns an error, the old certificate stays in use.
func (c *Credentials) Renew(certificate []byte, now time.Time) error {
	leaf, err := x509.ParseCertificate(certificate)
	if err != nil {
		return errors.New("the certificate from the authority is malformed")
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: c.roots(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage(c.party.Role)}}); err != nil {
		return errors.New("the certificate is not from the authority of the study, or not valid now: check the clock, and ask the coordinator to renew the certificate")
	}
	p, err := partyOf(leaf.URIs)
	if err != nil || p != c.party {
		return errors.New("the certificate belongs to another party")
	}
	if key, ok := leaf.PublicKey.(ed25519.PublicKey); !ok || !key.Equal(c.key.public) {
		return errors.New("the certificate belongs to another key than the local one")
	}
	c.current.Store(&tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: c.key, Leaf: leaf})
	return nil
}

// Expires returns the time at which the certificate in use expires.
func (c *Credentials) Expires() time.Time { return c.current.Load().Leaf.NotAfter }

// RenewFrom returns the time at which two thirds of the certificate's validity period have passed.
// From then on, the caller should request a new certificate. The last third remains for retries.
func (c *Credentials) RenewFrom() time.Time { return renewFrom(c.current.Load().Leaf) }

func renewFrom(c *x509.Certificate) time.Time {
	return c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 3)
}

func (c *Credentials) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.authority)
	return pool
}
