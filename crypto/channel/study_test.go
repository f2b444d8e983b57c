package channel

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net"
	"path/filepath"
	"testing"
	"time"

	"fedpvi/crypto/identity"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	today = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	end   = today.AddDate(1, 0, 0)
)

func clock(t time.Time) func() time.Time { return func() time.Time { return t } }

type member struct {
	party    Party
	identity *identity.Identity
	key      *Key
	request  []byte
}

func newMember(t testing.TB, study Hash, role identity.Role, name identity.Name) member {
	t.Helper()
	i, err := identity.Generate()
	must(t, err)
	key, err := GenerateKey()
	must(t, err)
	p := Party{study, role, name}
	request, err := NewRequest(i, key, p)
	must(t, err)
	return member{p, i, key, request}
}

func newAuthorityOf(t testing.TB, study Hash) *Authority {
	t.Helper()
	a, err := CreateAuthority(nil, filepath.Join(t.TempDir(), "keys", "authority.key"), study, today, end)
	must(t, err)
	return a
}

func (m member) credentials(t testing.TB, a *Authority) *Credentials {
	t.Helper()
	leaf, err := a.Issue(m.request, m.party, m.identity.Public(), m.key.Pin(), today, end)
	must(t, err)
	c, err := NewCredentials(m.party, m.key, a.Certificate(), leaf, today)
	must(t, err)
	return c
}

// A testStudy has an authority, a coordinator and a client, and the pins of the last two.
type testStudy struct {
	authority    *Authority
	hub, north   member
	pins         map[Party]identity.Pin
	hubC, northC *Credentials
}

func newStudy(t testing.TB, study Hash) *testStudy {
	s := &testStudy{
		authority: newAuthorityOf(t, study),
		hub:       newMember(t, study, identity.Coordinator, "hub"),
		north:     newMember(t, study, identity.Client, "north"),
	}
	s.pins = map[Party]identity.Pin{s.hub.party: s.hub.key.Pin(), s.north.party: s.north.key.Pin()}
	s.hubC, s.northC = s.hub.credentials(t, s.authority), s.north.credentials(t, s.authority)
	return s
}

func (s *testStudy) find(p Party) (identity.Pin, bool) {
	pin, ok := s.pins[p]
	return pin, ok
}

func (s *testStudy) server() Server { return Server{s.hubC, s.find, false, clock(today)} }

func (s *testStudy) client() Client { return Client{s.northC, s.find, clock(today)} }

// shows returns a copy of the configuration c that has a new key and a certificate. The authority a
// issues the certificate from the template leaf. The second result is the pin of the key.
func shows(t testing.TB, c *tls.Config, a *Authority, leaf *x509.Certificate) (*tls.Config, identity.Pin) {
	t.Helper()
	key, err := GenerateKey()
	must(t, err)
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.certificate, key.public, a.key)
	must(t, err)
	certificate := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	c = c.Clone()
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate, nil }
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	return c, key.Pin()
}

type outcome struct {
	state tls.ConnectionState
	err   error
}

// connect connects a client and a server over the loopback interface. After the handshake, each
// side sends one byte, because a client finds out that it was refused only when it reads.
func connect(t testing.TB, client, server *tls.Config) (atClient, atServer outcome) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	done := make(chan outcome)
	go func() {
		raw, err := listener.Accept()
		if err != nil {
			done <- outcome{err: err}
			return
		}
		done <- use(tls.Server(raw, server), (*tls.Conn).Write, (*tls.Conn).Read)
	}()
	raw, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	atClient = use(tls.Client(raw, client), (*tls.Conn).Read, (*tls.Conn).Write)
	return atClient, <-done
}

func use(c *tls.Conn, steps ...func(*tls.Conn, []byte) (int, error)) outcome {
	defer c.NetConn().Close()
	err := c.Handshake()
	for _, step := range steps {
		if err == nil {
			_, err = step(c, []byte{1})
		}
	}
	return outcome{c.ConnectionState(), err}
}
