package membership

import (
	"bytes"
	"crypto/sha256"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/secret"
	"fedpvi/internal/testing/canary"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	study = sha256.Sum256([]byte("a study document"))
	key   = bytes.Repeat([]byte{'k'}, KeySize)
)

func sites(n identity.Name) bool { return n == "north" || n == "south" || n == "west" }

func TestPartiesSeeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		_, north, address := w.start("north", nil)
		south, view, _ := w.start("south", nil)
		came := north.Changed()
		check(t, south.Join(address))
		<-came
		pass(time.Minute)
		for name, v := range map[identity.Name]*View{"south": north, "north": view} {
			all := v.All()
			if len(all) != 1 || all[0].Name != name || all[0].Way != Gossip || time.Since(all[0].At) > 30*time.Second || !all[0].Missed.IsZero() {
				t.Errorf("%s is seen as %+v", name, all)
			}
		}

		gone := north.Changed()
		check(t, south.list.Shutdown()) // the node stops without telling the others
		start := time.Now()
		<-gone
		if s := north.Last("south"); s.Missed.IsZero() || time.Since(start) > 2*time.Minute {
			t.Errorf("a node that died is %+v after %v", s, time.Since(start))
		}
		north.Seen("south", Stream)
		if s := north.Last("south"); !s.Missed.IsZero() || s.Way != Stream {
			t.Errorf("a party that came back another way is %+v", s)
		}
	})
}

//abuse:case A19 a departure is recorded as a time and decides nothing
func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		_, north, address := w.start("north", nil)
		south, _, _ := w.start("south", nil)
		check(t, south.Join(address))
		check(t, south.Close())
		pass(10 * time.Second)
		if s := north.Last("south"); s.Missed.IsZero() {
			t.Errorf("a node that left is %+v", s)
		}
	})
}

//abuse:case A19 another key, study or name is ignored
func TestUnknownNodesAreIgnored(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"another key":   func(c *Config) { c.Key = secret.New(bytes.Repeat([]byte{'x'}, KeySize)) },
		"another study": func(c *Config) { c.Study = sha256.Sum256([]byte("another")) },
		"another name":  func(c *Config) { c.Name = "east" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t)
				_, north, address := w.start("north", nil)
				stranger, _, _ := w.start("south", change)
				stranger.Join(address)
				pass(time.Minute)
				if all := north.All(); len(all) != 0 {
					t.Errorf("seen: %+v", all)
				}
			})
		})
	}
}

// Neither a log nor a packet may show the gossip key, and no packet may show an unencrypted name.
//
//abuse:case A17 no log contains the gossip key, and packets are encrypted
func TestKeyIsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		_, _, address := w.start("north", nil)
		south, _, _ := w.start("south", nil)
		check(t, south.Join(address))
		pass(time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.log.Len() == 0 || strings.Contains(w.log.String(), "kkkk") {
			t.Errorf("the log: %s", w.log.String())
		}
		if w.packets.Len() == 0 || bytes.Contains(w.packets.Bytes(), []byte("south")) {
			t.Error("a name is sent in the clear")
		}
		canary.Absent(t, w.packets.String()+w.log.String(), key)
	})
}

func TestInvalidConfigurations(t *testing.T) {
	port := listen(t)
	for name, change := range map[string]func(*Config){
		"no name":   func(c *Config) { c.Name = "" },
		"no view":   func(c *Config) { c.View = nil },
		"short key": func(c *Config) { c.Key = secret.New([]byte("short")) },
		"long key":  func(c *Config) { c.Key = secret.New(make([]byte, 64)) },
		"AES-128":   func(c *Config) { c.Key = secret.New(make([]byte, 16)) },
		"no port":   func(c *Config) { c.Port = nil },
	} {
		c := Config{Name: "north", Study: study, Key: secret.New(bytes.Clone(key)), View: NewView(sites, time.Now), Port: port}
		change(&c)
		if n, err := Start(c); err == nil {
			n.Close()
			t.Errorf("%s is taken", name)
		}
	}
}

// The methods of View may return sightings and a channel. They must not return a number, a Boolean
// or a list of members on which a program could base a decision.
//
//abuse:case A19 gossip yields no data for a decision
func TestViewContainsTimesOnly(t *testing.T) {
	allowed := map[reflect.Type]bool{
		reflect.TypeFor[[]Sighting](): true, reflect.TypeFor[Sighting](): true, reflect.TypeFor[<-chan struct{}](): true,
	}
	v := reflect.TypeFor[*View]()
	for i := range v.NumMethod() {
		for out := range v.Method(i).Type.Outs() {
			if !allowed[out] {
				t.Errorf("%s returns %v", v.Method(i).Name, out)
			}
		}
	}
	s := reflect.TypeFor[Sighting]()
	for i := range s.NumField() {
		switch s.Field(i).Type {
		case reflect.TypeFor[identity.Name](), reflect.TypeFor[Way](), reflect.TypeFor[time.Time]():
		default:
			t.Errorf("a sighting has a %v", s.Field(i).Type)
		}
	}
}

func TestOnlyNewsWakesUp(t *testing.T) {
	day := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	v := NewView(sites, func() time.Time { day = day.Add(time.Second); return day })
	woken := func(what func()) bool {
		c := v.Changed()
		what()
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	for i, c := range []struct {
		what func()
		want bool
	}{
		{func() { v.Seen("north", Stream) }, true},
		{func() { v.Seen("north", Gossip) }, false},
		{func() { v.Seen("nobody", Gossip) }, false},
		{func() { v.miss("north") }, true},
		{func() { v.miss("north") }, false},
		{func() { v.Seen("north", Stream) }, true},
	} {
		if got := woken(c.what); got != c.want {
			t.Errorf("step %d wakes up: %t", i, got)
		}
	}
	if s := v.Last("west"); s != (Sighting{Name: "west"}) {
		t.Errorf("a party that was never seen is %+v", s)
	}
}
