package transcript

import (
	"testing"

	"fedpvi/crypto/signed"
	"fedpvi/internal/testing/memory"
)

// FuzzFollow passes signed entries to Follow. Follow must either advance the chain by one valid
// entry or leave it unchanged.
//
//abuse:case P01 an invalid entry leaves the chain unchanged and takes bounded memory
func FuzzFollow(f *testing.F) {
	federation := newFederation(f)
	var script []item
	var chains []Chain
	c := federation.begin()
	for _, i := range federation.script(f) {
		script, chains = append(script, i), append(chains, c)
		c = federation.follow(f, c, i)
		claims, err := signed.Claims(i.envelope)
		if err != nil {
			f.Fatal(err)
		}
		m, err := signed.Verify(i.envelope, federation.hub.Public(), claims)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(len(script)-1, claims.Round, string(claims.Domain), m.Payload, i.body)
	}
	f.Fuzz(func(t *testing.T, at int, round uint64, domain string, payload, body []byte) {
		at = (at%len(chains) + len(chains)) % len(chains)
		claims, err := signed.Claims(script[at].envelope)
		check(t, err)
		claims.Round = round
		for _, d := range []signed.Header{{Domain: signed.Plan}, {Domain: signed.Outcome}, {Domain: signed.Bundle}, {Domain: signed.Abort}, {Domain: signed.Roster}} {
			if string(d.Domain) == domain {
				claims.Domain = d.Domain
			}
		}
		envelope, err := signed.Sign(federation.hub, claims, payload)
		if err != nil {
			return
		}
		before := chains[at].Position()
		var next Chain
		var e Entry
		memory.Bound(t, len(envelope)+len(body), func() { next, e, err = chains[at].Follow(envelope, body) })
		switch {
		case err != nil && next.Position() != before:
			t.Error("Follow refused the entry but advanced the chain")
		case err == nil && (next.Position().Number != before.Number+1 || e.Previous != before.Head || e.Body != BodyOf(body) || before.Over):
			t.Errorf("%+v followed %+v", e, before)
		}
	})
}
