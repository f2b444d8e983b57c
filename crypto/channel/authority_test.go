package channel

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/internal/testing/canary"
)

func TestCreatedAuthorityIsLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "authority.key")
	made, err := CreateAuthority(nil, path, Hash{1}, today, end)
	must(t, err)
	loaded, err := LoadAuthority(nil, path, made.Certificate(), Hash{1})
	must(t, err)
	m := newMember(t, Hash{1}, identity.Client, "north")
	leaf, err := loaded.Issue(m.request, m.party, m.identity.Public(), m.key.Pin(), today, end)
	must(t, err)
	if _, err := NewCredentials(m.party, m.key, made.Certificate(), leaf, today); err != nil {
		t.Error(err)
	}
	if _, err := CreateAuthority(nil, path, Hash{1}, today, end); err == nil {
		t.Error("an authority was overwritten")
	}
	if _, err := CreateAuthority(nil, path+"2", Hash{1}, today, today); err == nil {
		t.Error("an authority that expires at once was made")
	}
	other := newAuthorityOf(t, Hash{1})
	parsed, err := x509.ParseCertificate(made.Certificate())
	must(t, err)
	plain := &x509.Certificate{NotBefore: today, NotAfter: end, URIs: parsed.URIs}
	powerless, err := x509.CreateCertificate(rand.Reader, plain, plain, made.key.public, made.key)
	must(t, err)
	for name, tc := range map[string]struct {
		certificate []byte
		study       Hash
	}{
		"of another study":     {made.Certificate(), Hash{2}},
		"of another authority": {other.Certificate(), Hash{1}},
		"malformed":            {[]byte("x"), Hash{1}},
		"that may not certify": {powerless, Hash{1}},
		"of a party":           {leaf, Hash{1}},
		"changed":              {flipped(made.Certificate(), len(made.Certificate())-1), Hash{1}},
	} {
		if _, err := LoadAuthority(nil, path, tc.certificate, tc.study); err == nil {
			t.Errorf("%s: was loaded", name)
		}
	}
	vouched := made.Vouch(m.identity)
	must(t, CheckAuthority(made.Certificate(), Hash{1}, m.identity.Public(), vouched[:]))
	if CheckAuthority(other.Certificate(), Hash{1}, m.identity.Public(), vouched[:]) == nil {
		t.Error("the certificate of another authority was accepted")
	}
	must(t, os.Chmod(path, 0o604))
	if _, err := LoadAuthority(nil, path, made.Certificate(), Hash{1}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("%v", err)
	}
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

// From a request, Issue must take only the key that it certifies.
func TestCertificateHasKeyOfRequest(t *testing.T) {
	a := newAuthorityOf(t, Hash{1})
	for _, role := range []identity.Role{identity.Client, identity.Coordinator, identity.Admin} {
		m := newMember(t, Hash{1}, role, "north")
		der, err := a.Issue(m.request, m.party, m.identity.Public(), m.key.Pin(), today, today.AddDate(9, 0, 0))
		must(t, err)
		c, err := x509.ParseCertificate(der)
		must(t, err)
		if p, err := partyOf(c.URIs); err != nil || p != m.party || pinOf(c) != m.key.Pin() || c.IsCA ||
			len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != usage(role) || (len(c.DNSNames) == 1) != (role == identity.Coordinator) {
			t.Errorf("%v: %v, %v", role, p, err)
		}
		if !c.NotBefore.Equal(today.Add(-Skew)) || !c.NotAfter.Equal(end) {
			t.Errorf("valid from %v to %v", c.NotBefore, c.NotAfter)
		}
	}
}

//abuse:case A08 a request with another party's key or name is refused
func TestInvalidRequestsAreRefused(t *testing.T) {
	a := newAuthorityOf(t, Hash{1})
	m := newMember(t, Hash{1}, identity.Client, "north")
	other := newMember(t, Hash{1}, identity.Client, "south")
	issue := func(request []byte, p Party, holder identity.PublicKey, pin identity.Pin) error {
		_, err := a.Issue(request, p, holder, pin, today, end)
		return err
	}
	signed := func(der []byte) []byte {
		s := m.identity.Sign(requestDomain, requestStatement(m.party.Study, der))
		return append(wire.AppendBytes(nil, der), s[:]...)
	}
	csr := func(template x509.CertificateRequest, key any) []byte {
		der, err := x509.CreateCertificateRequest(rand.Reader, &template, key)
		must(t, err)
		return der
	}
	good := csr(x509.CertificateRequest{URIs: []*url.URL{m.party.uri()}}, m.key)
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	admin := Party{Hash{1}, identity.Admin, "north"}
	for name, err := range map[string]error{
		"another identity":        issue(m.request, m.party, other.identity.Public(), m.key.Pin()),
		"another pin":             issue(m.request, m.party, m.identity.Public(), other.key.Pin()),
		"another name":            issue(m.request, other.party, m.identity.Public(), m.key.Pin()),
		"another role":            issue(m.request, admin, m.identity.Public(), m.key.Pin()),
		"nothing":                 issue(nil, m.party, m.identity.Public(), m.key.Pin()),
		"trailing bytes":          issue(append(bytes.Clone(m.request), 0), m.party, m.identity.Public(), m.key.Pin()),
		"too long":                issue(signed(make([]byte, maxRequest+1)), m.party, m.identity.Public(), m.key.Pin()),
		"malformed":               issue(signed([]byte("x")), m.party, m.identity.Public(), m.key.Pin()),
		"no name":                 issue(signed(csr(x509.CertificateRequest{}, m.key)), m.party, m.identity.Public(), m.key.Pin()),
		"a key of another kind":   issue(signed(csr(x509.CertificateRequest{URIs: []*url.URL{m.party.uri()}}, p256)), m.party, m.identity.Public(), m.key.Pin()),
		"not signed with the key": issue(signed(flipped(good, len(good)-1)), m.party, m.identity.Public(), m.key.Pin()),
		"another party's request": issue(signed(csr(x509.CertificateRequest{URIs: []*url.URL{m.party.uri()}}, other.key)), m.party, m.identity.Public(), m.key.Pin()),
	} {
		if !errors.Is(err, ErrRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	foreign := newMember(t, Hash{2}, identity.Client, "north")
	if err := issue(foreign.request, foreign.party, foreign.identity.Public(), foreign.key.Pin()); err == nil {
		t.Error("a party of another study was certified")
	}
	if _, err := a.Issue(m.request, m.party, m.identity.Public(), m.key.Pin(), end, end.Add(time.Hour)); err == nil {
		t.Error("a certificate that expires at once was issued")
	}
	if err := issue(m.request, m.party, m.identity.Public(), m.key.Pin()); err != nil {
		t.Error("the valid request was refused:", err)
	}
}

//abuse:case P05 a request for a certificate with a changed byte is refused
func TestEveryChangedByteOfARequestIsDetected(t *testing.T) {
	m := newMember(t, Hash{1}, identity.Client, "north")
	for at := range m.request {
		if _, err := checkRequest(flipped(m.request, at), m.party, m.identity.Public(), m.key.Pin()); !errors.Is(err, ErrRequest) {
			t.Fatalf("byte %d was changed: %v", at, err)
		}
	}
}

// knownServerName was computed independently, with Python's hashlib and base64.
const knownServerName = "lu5fmwyrcyqrff6ubl2bsvbfqvftqr4u.fedpvi.invalid"

func TestNamesInCertificates(t *testing.T) {
	p := Party{Hash{0xab}, identity.Client, "st-olav"}
	text := p.uri().String()
	if want := "spiffe://ab" + strings.Repeat("0", 62) + "/client/st-olav"; text != want {
		t.Errorf("%s, not %s", text, want)
	}
	if got := ServerName(Hash{0xab}); got != knownServerName {
		t.Errorf("%s, not %s", got, knownServerName)
	}
	for name, wrong := range map[string]string{
		"another scheme": strings.Replace(text, "spiffe", "https", 1),
		"upper case":     strings.Replace(text, "ab0", "AB0", 1),
		"a short study":  strings.Replace(text, "ab00", "ab", 1),
		"no role":        strings.Replace(text, "/client", "/guest", 1),
		"no name":        strings.Replace(text, "st-olav", "", 1),
		"a path":         text + "/more",
		"an escape":      strings.Replace(text, "st-olav", "st%2dolav", 1),
		"a query":        text + "?x",
		"an empty query": text + "?",
		"a fragment":     text + "#x",
		"a user":         strings.Replace(text, "spiffe://", "spiffe://user@", 1),
		"a port":         strings.Replace(text, "/client", ":1/client", 1),
	} {
		u, err := url.Parse(wrong)
		if err != nil {
			continue
		}
		if got, err := partyOf([]*url.URL{u}); err == nil {
			t.Errorf("%s: %s was parsed as %v", name, wrong, got)
		}
	}
}

func TestTLSKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "tls.key")
	made, err := CreateKey(nil, path)
	must(t, err)
	loaded, err := LoadKey(nil, path)
	if err != nil || loaded.Pin() != made.Pin() {
		t.Fatalf("another key was loaded: %v", err)
	}
	if _, err := loadKey(nil, path, authorityKind); err == nil {
		t.Error("a TLS key was loaded as the key of an authority")
	}
	info, err := x509.MarshalPKIXPublicKey(made.Public())
	if err != nil || made.Pin() != sha256.Sum256(info) {
		t.Errorf("the pin is not the hash of the subject public key info: %v", err)
	}
	seed := bytes.Clone(made.key.Reveal()[:32])
	certificate := tls.Certificate{PrivateKey: made}
	for _, v := range []any{made, *made, &made, struct{ key *Key }{made}, certificate, &tls.Config{Certificates: []tls.Certificate{certificate}}} {
		canary.Absent(t, canary.Shown(v), seed)
	}
	made.Wipe()
	if _, err := NewRequest(newMember(t, Hash{1}, identity.Client, "north").identity, made, Party{Hash{1}, identity.Client, "north"}); err == nil {
		t.Error("a wiped key signed a request")
	}
}
