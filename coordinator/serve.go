package coordinator

import (
	"crypto/tls"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
)

// TLS returns the configuration of the coordinator's end of a study's connections.
func (s *Study) TLS() (*tls.Config, error) {
	now := s.hub.options.Now
	party := channel.Party{Study: s.hash, Role: identity.Coordinator, Name: s.name()}
	credentials, err := channel.NewCredentials(party, s.hub.keys.tls, s.fixed.Authority, s.fixed.Certificate, now())
	if err != nil {
		return nil, err
	}
	return channel.Server{Credentials: credentials, Pins: s.pin, Guests: true, Now: now}.Config(), nil
}

// pin looks up the key that a client connects with.
func (s *Study) pin(p channel.Party) (identity.Pin, bool) {
	if p.Study != s.hash || p.Role != identity.Client {
		return identity.Pin{}, false
	}
	m, ok := s.shown.Load().members[p.Name]
	return m.pin, ok
}
