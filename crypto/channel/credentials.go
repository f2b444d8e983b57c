package channel

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync/atomic"
	"time"
)

// Credentials are what a party shows at its end of a connection: its key, and the
// certificate that the authority of the study gave for it, which can be renewed while
// connections use it.
type Credentials struct {
	party     Party
	key       *Key
	authority *x509.Certificate
	current   atomic.Pointer[tls.Certificate]
}

// NewCredentials puts a key and its certificate together and checks that the authority
// of the study gave it, for this party and key, and that it is valid now.
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

// Renew takes a newer certificate of the same key, for connections from then on. A
// certificate that is refused leaves the one before in use.
func (c *Credentials) Renew(certificate []byte, now time.Time) error {
	leaf, err := x509.ParseCertificate(certificate)
	if err != nil {
		return errors.New("the certificate that the authority gave is malformed")
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: c.roots(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage(c.party.Role)}}); err != nil {
		return errors.New("the certificate is not of the authority of the study, or not valid now: check the clock, and ask the coordinator to renew it")
	}
	p, err := partyOf(leaf.URIs)
	if err != nil || p != c.party {
		return errors.New("the certificate is of another party")
	}
	if key, ok := leaf.PublicKey.(ed25519.PublicKey); !ok || !key.Equal(c.key.public) {
		return errors.New("the certificate is of another key than the one here")
	}
	c.current.Store(&tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: c.key, Leaf: leaf})
	return nil
}

// Expires returns the end of the certificate in use.
func (c *Credentials) Expires() time.Time { return c.current.Load().Leaf.NotAfter }

// RenewFrom returns when to ask for a new certificate: after two thirds of its time, so
// that there is a third left to succeed in.
func (c *Credentials) RenewFrom() time.Time {
	leaf := c.current.Load().Leaf
	return leaf.NotAfter.Add(-leaf.NotAfter.Sub(leaf.NotBefore) / 3)
}

func (c *Credentials) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.authority)
	return pool
}
