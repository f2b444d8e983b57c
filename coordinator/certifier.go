package coordinator

import (
	"crypto/tls"
	"sync"
	"time"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/roster"
)

// A certifier holds a study's certificate authority and the coordinator's own certificate, and
// renews both before they expire. Renewed certificates are not stored, because a restarted
// coordinator can make new ones with the same keys.
type certifier struct {
	study *Study

	mu        sync.Mutex
	authority *channel.Authority
	config    *tls.Config
	of        roster.Entry // the coordinator's roster entry for which config was made
	until     time.Time    // when config must be replaced because its certificate must be renewed
}

// newCertifier loads the newest authority key of the study. The store has the certificate of the
// first key. For a later key, newCertifier makes a new certificate.
func newCertifier(s *Study) (*certifier, error) {
	path := s.hub.files.authority(s.hash)
	paths, err := keyfile.Versions(path)
	if err != nil {
		return nil, err
	}
	c := &certifier{study: s}
	if n := len(paths); n > 1 {
		now := s.hub.options.Now()
		c.authority, err = channel.OpenAuthority(s.hub.files.lock, paths[n-1], s.hash, now, now.Add(defaultValid))
	} else {
		c.authority, err = channel.LoadAuthority(s.hub.files.lock, path, s.fixed.Authority, s.hash)
	}
	return c, err
}

// at returns the authority with a certificate that is valid now. It renews the certificate once two
// thirds of the validity period have passed.
func (c *certifier) at(now time.Time) (*channel.Authority, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.renewed(now)
}

func (c *certifier) renewed(now time.Time) (*channel.Authority, error) {
	if now.Before(c.authority.RenewFrom()) {
		return c.authority, nil
	}
	a, err := c.authority.Renew(now, now.Add(defaultValid))
	if err != nil {
		return nil, err
	}
	c.authority, c.config = a, nil
	return a, nil
}

func (c *certifier) use(a *channel.Authority) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.authority, c.config = a, nil
}

// tls returns the TLS configuration for client connections. The keys are those in own, the
// coordinator's present roster entry.
func (c *certifier) tls(own roster.Entry, now time.Time) (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	authority, err := c.renewed(now)
	if err != nil {
		return nil, err
	}
	if c.config != nil && c.of.Signature == own.Signature && now.Before(c.until) {
		return c.config, nil
	}
	s := c.study
	who, key, err := s.hub.keys.privateKeys(own)
	if err != nil {
		return nil, err
	}
	party := channel.Party{Study: s.hash, Role: identity.Coordinator, Name: own.Name}
	request, err := channel.NewRequest(who, key, party)
	if err != nil {
		return nil, err
	}
	certificate, err := authority.Issue(request, party, own.Key, own.Pin, now, now.Add(certified))
	if err != nil {
		return nil, err
	}
	credentials, err := channel.NewCredentials(party, key, authority.Certificate(), certificate, now)
	if err != nil {
		return nil, err
	}
	c.config = channel.Server{Credentials: credentials, Pins: s.pin, Guests: true, Now: s.hub.options.Now}.Config()
	c.of, c.until = own, credentials.RenewFrom()
	return c.config, nil
}
