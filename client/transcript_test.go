package client_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/coordinator/bundle"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/transcript"
)

// The coordinator signs a second outcome for plan 2, and sends it to one client only.
//
//abuse:case A07 two clients were shown two histories: the verification of the bundle, and the comparison of their exports, name the round
func TestForksAreFound(t *testing.T) {
	st, records, _, _ := simulated(t, federatedStudy(linear, "rounds = 3", "unit = \"client\"\nepsilon = 8.0\ndelta = 1e-5\nclip = 20.0", ""))
	n := newRealNetwork(t, st, records)
	n.play()
	var b bytes.Buffer
	check(t, n.study.WriteBundle(&b))
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	verify := func(m int) (x *transcript.Export, head client.Head, common int, err error) {
		c := n.open(m)
		defer c.Close()
		member, err := c.Member("")
		check(t, err)
		head, err = c.Head(member)
		check(t, err)
		x, err = c.Export(member)
		check(t, err)
		common, err = c.VerifyBundle(member, open)
		return x, head, common, err
	}
	one, oneHead, all, err := verify(0)
	check(t, err)
	other, otherHead, _, err := verify(1)
	check(t, err)
	if oneHead != otherHead || oneHead.Entry != uint64(all) || all < 8 || len(one.Envelopes) != all {
		t.Fatalf("%+v, %+v, %d entries compared", oneHead, otherHead, all)
	}
	history, err := bundle.Entries(open)
	check(t, err)
	entries := func(x *transcript.Export) []transcript.Entry {
		t.Helper()
		e, err := x.Entries(history.Study, history.Coordinator)
		check(t, err)
		return e
	}
	at := 0
	for i, e := range entries(one) {
		if e.Kind.Outcome() && e.Ask == 2 {
			at = i
		}
	}
	forged := forge(t, n, entries(one)[at-1], entries(one)[at])
	c := n.open(1)
	member, err := c.Member("")
	check(t, err)
	check(t, c.Store().Save(ledger.Change{Study: member.Hash, Parts: map[string][]byte{client.EntryPart(uint64(at + 1)): forged}}))
	check(t, c.Close())
	// The second export must end with the forged entry, because later entries do not follow from
	// it.
	other.Envelopes = append(other.Envelopes[:at:at], forged)
	for what, err := range map[string]error{
		"exports": second(transcript.Compare(entries(one), entries(other))),
		"bundle":  second(transcript.Compare(history.All, entries(other))),
	} {
		var fork *transcript.Fork
		if !errors.As(err, &fork) || fork.One.Number != uint64(at+1) || fork.One.Ask != 2 || !strings.Contains(err.Error(), "of plan 2") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, _, err := verify(1); client.CodeOf(err) == client.OK {
		t.Error("the client that was shown another history accepts the bundle")
	}
	for what, spoil := range map[string]func(x *transcript.Export){
		"another signature": func(x *transcript.Export) { e := bytes.Clone(x.Envelopes[2]); e[len(e)-1] ^= 1; x.Envelopes[2] = e },
		"an entry left out": func(x *transcript.Export) { x.Envelopes = append(x.Envelopes[:2:2], x.Envelopes[3:]...) },
		"another entry":     func(x *transcript.Export) { x.Coordinator = x.Coordinator[1:] },
	} {
		x := *one
		x.Envelopes = append([][]byte(nil), one.Envelopes...)
		spoil(&x)
		if _, err := x.Entries(history.Study, history.Coordinator); err == nil {
			t.Errorf("%s: the export is accepted", what)
		}
	}
}

func second(_ int, err error) error { return err }

// forge signs another outcome with the coordinator's key. It follows the same entry as e does.
func forge(t *testing.T, n *realNetwork, before, e transcript.Entry) []byte {
	t.Helper()
	key, err := identity.Load(nil, filepath.Join(n.hubDir, "identity.key"))
	check(t, err)
	first, err := n.study.Entry(t.Context(), channel.Party{Study: n.study.Hash(), Role: identity.Client, Name: n.clients[0]}, 1)
	check(t, err)
	chain, _, err := transcript.Begin(n.study.Hash(), key.Public()).Follow(first.Envelope, first.Body)
	check(t, err)
	forged, err := chain.At(transcript.Position{Number: before.Number, Head: before.Hash}).Sign(key, e.Kind, e.Ask, e.Model, []byte("another outcome"))
	check(t, err)
	return forged
}
