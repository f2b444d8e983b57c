package channel

import (
	"bytes"
	"testing"
	"time"

	"fedpvi/crypto/identity"
)

func TestCertificateIsRenewed(t *testing.T) {
	s := newStudy(t, Hash{1})
	if got, want := s.northC.RenewFrom(), end.Add(-end.Sub(today.Add(-Skew))/3); !got.Equal(want) || !s.northC.Expires().Equal(end) {
		t.Errorf("RenewFrom is %v, not %v; the certificate expires at %v", got, want, s.northC.Expires())
	}
	issue := func(m member, a *Authority, until time.Time) []byte {
		leaf, err := a.Issue(m.request, m.party, m.identity.Public(), m.key.Pin(), today, until)
		if err != nil {
			t.Fatal(err)
		}
		return leaf
	}
	renamed := s.north
	renamed.party.Name = "south"
	var err error
	if renamed.request, err = NewRequest(s.north.identity, s.north.key, renamed.party); err != nil {
		t.Fatal(err)
	}
	soon := today.Add(time.Hour)
	client := s.client().Config()
	for name, leaf := range map[string][]byte{
		"malformed":            []byte("no certificate"),
		"of another party":     issue(s.hub, s.authority, end),
		"of another key":       issue(newMember(t, Hash{1}, identity.Client, "north"), s.authority, end),
		"of another name":      issue(renamed, s.authority, end),
		"of another authority": issue(s.north, newAuthorityOf(t, Hash{1}), end),
		"expired":              issue(s.north, s.authority, today.Add(time.Second)),
	} {
		if err := s.northC.Renew(leaf, soon); err == nil {
			t.Errorf("%s: the certificate was accepted", name)
		}
		if at, _ := connect(t, client, s.server().Config()); at.err != nil {
			t.Errorf("%s: the old certificate is not in use: %v", name, at.err)
		}
	}
	fresh := issue(s.north, s.authority, soon)
	if err := s.northC.Renew(fresh, today); err != nil {
		t.Fatal(err)
	}
	_, server := connect(t, client, s.server().Config())
	if server.err != nil || !bytes.Equal(server.state.PeerCertificates[0].Raw, fresh) {
		t.Errorf("the new certificate is not in use: %v", server.err)
	}
}
