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
	envelope, err := SignRelease(f.north, h, []byte("sealed"))
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
