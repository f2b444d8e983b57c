package sums

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/crypto/sums/field"
	"fedpvi/crypto/sums/packed"
)

// An adversary is the coordinator of four clients, together with the fourth client. It knows all
// messages that the coordinator receives, and the fourth client's state. From these, it forms
// linear equations for the secrets of the other three clients. Each polynomial of the sharing is
// determined by two secrets and a random value.
type adversary struct {
	w      *world
	e      *explorer
	shares []int // honest clients whose share has arrived
	held   []byte
}

// constants has the public constants v_1 to v_4 for four clients (see package packed).
var constants = []int64{-1, 4, -6, 4}

// equations returns a linear equation for each word that the adversary can read. It has the
// coefficients of the clients' random values, the coefficients of their secrets, and the word.
func (a *adversary) equations(t *testing.T) (rows [][]uint64) {
	put := func(place int, dealers []int, word uint64) {
		row, at := make([]uint64, 3+6+1), a.e.values(place)
		for _, i := range dealers {
			row[i-1] = at[2]
			copy(row[3+2*(i-1):], at[:2])
		}
		row[9] = field.Mul(word, invert(field.FromInteger(constants[place-1])))
		rows = append(rows, row)
	}
	c := a.w.clients[3]
	for dealer := range a.w.deals {
		cut := []Dealt{{dealer, a.w.coordinator.deals[dealer]}}
		deals := map[int][]byte{dealer: a.w.deals[dealer].body}
		sum, err := a.w.federation.gather(4, nil, c.from, c.plan, cut, piecesOf(a.w.federation, cut, deals, 4))
		check(t, err)
		put(4, []int{dealer}, sum[0])
	}
	for _, place := range a.shares {
		put(place, []int{1, 2, 3}, binary.BigEndian.Uint64(a.w.clients[place-1].said.body))
	}
	return rows
}

// learned returns all linear functions of the secrets that the adversary can compute, with their
// values.
func (a *adversary) learned(t *testing.T) (functions [][]uint64) {
	for _, row := range eliminate(a.equations(t), 3) {
		functions = append(functions, row[3:])
	}
	return functions
}

// After each message of a plan, the test determines how much the coordinator and one client can
// compute from the data that they have.
//
//abuse:case P16 all that a coordinator and one client of four hold determines one sum, after each message
func TestWhatTheCoordinatorLearns(t *testing.T) {
	w := newWorld(t, 4, 3, 2).exchange()
	w.learn(4, 1, 2, 3)
	w.publish("plan", 1, nil)
	a := &adversary{w: w, e: newExplorer(rules{clients: 4, corrupt: 1, fewest: 3})}
	vectors := map[int][]int64{1: {11111111111, -7777777}, 2: {-23456789, 1 << 50}, 3: {99, 123456789123456789}}
	nothing := func(after string) {
		if functions := a.learned(t); len(functions) > 0 {
			t.Errorf("after %s: %v", after, functions)
		}
	}
	hold := func(i item) { a.held = slices.Concat(a.held, i.envelope, i.body) }
	for place := 1; place <= 3; place++ {
		w.deal(place, vectors[place])
		hold(w.clients[place-1].dealt)
		nothing("a deal")
	}
	w.cut(1)
	for place := 1; place <= 4; place++ {
		w.confirm(place)
		nothing("a confirmation")
	}
	w.certify(1)
	for place := 1; place <= 3; place++ {
		w.share(place)
		hold(w.clients[place-1].said)
		a.shares = append(a.shares, place)
		functions := a.learned(t)
		if len(functions) != place {
			t.Fatalf("%d functions are learned from %d shares", len(functions), place)
		}
		for _, f := range functions {
			value := uint64(0)
			for i := range 3 {
				for s := range 2 {
					if f[2*i+s] != f[s] {
						t.Errorf("a function that is not of the sum is learned: %v", f)
					}
					value = field.Add(value, field.Mul(f[2*i+s], field.FromInteger(vectors[i+1][s])))
				}
			}
			if value != f[6] {
				t.Error("the equations contradict the vectors: the adversary of this test is wrong")
			}
		}
	}
	w.open(1)
	for _, i := range w.entries {
		hold(i)
	}
	for _, v := range vectors {
		for _, x := range v {
			if b := binary.BigEndian.AppendUint64(nil, field.FromInteger(x)); bytes.Contains(a.held, b) {
				t.Errorf("the number %d is in what the coordinator holds", x)
			}
		}
	}
	w.publish("outcome", 1, nil)
}

// acquaint gives each client the keys of all others, without encryption.
func (w *world) acquaint() *world {
	for i, dealer := range w.clients {
		dealer.keyed, w.coordinator.keyed[i+1] = true, true
		for j, holder := range w.clients {
			holder.from[i] = dealer.to[j]
		}
	}
	return w
}

// Twenty clients disappear after their deals, and twenty more after the confirmations.
func TestTwentyOfAHundredVanish(t *testing.T) {
	w := newWorld(t, 100, 80, 1000).acquaint()
	r := rand.New(rand.NewPCG(1, 2))
	all := some(r, 100, 100)
	inputs, want := vectors(w, all, r)
	w.publish("plan", 1, nil)
	for _, place := range all {
		w.deal(place, inputs[place])
	}
	w.cut(1)
	w.confirm(all[20:]...)
	w.certify(1)
	w.share(all[:80]...)
	w.open(1)
	if _, got, ok := w.clients[99].Sum(); !ok || !slices.Equal(got, want) {
		t.Error("the sum of a hundred clients was not opened")
	}
}

// The body of a deal must have 2D(8⌈d/(D + 1)⌉ + 16) + 16·h bytes, and that of a share 8⌈d/(D + 1)⌉
// bytes.
func TestBytesOfAPlan(t *testing.T) {
	for _, c := range []struct{ clients, fewest, length int }{{3, 3, 1000}, {10, 8, 1000}, {10, 8, 1e6}, {100, 80, 1000}, {1000, 800, 1e6}} {
		scheme, err := packed.New(c.clients, c.fewest)
		check(t, err)
		s := &Federation{scheme: scheme, length: c.length, words: scheme.Words(c.length)}
		d := c.clients - c.fewest
		words := (c.length + d) / (d + 1)
		if want := 2*d*(8*words+16) + 16*(c.clients-2*d-1); s.DealSize() != want {
			t.Errorf("%+v: a deal has %d bytes, want %d", c, s.DealSize(), want)
		}
		var columns int
		var cut []Dealt
		for i := 1; i <= c.clients; i++ {
			cut = append(cut, Dealt{Place: i})
		}
		if columns = s.ColumnsSize(cut, 1); columns != s.DealSize() {
			t.Errorf("%+v: the columns of all deals have %d bytes, and a deal has %d", c, columns, s.DealSize())
		}
		if s.ShareSize() != 8*words || s.OpeningSize() != 1+c.fewest*(8*words+66) || len(cutBytes(cut)) != 1+34*c.clients {
			t.Errorf("%+v: %d, %d, %d", c, s.ShareSize(), s.OpeningSize(), len(cutBytes(cut)))
		}
	}
}
