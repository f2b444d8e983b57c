package channel

import (
	"bytes"
	"net/url"
	"testing"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/internal/testing/memory"
)

var fuzzed = Hash{1, 2, 3}

//abuse:case A08 the authority certifies only the key that the roster pins
func FuzzRequest(f *testing.F) {
	a, m := newAuthorityOf(f, fuzzed), newMember(f, fuzzed, identity.Client, "north")
	r := wire.NewReader(m.request)
	f.Add(bytes.Clone(r.Bytes(maxRequest)))
	stranger := newMember(f, fuzzed, identity.Client, "south")
	f.Add(bytes.Clone(wire.NewReader(stranger.request).Bytes(maxRequest)))
	f.Fuzz(func(t *testing.T, der []byte) {
		signature := m.identity.Sign(requestDomain, requestStatement(fuzzed, der))
		request := append(wire.AppendBytes(nil, der), signature[:]...)
		var leaf []byte
		var err error
		memory.Bound(t, len(der), func() {
			leaf, err = a.Issue(request, m.party, m.identity.Public(), m.key.Pin(), today, end)
		})
		if err != nil {
			return
		}
		if _, err := NewCredentials(m.party, m.key, a.Certificate(), leaf, today); err != nil {
			t.Errorf("another key or party was certified: %v", err)
		}
	})
}

func FuzzCertificates(f *testing.F) {
	a, m := newAuthorityOf(f, fuzzed), newMember(f, fuzzed, identity.Client, "north")
	leaf, err := a.Issue(m.request, m.party, m.identity.Public(), m.key.Pin(), today, end)
	must(f, err)
	f.Add(a.Certificate(), leaf)
	f.Add(leaf, leaf)
	f.Add(a.Certificate(), a.Certificate())
	f.Fuzz(func(t *testing.T, authority, certificate []byte) {
		var c *Credentials
		var err error
		memory.Bound(t, len(authority)+len(certificate), func() {
			c, err = NewCredentials(m.party, m.key, authority, certificate, today)
		})
		if err == nil && pinOf(c.certificate.Leaf) != m.key.Pin() {
			t.Error("a certificate of another key was accepted")
		}
	})
}

// FuzzParty checks that each party has exactly one URI.
func FuzzParty(f *testing.F) {
	f.Add(Party{fuzzed, identity.Client, "north"}.uri().String())
	f.Add("spiffe://00/client/north")
	f.Add("spiffe://" + Party{fuzzed, identity.Coordinator, "hub"}.uri().Host + "/coordinator/hub?x#y")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		if p, err := partyOf([]*url.URL{u}); err == nil && p.uri().String() != u.String() {
			t.Errorf("%q was parsed as %q", text, p.uri())
		}
	})
}
