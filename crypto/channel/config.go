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

// Reasons to end a handshake. Their text never depends on the other end, which sees only
// that its certificate is bad.
var (
	ErrTLS  = errors.New("a connection that is not TLS 1.3 with X25519MLKEM768")
	ErrRole = errors.New("the other end has a certificate that is not of a party of this study in the role expected here")
	ErrPin  = errors.New("the other end has another key than the roster pins for it, or is not in the roster: ask the coordinator, by another way, which key is right")
	ErrName = errors.New("a call for another study than the ones served here")
)

// Pins look up the pin of a party in the roster in force, at every handshake. It reports
// false for who is not in it.
type Pins func(Party) (identity.Pin, bool)

// A Server is the coordinator's end of the connections of one study.
type Server struct {
	Credentials *Credentials
	Pins        Pins
	// Guests lets those connect who show no certificate, to redeem an invitation.
	// They are the zero Party to PeerOf, and must be refused everything else.
	Guests bool
	Now    func() time.Time
}

// Config returns the configuration for crypto/tls. It belongs to the caller, who may add
// protocols to it.
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
		return s.Credentials.current.Load(), nil
	}
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 && s.Guests {
			return checkTLS(state)
		}
		return check(state, study, s.Pins, identity.Client, identity.Admin)
	}
	return c
}

// Serve returns the configuration of a port on which several studies are served: find
// returns the one of a study by its ServerName, or nil.
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

// A Client is the end of a party that calls the coordinator of its study.
type Client struct {
	Credentials *Credentials
	Pins        Pins
	Now         func() time.Time
}

// Config returns the configuration for crypto/tls. It belongs to the caller.
func (l Client) Config() *tls.Config {
	c := base(l.Now)
	study := l.Credentials.party.Study
	c.ServerName = ServerName(study)
	c.RootCAs = l.Credentials.roots()
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return l.Credentials.current.Load(), nil
	}
	c.VerifyConnection = func(state tls.ConnectionState) error {
		return check(state, study, l.Pins, identity.Coordinator)
	}
	return c
}

// Join returns the configuration of a party that has an invitation and no certificate.
// The pin in the invitation says who the coordinator is: no authority is known yet, and
// none is asked.
func Join(study Hash, pin identity.Pin, now func() time.Time) *tls.Config {
	c := base(now)
	c.ServerName = ServerName(study)
	c.InsecureSkipVerify = true // of chains: what follows is stricter
	c.VerifyConnection = func(state tls.ConnectionState) error {
		pins := func(Party) (identity.Pin, bool) { return pin, true }
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
		// A resumed session would not look at the roster as it is now.
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

// check is what both ends ask in addition to a chain to the authority.
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
