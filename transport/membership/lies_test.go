package membership

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"fedpvi/crypto/channel"
)

// baggage makes a node send additional data, as a modified program might.
type baggage struct{ meta []byte }

func (b baggage) NodeMeta(limit int) []byte           { return b.meta[:min(len(b.meta), limit)] }
func (baggage) NotifyMsg([]byte)                      {}
func (baggage) GetBroadcasts(int, int) [][]byte       { return nil }
func (b baggage) LocalState(bool) []byte              { return bytes.Repeat(b.meta, 1000) }
func (baggage) MergeRemoteState(buf []byte, now bool) {}

// insider starts a node that runs a modified program. It has the gossip key and the name of a
// party.
func (w *town) insider(name string, carries []byte) *memberlist.Memberlist {
	w.t.Helper()
	m := memberlist.DefaultWANConfig()
	m.Name, m.Label, m.Transport = name, channel.ServerName(study), w.connect()
	keyring, err := memberlist.NewKeyring(nil, bytes.Clone(key))
	check(w.t, err)
	m.Keyring, m.Delegate = keyring, baggage{carries}
	m.Logger = logger(slog.New(slog.DiscardHandler))
	list, err := memberlist.Create(m)
	check(w.t, err)
	w.t.Cleanup(func() { list.Shutdown() })
	return list
}

// If a node sends more than its name and address, other nodes must ignore it.
func TestNodesWithBaggageAreIgnored(t *testing.T) {
	for name, carries := range map[string][]byte{"one byte": {1}, "as much as there may be": make([]byte, memberlist.MetaMaxSize)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t)
				_, north, address := w.start("north", nil)
				list := w.insider("south", carries)
				list.Join([]string{address})
				for _, n := range list.Members() {
					list.SendReliable(n, bytes.Repeat([]byte{'m'}, 100_000))
					list.SendBestEffort(n, []byte("a word"))
				}
				pass(time.Minute)
				if all := north.All(); len(all) != 0 {
					t.Errorf("seen: %+v", all)
				}
			})
		})
	}
}

// If somebody replays old packets, a dead node may seem alive, but after three minutes it must be
// missed again.
func TestReplayedPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		_, north, address := w.start("north", nil)
		south, _, _ := w.start("south", nil)
		check(t, south.Join(address))
		pass(time.Minute)
		check(t, south.list.Shutdown())
		pass(3 * time.Minute)
		before := north.Last("south")
		if before.Missed.IsZero() {
			t.Fatal("a node that died is not missed")
		}
		if n := w.replay(address); n < 10 {
			t.Fatalf("%d packets were played back", n)
		}
		pass(3 * time.Minute)
		if after := north.All(); len(after) != 1 || after[0].Missed.IsZero() {
			t.Errorf("after a replay %+v became %+v", before, after)
		}
	})
}

// The library must report a conflict, and must still accept messages from the first node.
func TestTwoNodesWithOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		_, north, address := w.start("north", nil)
		south, _, _ := w.start("south", nil)
		check(t, south.Join(address))
		pass(10 * time.Second)
		forger := w.insider("south", nil)
		forger.Join([]string{address})
		pass(time.Minute)
		if s := north.Last("south"); time.Since(s.At) > 30*time.Second || len(north.All()) != 1 {
			t.Errorf("with a forger south is %+v", s)
		}
	})
}
