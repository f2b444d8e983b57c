package transport

import (
	"context"
	"maps"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fedpvi/crypto/channel"
)

// A counter is an Observer for tests that counts calls, bytes and connections.
type counter struct {
	mu             sync.Mutex
	calls          map[[2]string]int
	received, sent int
	open, most     int
}

func newCounter() *counter { return &counter{calls: map[[2]string]int{}} }

func (c *counter) Called(method, outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[[2]string{method, outcome}]++
}

func (c *counter) Moved(received, sent int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received += received
	c.sent += sent
}

func (c *counter) Connected(change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += change
	c.most = max(c.most, c.open)
}

// counts returns the counts so far. They may still grow, because the server may still be reading
// from connections that are closing.
func (c *counter) counts() (calls map[[2]string]int, received, sent int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls), c.received, c.sent
}

func (c *counter) now() (open, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open, c.most
}

//abuse:case A12 bounded for each party
func TestConnectionsOfAPartyAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newCounter()
		w := newWorldWith(t, ServerConfig{Limits: Limits{PerParty: 2}, Observer: o}, ours)
		config := w.config("north")
		for range 5 { // the client does not close its connections
			w.raw(config).Connect()
			synctest.Wait()
		}
		if open, most := o.now(); open != 2 || most != 3 {
			t.Errorf("%d connections are open, want %d", open, most)
		}
		w.raw(w.config("south")).Connect()
		synctest.Wait()
		if open, _ := o.now(); open != 3 {
			t.Errorf("%d connections are open: one party is in the way of another", open)
		}
	})
}

// If a party has too many connections, the newest must work, because an older one may be dead.
func TestNewestConnectionWins(t *testing.T) {
	w := newWorldWith(t, ServerConfig{Limits: Limits{PerParty: 1}}, ours)
	config := w.config("north")
	w.dial(config)
	north := w.dial(config)
	check(t, north.Approve(t.Context(), []byte("consent")))
}

// A connection on which nothing is sent must count against the limit of its host until it is too
// late for a handshake.
//
//abuse:case A12 bounded for each host
func TestConnectionsOfStrangersAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newCounter()
		w := newWorldWith(t, ServerConfig{Limits: Limits{Strangers: 3}, Observer: o}, ours)
		for range 10 {
			c, err := w.listener.DialContext(t.Context())
			check(t, err)
			defer c.Close()
		}
		synctest.Wait()
		if open, most := o.now(); open != 3 || most != 3 {
			t.Errorf("%d connections are open, want %d", open, most)
		}
		check(t, rest(t.Context(), w.server.timing.handshake+time.Second))
		synctest.Wait()
		if open, _ := o.now(); open != 0 {
			t.Errorf("%d connections are open after the time for a handshake", open)
		}
		north := w.dial(w.config("north"))
		check(t, north.Approve(t.Context(), []byte("consent")))
	})
}

func TestConnectionsOfGuestsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newCounter()
		w := newWorldWith(t, ServerConfig{Limits: Limits{Strangers: 2}, Observer: o}, ours)
		for range 4 {
			w.raw(w.guest()).Connect()
			synctest.Wait()
		}
		if open, most := o.now(); open != 2 || most != 2 {
			t.Errorf("%d connections are open, want %d", open, most)
		}
	})
}

// A party must count as connected from its handshake until it closes the connection, even if it has
// not read all entries. Guests must not count.
func TestConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.raw(w.guest()).Connect()
		synctest.Wait()
		if w.server.Connected() {
			t.Error("a guest counts as a party")
		}
		for i := range 3 {
			w.desk.say([]byte{byte(i)})
		}
		north := w.dial(w.config("north"))
		_, err := north.Entry(t.Context(), 1)
		check(t, err)
		synctest.Wait()
		if !w.server.Connected() {
			t.Error("a client that has read one of three entries does not count as connected")
		}
		check(t, north.Close())
		synctest.Wait()
		if w.server.Connected() {
			t.Error("a client that has left counts as connected")
		}
	})
}

//abuse:case A12 bounded in all
func TestTotalConnectionsAreLimited(t *testing.T) {
	o := newCounter()
	d := newDoor(ServerConfig{Limits: Limits{Connections: 2}.withDefaults(), Observer: o})
	var all []*guarded
	for range 3 {
		c, other := net.Pipe()
		defer other.Close()
		if g, ok := d.enter(c); ok {
			all = append(all, g)
		}
	}
	if len(all) != 2 {
		t.Fatalf("%d connections entered", len(all))
	}
	d.know(all[0], channel.Party{Name: "north"})
	for _, g := range all {
		g.Close()
		g.Close()
	}
	if len(d.open) != 0 || len(d.strangers) != 0 || len(d.parties) != 0 || o.open != 0 {
		t.Errorf("after the end: %v %v %v %d", d.open, d.strangers, d.parties, o.open)
	}
	d.know(all[0], channel.Party{Name: "north"})
	if len(d.parties) != 0 {
		t.Error("a closed connection is remembered")
	}
}

// The documentation gives these limits. The tests of the single limits use smaller ones.
func TestUsualLimits(t *testing.T) {
	if got, want := (Limits{}).withDefaults(), (Limits{Connections: 16384, Strangers: 256, PerParty: 4, Calls: 16}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if maxGuest != 64<<10 || connWindow != 1<<20 || maxAsked != 1<<20+64<<10 || MaxEnvelope != 64<<10 {
		t.Error("a size differs from the documentation")
	}
}

func TestObserverCounts(t *testing.T) {
	o, own := newCounter(), newCounter()
	w := newWorldWith(t, ServerConfig{Observer: o}, ours)
	config := w.config("north")
	config.Observer = own
	north := w.dial(config)
	release := item(make([]byte, 100_000))
	check(t, north.Submit(t.Context(), release))
	wantRefusal(t, north.Submit(t.Context(), Item{Envelope: []byte("short"), Body: []byte{1}}), Malformed)
	refusalOf(context.Background(), w.raw(w.config("south")), "/made/up")
	north.Close()
	calls, received, _ := o.counts()
	ownCalls, _, sent := own.counts()
	for _, k := range [][2]string{{"Hello", "ok"}, {"Submit", "ok"}, {"Submit", "malformed"}} {
		if calls[k] != 1 || ownCalls[k] != 1 {
			t.Errorf("%v: %d at the server, %d at the client", k, calls[k], ownCalls[k])
		}
	}
	if calls[[2]string{"other", "denied"}] != 1 || len(calls) != 4 {
		t.Errorf("%v", calls)
	}
	if sent < 100_000 || sent > 110_000 || received < sent-1000 {
		t.Errorf("%d bytes sent, %d received for 100,000", sent, received)
	}
}

// While a party's connection is open, the server must call Seen for it, even if the party only
// answers pings.
func TestPartyIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		delete(w.server.studies, channel.ServerName(w.document))
		study := w.study(w.desk)
		var mu sync.Mutex
		seen := map[channel.Party]time.Time{}
		study.Seen = func(p channel.Party) {
			mu.Lock()
			defer mu.Unlock()
			seen[p] = time.Now()
		}
		check(t, w.server.Add(study))
		c := w.config("north")
		north := w.dial(c)
		w.raw(w.guest()).Connect()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		north.Entry(ctx, 1)
		mu.Lock()
		defer mu.Unlock()
		for p, at := range seen {
			if ago := time.Since(at); p.Name != "north" || ago > 2*w.server.timing.ping {
				t.Errorf("%q was seen %v ago", p.Name, ago)
			}
		}
		if len(seen) != 1 {
			t.Errorf("seen: %v", seen)
		}
	})
}
