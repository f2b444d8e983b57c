package coordinator

import (
	"crypto/tls"
	"fmt"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/transport/membership"
)

// TLS returns the coordinator's TLS configuration for the next client connection.
func (s *Study) TLS() *tls.Config {
	config, err := s.certifier.tls(s.shown.Load().own, s.hub.options.Now())
	if err != nil {
		s.log.Error("no connection is possible", "error", err)
		// without a certificate, every handshake fails
		return &tls.Config{MinVersion: tls.VersionTLS13}
	}
	return config
}

// OnDrop sets a function that closes a client's connections. It is called when the client's TLS key
// becomes invalid.
func (s *Study) OnDrop(f func(channel.Party)) { s.dropper.Store(&f) }

func (s *Study) drop(p channel.Party) {
	if f := s.dropper.Load(); f != nil {
		(*f)(p)
	}
}

// LargestBody returns the maximum size of an answer's body in bytes.
func (s *Study) LargestBody() int64 { return s.largest }

// largestBody returns an upper bound in bytes on the size of an answer's body. It holds for every
// roster of the study: a release has as many numbers for many clients as for few, the names here are
// the longest, and a message of secure sums is bounded for the most clients.
func largestBody(document *study.Study) (int64, error) {
	secure := document.Federation.Aggregation == study.Secure
	least := document.Federation.Least()
	if least >= roster.MaxParties {
		return 0, fmt.Errorf("federation.min_clients = %d: a study has at most %d clients", least, roster.MaxParties-1)
	}
	clients := make([]pvi.ClientID, least)
	for i := range clients {
		clients[i] = pvi.ClientID(fmt.Sprintf("%0*d", identity.MaxName, i))
	}
	if secure {
		p, err := session.Public(document, clients)
		if err != nil {
			return 0, err
		}
		return sums.LargestBody(p.VectorSize(), roster.MaxParties-1), nil
	}
	size, err := session.MaxRelease(document, clients)
	if err != nil {
		return 0, err
	}
	context := len(signed.Header{Domain: signed.Release}.Bytes())
	return int64(seal.SealedSize(context, size)), nil
}

// Seen records that a message has arrived from a client, even if it is only a keepalive.
func (s *Study) Seen(p channel.Party) {
	if s.knows(p) {
		s.presence.begin(p.Name)()
		s.view.Seen(p.Name, membership.Stream)
	}
}

// pin returns the pin (hash) of a client's TLS key, or false if the client has not joined this
// study.
func (s *Study) pin(p channel.Party) (identity.Pin, bool) {
	if p.Study != s.hash || p.Role != identity.Client {
		return identity.Pin{}, false
	}
	m, ok := s.shown.Load().members[p.Name]
	return m.pin, ok
}
