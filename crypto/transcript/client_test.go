package transcript

import (
	"errors"
	"strings"
	"testing"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/signed"
)

func TestReleaseIsForOnePlan(t *testing.T) {
	f := newFederation(t)
	c := f.follow(t, f.begin(), f.script(t)[0])
	h := c.ReleaseHeader(3, filled(9), f.north.Fingerprint(), 4, filled(5))
	envelope, err := SignRelease(f.north, h, []byte("sealed"), Hash{})
	check(t, err)
	r, err := c.VerifyRelease(envelope, f.north.Public(), 3, filled(9))
	check(t, err)
	if r.Header != h || r.Body != BodyOf([]byte("sealed")) {
		t.Errorf("%+v", r)
	}
	other := f.follow(t, f.begin(), f.script(t)[0])
	other.protocol[0]++
	for name, tc := range map[string]struct {
		from  Chain
		key   identity.PublicKey
		plan  uint64
		model Hash
		err   error
	}{
		"another sender":   {c, f.hub.Public(), 3, filled(9), signed.ErrSender},
		"another plan":     {c, f.north.Public(), 2, filled(9), signed.ErrRound},
		"another model":    {c, f.north.Public(), 3, filled(8), signed.ErrModel},
		"another protocol": {other, f.north.Public(), 3, filled(9), signed.ErrProtocol},
		"no roster":        {f.begin(), f.north.Public(), 3, filled(9), signed.ErrProtocol},
	} {
		if _, err := tc.from.VerifyRelease(envelope, tc.key, tc.plan, tc.model); !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, not %v", name, err, tc.err)
		}
	}
}

// In a study with commitments, an outcome may have a client's release only if the client has signed
// its hash.
//
//abuse:case A21 a release that its client did not sign: refused, and the client is named
func TestAnswersAreThoseThatClientsSigned(t *testing.T) {
	f := newFederation(t)
	begin := func(commits bool) Chain {
		envelope, body, err := f.begin().Open(f.hub, f.members, filled(7), filled(1), commits, false)
		check(t, err)
		return f.follow(t, f.begin(), item{envelope, body})
	}
	c := begin(true)
	if !c.Commits() || begin(false).Commits() || !c.At(Position{Number: 9}).Commits() {
		t.Error("the chain does not know whether the study has commitments")
	}
	sign := func(c Chain, who *identity.Identity, model, commitment Hash) []byte {
		envelope, err := SignRelease(who, c.ReleaseHeader(3, model, who.Fingerprint(), 4, filled(5)), []byte("sealed"), commitment)
		check(t, err)
		return envelope
	}
	good := sign(c, f.north, filled(9), filled(1))
	north := []identity.Name{"north"}
	all, err := c.VerifyAnswers(3, filled(9), north, []Hash{filled(1)}, [][]byte{good})
	if err != nil || all[0].Commitment != filled(1) || all[0].Hash != BodyOf(good).Hash {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := c.VerifyAnswers(3, filled(9), north, nil, [][]byte{good}); err != nil {
		t.Errorf("without published releases: %v", err)
	}
	for name, tc := range map[string]struct {
		clients     []identity.Name
		commitments []Hash
		envelopes   [][]byte
		says        string
	}{
		"another release":    {north, []Hash{filled(2)}, [][]byte{good}, "release of north"},
		"no envelope":        {north, []Hash{filled(1)}, nil, "1 answers and has the signatures of 0"},
		"one more":           {north, []Hash{filled(1)}, [][]byte{good, good}, "signatures of 2"},
		"another client":     {[]identity.Name{"hub"}, []Hash{filled(1)}, [][]byte{good}, "hub is no client"},
		"signed by another":  {north, []Hash{filled(1)}, [][]byte{sign(c, f.hub, filled(9), filled(1))}, "answer of north"},
		"another model":      {north, []Hash{filled(1)}, [][]byte{sign(c, f.north, filled(8), filled(1))}, "answer of north"},
		"without commitment": {north, []Hash{filled(1)}, [][]byte{sign(c, f.north, filled(9), Hash{})}, ErrCommitment.Error()},
	} {
		if _, err := c.VerifyAnswers(3, filled(9), tc.clients, tc.commitments, tc.envelopes); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := begin(false).VerifyRelease(good, f.north.Public(), 3, filled(9)); !errors.Is(err, ErrCommitment) {
		t.Errorf("a commitment in a study without them: %v", err)
	}
}

func TestApprovalIsForOneStudyAndCoordinator(t *testing.T) {
	f := newFederation(t)
	hub := f.hub.Fingerprint()
	envelope, err := SignApproval(f.north, study, hub, 2, filled(1))
	check(t, err)
	h, err := VerifyApproval(envelope, f.north.Public(), study, hub)
	if err != nil || h.LedgerSeq != 2 || h.LedgerHead != filled(1) {
		t.Errorf("%+v, %v", h, err)
	}
	another := study
	another[0]++
	for name, err := range map[string]error{
		"another coordinator": second(VerifyApproval(envelope, f.north.Public(), study, f.north.Fingerprint())),
		"another study":       second(VerifyApproval(envelope, f.north.Public(), another, hub)),
		"another client":      second(VerifyApproval(envelope, f.hub.Public(), study, hub)),
		"as a leave":          second(VerifyLeave(envelope, f.north.Public(), study)),
	} {
		if err == nil {
			t.Errorf("%s: the approval was accepted", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestClientLeaves(t *testing.T) {
	f := newFederation(t)
	envelope, err := SignLeave(f.north, study, "the board said no")
	check(t, err)
	reason, err := VerifyLeave(envelope, f.north.Public(), study)
	if err != nil || reason != "the board said no" {
		t.Errorf("%q, %v", reason, err)
	}
	if _, err := VerifyLeave(envelope, f.hub.Public(), study); err == nil {
		t.Error("a leave was accepted for another client")
	}
	for _, bad := range []string{strings.Repeat("x", MaxReason+1), "two\nlines", "\x1b[2J", "\xff", "\u202egnp"} {
		if _, err := SignLeave(f.north, study, bad); !errors.Is(err, ErrForm) {
			t.Errorf("reason %q: %v", bad, err)
		}
	}
}
