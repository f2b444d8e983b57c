package coordinator

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/secret"
	"fedpvi/transport"
	"fedpvi/transport/membership"
)

// gossiping starts the study's gossip node, and returns the settings for clients.
func (h *house) gossiping(t *testing.T) transport.Gossip {
	t.Helper()
	port, err := membership.Listen("127.0.0.1:0", nil)
	check(t, err)
	node, err := h.study.Gossip(port, nil)
	check(t, err)
	t.Cleanup(func() {
		check(t, node.Close())
		check(t, port.Close())
	})
	return h.study.gossips()
}

// gossiper starts a gossip node under a client's name and connects it to the coordinator's node.
func gossiper(t *testing.T, h *house, name identity.Name, with transport.Gossip) *membership.Node {
	t.Helper()
	port, err := membership.Listen("127.0.0.1:0", nil)
	check(t, err)
	view := membership.NewView(func(n identity.Name) bool { return n == defaultName }, time.Now)
	node, err := membership.Start(membership.Config{Name: name, Study: h.study.hash, Key: with.Key, Port: port, View: view})
	check(t, err)
	t.Cleanup(func() { check(t, port.Close()) })
	check(t, node.Join("127.0.0.1"+with.Address))
	return node
}

func (h *house) sight(name identity.Name) ClientStatus {
	h.t.Helper()
	all := h.mustStatus().Clients
	i := slices.IndexFunc(all, func(c ClientStatus) bool { return c.Name == name })
	return all[i]
}

// A client gets the gossip settings over its own connection. The status must show whether gossip
// sees the client, and the transcript must stay the same.
func TestGossipIsShown(t *testing.T) {
	t.Parallel()
	document := planeText(noPrivacy, "rounds = 2", "")
	_, undisturbed := begun(t, Options{}, document, "north", "south")
	play(t, undisturbed...)

	h, parties := founded(t, Options{}, document, "north", "south")
	if g := h.study.gossips(); g.Address != "" || g.Key.Reveal() != nil {
		t.Fatal("a study gossips before Gossip was called")
	}
	h.gossiping(t)
	north, south := parties[0], parties[1]
	admit(t, north) // north does not connect to the coordinator, so only gossip can show that it runs
	south.connect(t, serving(t, h))
	check(t, south.approve(t.Context()))
	standing, err := south.link.Standing(t.Context())
	check(t, err)
	told := h.study.gossips()
	if standing.Gossip.Address != "127.0.0.1"+told.Address || !standing.Gossip.Key.Equal(told.Key.Reveal()) {
		t.Fatalf("a client gets the gossip address %s, want %s, or another key", standing.Gossip.Address, told.Address)
	}

	before := h.mustStatus()
	came := h.study.view.Changed()
	node := gossiper(t, h, "north", told)
	<-came
	if s := h.study.view.Last("north"); s.Way != membership.Gossip || h.sight("north").Missed != nil {
		t.Errorf("a client that gossips is shown as %+v", s)
	}
	gone := h.study.view.Changed()
	check(t, node.Close())
	<-gone
	if c := h.sight("north"); c.Missed == nil {
		t.Errorf("a client that left the gossip is shown as %+v", c)
	}
	if after := h.mustStatus(); after.Entries != before.Entries || after.Phase != before.Phase || after.Asked != before.Asked {
		t.Errorf("gossip moved the study from %+v to %+v", before, after)
	}
	play(t, parties...)
	if got, want := bodiesOf(north), bodiesOf(undisturbed[0]); !slices.Equal(got, want) {
		t.Error("with gossip the study has another transcript")
	}
	h.study.view.Seen("north", membership.Stream)
	if c := h.sight("north"); c.Missed != nil {
		t.Errorf("a connected client is shown as %+v", c)
	}
	if g := h.study.gossips(); g.Address != "" {
		t.Error("a study that is over still sends gossip settings")
	}
}

// bodiesOf returns the bodies of the plans and outcomes that a client has read.
func bodiesOf(p *party) (all []string) {
	for _, i := range p.entries[1 : len(p.entries)-1] {
		all = append(all, string(i.Body))
	}
	return all
}

// Anyone who has the gossip key can forge messages about any client. Forged messages must not begin
// or end a round, must not change which clients count as connected, and must not add names to the
// status.
func TestForgedGossipChangesNothing(t *testing.T) {
	t.Parallel()
	h, parties := begun(t, Options{}, planeText(noPrivacy, "rounds = 1", ""), "north", "south")
	told := h.gossiping(t)
	before := h.mustStatus()
	came := h.study.view.Changed()
	forger := gossiper(t, h, "south", told) // a node that pretends to be south
	<-came
	stranger := gossiper(t, h, "nobody", told)
	gone := h.study.view.Changed()
	check(t, forger.Close())
	<-gone
	check(t, stranger.Close())
	if h.study.view.Last("nobody") != (membership.Sighting{Name: "nobody"}) {
		t.Error("a stranger was seen")
	}
	after := h.mustStatus()
	if after.Entries != before.Entries || after.Asked != before.Asked || len(after.Clients) != len(before.Clients) || !slices.Equal(after.For, before.For) {
		t.Errorf("forged gossip changed %+v to %+v", before, after)
	}
	play(t, parties...)
	if s := h.mustStatus(); s.Phase != Ended {
		t.Errorf("the study is %s", s.Phase)
	}
}

// The clients have not called the coordinator for some minutes, and only gossip shows that they are
// running. The status must say so, but no round may begin.
func TestGossipDoesNotCountForQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, Options{RoundDeadline: 10 * time.Minute})
		h.found(planeText(clientPrivacy, "rounds = 1", twoAreEnough))
		for _, p := range h.invite("north", "south") {
			check(t, p.join(t.Context()))
			check(t, p.approve(t.Context()))
			time.Sleep(4 * time.Minute) // longer than a client counts as present
		}
		for _, name := range []identity.Name{"north", "south"} {
			h.study.view.Seen(name, membership.Gossip)
		}
		synctest.Wait()
		status := h.mustStatus()
		if status.Asked != 0 || !slices.Equal(status.For, []string{"north", "south"}) {
			t.Errorf("%d rounds, waiting for %v", status.Asked, status.For)
		}
		if c := h.sight("north"); c.Seen == nil || time.Since(*c.Seen) > time.Second {
			t.Errorf("a client that was seen in gossip is shown as %+v", c)
		}
		check(t, h.hub.Close())
	})
}

func TestGossipKeyIsKept(t *testing.T) {
	h := newHouse(t, Options{})
	h.found(planeText(noPrivacy, "rounds = 1", ""))
	first, err := h.hub.files.gossipKey(h.study.hash)
	check(t, err)
	again, err := h.hub.files.gossipKey(h.study.hash)
	check(t, err)
	if len(first.Reveal()) != membership.KeySize || !first.Equal(again.Reveal()) {
		t.Error("the second call returns another key")
	}
	var _ secret.Secret = first // compiles only if the key has the type that is never printed in logs
}
