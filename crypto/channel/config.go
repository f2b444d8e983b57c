package channel

import (
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"time"

	"fedpvi/crypto/identity"
)

// These are the errors of a failed handshake. Their texts do not depend on the peer. The peer
// learns only that its certificate is bad.
var (
	ErrTLS  = errors.New("the connection does not use TLS 1.3 with X25519MLKEM768")
	ErrRole = errors.New("the certificate of the peer does not belong to a party of this study in the expected role")
	ErrPin  = errors.New("the peer is not in the roster, or its key is not the one that the roster pins")
	ErrName = errors.New("the client connects to a study that is not served here")
)

// Pins returns a party's pin (the hash of its TLS key) in the current roster, or false if the party
// is not in the roster. It is called in each handshake.
type Pins func(Party) (identity.Pin, bool)

// A Server is the configuration for the coordinator's side of a study's connections.
type Server struct {
	Credentials *Credentials
	Pins        Pins
	// Guests allows connections without a client certificate, on which a guest can redeem an
	// invitation. PeerOf returns the zero Party for a guest. The caller must refuse all other
	// requests from guests.
	Guests bool
	Now    func() time.Time
}

// Config returns a configuration for crypto/tls. The caller may change it, for example to add
// protocols.
func (s Server) Config() *tls.Config {
	c := base(s.Now)
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if s.Guests {
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
	c.ClientCAs = s.Credentials.roots()
	study := s.Credentials.party.Study
	c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if hello.ServerName != ServerName(study) {
			return nil, ErrName
		}
		return s.Credentials.certificate, nil
	}
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 && s.Guests {
			return checkTLS(state)
		}
		return check(state, study, s.Pins, identity.Client, identity.Admin)
	}
	return c
}

// Serve returns the configuration for a port that serves several studies. The function find returns
// the configuration of the study that has the given server name, or nil.
func Serve(find func(serverName string) *tls.Config) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if c := find(hello.ServerName); c != nil {
				return c, nil
			}
			return nil, ErrName
		},
	}
}

// A Client is the configuration for a party's connection to the coordinator of its study.
type Client struct {
	Credentials *Credentials
	Pins        Pins
	Now         func() time.Time
}

// Config returns a configuration for crypto/tls. The caller may change it.
func (l Client) Config() *tls.Config {
	c := base(l.Now)
	study := l.Credentials.party.Study
	c.ServerName = ServerName(study)
	c.RootCAs = l.Credentials.roots()
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return l.Credentials.certificate, nil
	}
	c.VerifyConnection = func(state tls.ConnectionState) error {
		return check(state, study, l.Pins, identity.Coordinator)
	}
	return c
}

// Join returns the configuration for a party that has an invitation but no certificate. The party
// does not know the study's authority yet, so it relies on the pin in the invitation to
// authenticate the coordinator.
func Join(study Hash, pin identity.Pin, now func() time.Time) *tls.Config {
	return guest(study, now, func(Party) (identity.Pin, bool) { return pin, true })
}

// Return returns the configuration for a party whose certificate has expired, or that does not know
// the coordinator's present TLS key. It authenticates neither side. The party must send only public
// bytes, and must verify the coordinator's signature on everything that it receives.
func Return(study Hash, now func() time.Time) *tls.Config { return guest(study, now, nil) }

// guest returns the configuration for a party without a certificate. If pins is nil, the
// coordinator may have any key.
func guest(study Hash, now func() time.Time, pins Pins) *tls.Config {
	c := base(now)
	c.ServerName = ServerName(study)
	c.InsecureSkipVerify = true // VerifyConnection checks the pin instead of the certificate chain
	c.VerifyConnection = func(state tls.ConnectionState) error {
		pins := pins
		if pins == nil {
			if len(state.PeerCertificates) == 0 {
				return ErrRole
			}
			pins = func(Party) (identity.Pin, bool) { return pinOf(state.PeerCertificates[0]), true }
		}
		if err := check(state, study, pins, identity.Coordinator); err != nil {
			return err
		}
		leaf := state.PeerCertificates[0]
		if t := now(); t.Before(leaf.NotBefore) || t.After(leaf.NotAfter) {
			return errors.New("the certificate of the coordinator is not valid now: check the clock")
		}
		return leaf.VerifyHostname(c.ServerName)
	}
	return c
}

func base(now func() time.Time) *tls.Config {
	return &tls.Config{
		MinVersion:       tls.VersionTLS13,
		CurvePreferences: []tls.CurveID{tls.X25519MLKEM768},
		// The roster would not be checked when a session is resumed.
		SessionTicketsDisabled: true,
		Time:                   now,
	}
}

func checkTLS(state tls.ConnectionState) error {
	if state.Version != tls.VersionTLS13 || state.CurveID != tls.X25519MLKEM768 || state.DidResume {
		return ErrTLS
	}
	return nil
}

// check checks the party at the other end of a connection. The certificate chain is checked
// separately.
func check(state tls.ConnectionState, study Hash, pins Pins, roles ...identity.Role) error {
	if err := checkTLS(state); err != nil {
		return err
	}
	if len(state.PeerCertificates) == 0 {
		return ErrRole
	}
	leaf := state.PeerCertificates[0]
	p, err := partyOf(leaf.URIs)
	if err != nil || p.Study != study || !slices.Contains(roles, p.Role) || !slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{usage(p.Role)}) {
		return ErrRole
	}
	want, ok := pins(p)
	got := pinOf(leaf)
	if !ok || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		return ErrPin
	}
	return nil
}
