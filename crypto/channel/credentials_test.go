package channel

import (
	"testing"
	"time"

	"fedpvi/crypto/identity"
)

func TestInvalidCertificatesAreRefused(t *testing.T) {
	s := newStudy(t, Hash{1})
	if got, want := s.northC.RenewFrom(), end.Add(-end.Sub(today.Add(-Skew))/3); !got.Equal(want) || !s.northC.Expires().Equal(end) {
		t.Errorf("RenewFrom is %v, not %v; the certificate expires at %v", got, want, s.northC.Expires())
	}
	issue := func(m member, a *Authority, until time.Time) []byte {
		leaf, err := a.Issue(m.request, m.party, m.identity.Public(), m.key.Pin(), today, until)
		must(t, err)
		return leaf
	}
	renamed := s.north
	renamed.party.Name = "south"
	var err error
	renamed.request, err = NewRequest(s.north.identity, s.north.key, renamed.party)
	must(t, err)
	soon := today.Add(time.Hour)
	for name, leaf := range map[string][]byte{
		"malformed":            []byte("no certificate"),
		"of another party":     issue(s.hub, s.authority, end),
		"of another key":       issue(newMember(t, Hash{1}, identity.Client, "north"), s.authority, end),
		"of another name":      issue(renamed, s.authority, end),
		"of another authority": issue(s.north, newAuthorityOf(t, Hash{1}), end),
		"expired":              issue(s.north, s.authority, today.Add(time.Second)),
	} {
		if _, err := NewCredentials(s.north.party, s.north.key, s.authority.Certificate(), leaf, soon); err == nil {
			t.Errorf("%s: the certificate was accepted", name)
		}
	}
}
