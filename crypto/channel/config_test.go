package channel

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"fedpvi/crypto/identity"
)

func TestPartiesConnect(t *testing.T) {
	s := newStudy(t, Hash{1})
	client, server := connect(t, s.client().Config(), s.server().Config())
	if client.err != nil || server.err != nil {
		t.Fatal(client.err, server.err)
	}
	for name, at := range map[string]tls.ConnectionState{"client": client.state, "server": server.state} {
		if at.Version != tls.VersionTLS13 || at.CurveID != tls.X25519MLKEM768 || at.DidResume {
			t.Errorf("%s: %x, %v, resumed %v", name, at.Version, at.CurveID, at.DidResume)
		}
	}
	if p, err := PeerOf(server.state); err != nil || p != s.north.party {
		t.Errorf("the server sees %v, %v", p, err)
	}
	if p, err := PeerOf(client.state); err != nil || p != s.hub.party {
		t.Errorf("the client sees %v, %v", p, err)
	}
	if _, err := PeerOf(tls.ConnectionState{}); err == nil {
		t.Error("a peer is known before the handshake")
	}
}

func TestAdminsConnect(t *testing.T) {
	s := newStudy(t, Hash{1})
	admin := newMember(t, Hash{1}, identity.Admin, "ops")
	s.pins[admin.party] = admin.key.Pin()
	_, server := connect(t, Client{admin.credentials(t, s.authority), s.find, clock(today)}.Config(), s.server().Config())
	if p, err := PeerOf(server.state); err != nil || server.err != nil || p != admin.party {
		t.Errorf("%v, %v, %v", p, err, server.err)
	}
}

// leafOf returns the certificate fields that the authority would set for p.
func leafOf(p Party) *x509.Certificate {
	return &x509.Certificate{
		NotBefore: today.Add(-Skew), NotAfter: end, URIs: []*url.URL{p.uri()},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage(p.Role)}, DNSNames: []string{ServerName(p.Study)},
	}
}

//abuse:case A08 the handshake fails for a client with a wrong key, certificate or role
func TestInvalidClientsAreRefused(t *testing.T) {
	s := newStudy(t, Hash{1})
	other := newAuthorityOf(t, Hash{1})
	stranger := newMember(t, Hash{1}, identity.Client, "stranger")
	twin := newMember(t, Hash{1}, identity.Client, "north")
	changed := func(change func(c *tls.Config)) func() *tls.Config {
		return func() *tls.Config {
			c := s.client().Config()
			change(c)
			return c
		}
	}
	// pinned returns a configuration whose key is in the roster. Apart from the modification by
	// change, its certificate is valid.
	pinned := func(a *Authority, change func(leaf *x509.Certificate)) func() *tls.Config {
		return func() *tls.Config {
			leaf := leafOf(s.north.party)
			change(leaf)
			c, pin := shows(t, s.client().Config(), a, leaf)
			if p, err := partyOf(leaf.URIs); err == nil {
				s.pins[p] = pin
			}
			return c
		}
	}
	renamed := func(p Party) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.URIs = []*url.URL{p.uri()} }
	}
	for _, tc := range []struct {
		name   string
		client func() *tls.Config
		want   error // expected error; nil if the error comes from crypto/tls
	}{
		{"no certificate", changed(func(c *tls.Config) { c.GetClientCertificate = nil }), nil},
		{"not in the roster", func() *tls.Config {
			return Client{stranger.credentials(t, s.authority), s.find, clock(today)}.Config()
		}, ErrPin},
		{"another key under the same name", func() *tls.Config {
			return Client{twin.credentials(t, s.authority), s.find, clock(today)}.Config()
		}, ErrPin},
		{"TLS 1.2", changed(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }), nil},
		{"no post-quantum key exchange", changed(func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256} }), nil},
		{"another post-quantum key exchange", changed(func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.SecP256r1MLKEM768} }), nil},
		{"for another study", changed(func(c *tls.Config) { c.ServerName = ServerName(Hash{2}) }), ErrName},
		{"without a server name", changed(func(c *tls.Config) { c.ServerName, c.InsecureSkipVerify = "", true }), ErrName},
		{"of another authority", pinned(other, func(*x509.Certificate) {}), nil},
		{"expired", pinned(s.authority, func(c *x509.Certificate) { c.NotAfter = today.Add(-time.Second) }), nil},
		{"not valid yet", pinned(s.authority, func(c *x509.Certificate) { c.NotBefore = today.Add(time.Second) }), nil},
		{"for servers", pinned(s.authority, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), nil},
		{"for clients and servers", pinned(s.authority, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
		}), ErrRole},
		{"for anything", pinned(s.authority, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} }), ErrRole},
		{"a coordinator as a client", pinned(s.authority, renamed(Party{Hash{1}, identity.Coordinator, "hub-2"})), ErrRole},
		{"no name", pinned(s.authority, func(c *x509.Certificate) { c.URIs = nil }), ErrRole},
		{"two names", pinned(s.authority, func(c *x509.Certificate) { c.URIs = append(c.URIs, Party{Hash{1}, identity.Admin, "ops"}.uri()) }), ErrRole},
		{"of another study of this authority", pinned(s.authority, renamed(Party{Hash{2}, identity.Client, "north"})), nil},
	} {
		config := tc.client()
		client, server := connect(t, config, s.server().Config())
		if server.err == nil || client.err == nil || tc.want != nil && !errors.Is(server.err, tc.want) {
			t.Errorf("%s: server %v, client %v", tc.name, server.err, client.err)
		}
	}
	s.pins[s.north.party] = s.north.key.Pin()
	if client, server := connect(t, s.client().Config(), s.server().Config()); client.err != nil || server.err != nil {
		t.Error("the valid client was refused:", client.err, server.err)
	}
	delete(s.pins, s.north.party)
	if _, server := connect(t, s.client().Config(), s.server().Config()); !errors.Is(server.err, ErrPin) {
		t.Error("a client that left the roster connects:", server.err)
	}
}

//abuse:case A09 the handshake fails for another key than the pinned one, even with a valid certificate
func TestInvalidServersAreRefused(t *testing.T) {
	s := newStudy(t, Hash{1})
	other := newAuthorityOf(t, Hash{1})
	twin := newMember(t, Hash{1}, identity.Coordinator, "hub")
	shown := s.hub.key.Pin() // the coordinator's pin in the invitation
	pinned := func(a *Authority, change func(leaf *x509.Certificate)) func() *tls.Config {
		return func() *tls.Config {
			leaf := leafOf(s.hub.party)
			change(leaf)
			var c *tls.Config
			c, shown = shows(t, s.server().Config(), a, leaf)
			if p, err := partyOf(leaf.URIs); err == nil {
				s.pins[p] = shown
			}
			return c
		}
	}
	changed := func(change func(c *tls.Config)) func() *tls.Config {
		return func() *tls.Config {
			c := s.server().Config()
			change(c)
			return c
		}
	}
	for _, tc := range []struct {
		name   string
		server func() *tls.Config
		want   error
	}{
		{"another key under the same name", func() *tls.Config {
			shown = s.hub.key.Pin()
			return Server{twin.credentials(t, s.authority), s.find, false, clock(today)}.Config()
		}, ErrPin},
		{"TLS 1.2", changed(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }), nil},
		{"no post-quantum key exchange", changed(func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.X25519} }), nil},
		// The name is right and the key is pinned, so only the authority can be the reason to
		// refuse.
		{"of another authority", pinned(other, func(*x509.Certificate) {}), nil},
		{"under another name", pinned(s.authority, func(c *x509.Certificate) { c.DNSNames = []string{ServerName(Hash{2})} }), nil},
		{"expired", pinned(s.authority, func(c *x509.Certificate) { c.NotAfter = today.Add(-time.Second) }), nil},
		{"for clients", pinned(s.authority, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), nil},
		{"a client as a server", pinned(s.authority, func(c *x509.Certificate) { c.URIs = []*url.URL{s.north.party.uri()} }), ErrRole},
	} {
		server := tc.server()
		server.ClientAuth = tls.RequestClientCert
		server.VerifyConnection = nil
		for name, client := range map[string]*tls.Config{"client": s.client().Config(), "join": Join(Hash{1}, shown, clock(today))} {
			at, _ := connect(t, client, server)
			// A guest does not know the authority. It checks the pin from the invitation instead.
			if refused := tc.name != "of another authority" || name != "join"; (at.err != nil) != refused || tc.want != nil && name == "client" && !errors.Is(at.err, tc.want) {
				t.Errorf("%s, %s: %v", tc.name, name, at.err)
			}
		}
	}
}

func TestGuestsConnectOnlyWherePermitted(t *testing.T) {
	s := newStudy(t, Hash{1})
	server := s.server()
	server.Guests = true
	join := Join(Hash{1}, s.hub.key.Pin(), clock(today))
	client, at := connect(t, join, server.Config())
	if client.err != nil || at.err != nil {
		t.Fatal(client.err, at.err)
	}
	if p, err := PeerOf(at.state); err != nil || p != (Party{}) {
		t.Errorf("a guest is %v, %v", p, err)
	}
	if p, err := PeerOf(client.state); err != nil || p != s.hub.party {
		t.Errorf("the guest sees %v, %v", p, err)
	}
	// The server must also accept a party that has a certificate, but only if the party is in the
	// roster.
	if _, at := connect(t, s.client().Config(), server.Config()); at.err != nil {
		t.Error("a party was refused by a server that permits guests:", at.err)
	}
	stranger := newMember(t, Hash{1}, identity.Client, "stranger").credentials(t, s.authority)
	if _, at := connect(t, Client{stranger, s.find, clock(today)}.Config(), server.Config()); !errors.Is(at.err, ErrPin) {
		t.Error("a stranger with a certificate was accepted as a guest:", at.err)
	}
	outside, pin := shows(t, s.client().Config(), newAuthorityOf(t, Hash{1}), leafOf(s.north.party))
	s.pins[s.north.party] = pin
	if _, at := connect(t, outside, server.Config()); at.err == nil {
		t.Error("a client with a certificate from another authority was accepted as a guest")
	}
	if _, at := connect(t, join, s.server().Config()); at.err == nil {
		t.Error("a server that does not permit guests accepted one")
	}
	for name, c := range map[string]*tls.Config{
		"another pin":   Join(Hash{1}, s.north.key.Pin(), clock(today)),
		"another study": Join(Hash{2}, s.hub.key.Pin(), clock(today)),
		"too late":      Join(Hash{1}, s.hub.key.Pin(), clock(end.Add(time.Second))),
		"too early":     Join(Hash{1}, s.hub.key.Pin(), clock(today.Add(-Skew-time.Second))),
	} {
		if client, _ := connect(t, c, server.Config()); client.err == nil {
			t.Errorf("%s: the guest connects", name)
		}
	}
}

//abuse:case P11 no session is resumed, so every connection is checked in full
func TestSessionsAreNotResumed(t *testing.T) {
	s := newStudy(t, Hash{1})
	client := s.client().Config()
	client.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	server := s.server().Config()
	// without VerifyConnection, resumption is prevented only by the configuration
	client.VerifyConnection, server.VerifyConnection = nil, nil
	for range 3 {
		at, _ := connect(t, client, server)
		if at.err != nil || at.state.DidResume {
			t.Errorf("resumed %v, %v", at.state.DidResume, at.err)
		}
	}
	good := tls.ConnectionState{Version: tls.VersionTLS13, CurveID: tls.X25519MLKEM768}
	for name, change := range map[string]func(state *tls.ConnectionState){
		"resumed":        func(state *tls.ConnectionState) { state.DidResume = true },
		"an older TLS":   func(state *tls.ConnectionState) { state.Version = tls.VersionTLS12 },
		"an older curve": func(state *tls.ConnectionState) { state.CurveID = tls.X25519 },
	} {
		state := good
		if change(&state); !errors.Is(checkTLS(state), ErrTLS) {
			t.Errorf("%s: checkTLS accepted the connection", name)
		}
	}
	if err := checkTLS(good); err != nil {
		t.Error(err)
	}
}

//abuse:case A11 TLS below 1.3 and key exchanges without ML-KEM are refused
func TestOlderHandshakesAreRefused(t *testing.T) {
	s := newStudy(t, Hash{1})
	for name, change := range map[string]func(c *tls.Config){
		"TLS 1.2":   func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 },
		"X25519":    func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.X25519} },
		"P-256":     func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.CurveP256} },
		"no change": nil,
	} {
		for _, which := range []string{"client", "server"} {
			client, server := s.client().Config(), s.server().Config()
			client.VerifyConnection, server.VerifyConnection = nil, nil
			if changed := map[string]*tls.Config{"client": client, "server": server}[which]; change != nil {
				change(changed)
			}
			if at, _ := connect(t, client, server); (at.err == nil) != (change == nil) {
				t.Errorf("%s at the %s: %v", name, which, at.err)
			}
		}
	}
}

// On a real connection, crypto/tls would refuse some of these peers before this package checks
// them.
func TestEachCheckWorksAlone(t *testing.T) {
	s := newStudy(t, Hash{1})
	for name, tc := range map[string]struct {
		change func(leaf *x509.Certificate)
		role   identity.Role
		pinned bool
		want   error
	}{
		"good":         {func(*x509.Certificate) {}, identity.Client, true, nil},
		"another role": {func(*x509.Certificate) {}, identity.Coordinator, true, ErrRole},
		"another study": {func(c *x509.Certificate) {
			c.URIs = []*url.URL{Party{Hash{2}, identity.Client, "north"}.uri()}
		}, identity.Client, true, ErrRole},
		"another use": {func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}, identity.Client, true, ErrRole},
		"no use":            {func(c *x509.Certificate) { c.ExtKeyUsage = nil }, identity.Client, true, ErrRole},
		"another key":       {func(c *x509.Certificate) { c.RawSubjectPublicKeyInfo = []byte{1} }, identity.Client, true, ErrPin},
		"not in the roster": {func(*x509.Certificate) {}, identity.Client, false, ErrPin},
	} {
		leaf := *s.northC.certificate.Leaf
		tc.change(&leaf)
		state := tls.ConnectionState{Version: tls.VersionTLS13, CurveID: tls.X25519MLKEM768, PeerCertificates: []*x509.Certificate{&leaf}}
		pins := func(Party) (identity.Pin, bool) { return s.north.key.Pin(), tc.pinned }
		if err := check(state, Hash{1}, pins, tc.role); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, not %v", name, err, tc.want)
		}
		state.PeerCertificates = nil
		if err := check(state, Hash{1}, pins, tc.role); !errors.Is(err, ErrRole) {
			t.Errorf("no certificate: %v", err)
		}
	}
}

func TestOnePortServesSeveralStudies(t *testing.T) {
	a, b := newStudy(t, Hash{1}), newStudy(t, Hash{2})
	configs := map[string]*tls.Config{ServerName(Hash{1}): a.server().Config(), ServerName(Hash{2}): b.server().Config()}
	port := Serve(func(name string) *tls.Config { return configs[name] })
	for i, s := range []*testStudy{a, b} {
		client, server := connect(t, s.client().Config(), port)
		if client.err != nil || server.err != nil {
			t.Errorf("study %d: %v, %v", i+1, client.err, server.err)
		}
		if p, err := PeerOf(server.state); err != nil || p != s.north.party {
			t.Errorf("study %d: %v, %v", i+1, p, err)
		}
	}
	// a party in one study connects to the other study
	lost := a.client().Config()
	lost.ServerName, lost.RootCAs = ServerName(Hash{2}), b.hubC.roots()
	if _, server := connect(t, lost, port); server.err == nil {
		t.Error("a party of one study connected to another study")
	}
	lost.ServerName = ServerName(Hash{3})
	if _, server := connect(t, lost, port); !errors.Is(server.err, ErrName) {
		t.Errorf("a study that is not served: %v", server.err)
	}
}

//abuse:case P12 the errors of a handshake do not depend on the peer
func TestErrorsDoNotDependOnThePeer(t *testing.T) {
	s := newStudy(t, Hash{1})
	stranger := newMember(t, Hash{1}, identity.Client, "a-name-to-be-seen")
	_, server := connect(t, Client{stranger.credentials(t, s.authority), s.find, clock(today)}.Config(), s.server().Config())
	if server.err == nil || strings.Contains(server.err.Error(), "seen") {
		t.Errorf("%v", server.err)
	}
}
