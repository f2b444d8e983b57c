package sums

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// vectors returns a random vector for each place, and their sum. Some elements are at the limits.
func vectors(w *world, places []int, r *rand.Rand) (all map[int][]int64, sum []int64) {
	all, sum = map[int][]int64{}, make([]int64, w.federation.length)
	limit := int64(MaxElement / w.federation.Clients())
	for _, place := range places {
		v := make([]int64, w.federation.length)
		for i := range v {
			switch r.IntN(4) {
			case 0:
				v[i] = limit
			case 1:
				v[i] = -limit
			default:
				v[i] = r.Int64N(2*limit) - limit
			}
			sum[i] += v[i]
		}
		all[place] = v
	}
	return all, sum
}

// some draws n different places, in increasing order.
func some(r *rand.Rand, clients, n int) []int {
	places := r.Perm(clients)[:n]
	for i := range places {
		places[i]++
	}
	slices.Sort(places)
	return places
}

// In each step of a plan, only the minimum number of clients act. They are drawn anew for each
// step.
func TestSumsAreOpened(t *testing.T) {
	for _, c := range []struct{ clients, fewest, length int }{
		{2, 2, 3}, {3, 3, 1}, {3, 3, 700}, {4, 3, 1}, {4, 3, 1001}, {5, 4, 2}, {7, 5, 11}, {10, 8, 100}, {9, 9, 33}, {12, 7, 50},
	} {
		w := newWorld(t, c.clients, c.fewest, c.length).exchange()
		r := rand.New(rand.NewPCG(1, uint64(c.clients)))
		for ask := uint64(1); ask <= 3; ask++ {
			w.publish("plan", ask, nil)
			dealers := some(r, c.clients, c.fewest+r.IntN(c.clients-c.fewest+1))
			inputs, want := vectors(w, dealers, r)
			for _, place := range dealers {
				w.deal(place, inputs[place])
			}
			w.cut(ask)
			w.confirm(some(r, c.clients, c.fewest)...)
			w.certify(ask)
			w.share(some(r, c.clients, c.fewest+r.IntN(c.clients-c.fewest+1))...)
			w.open(ask)
			for _, p := range w.clients {
				names, got, ok := p.Sum()
				if !ok || !slices.Equal(got, want) {
					t.Fatalf("%d clients, %d open: got %v, want %v", c.clients, c.fewest, got, want)
				}
				for i, place := range dealers {
					if len(names) != len(dealers) || names[i] != w.federation.Name(place) {
						t.Fatalf("the sum has the clients %v", names)
					}
				}
			}
			w.publish("outcome", ask, nil)
		}
	}
}

// A client must keep the column of its own deal until it has added it up or the plan is over.
func TestOwnColumnIsKeptUntilItIsAdded(t *testing.T) {
	w := newWorld(t, 3, 3, 2).exchange()
	for ask := uint64(1); ask <= 2; ask++ {
		w.publish("plan", ask, nil)
		for place := 1; place <= 3; place++ {
			w.deal(place, []int64{1, 2})
		}
		if own := w.clients[0].own; len(own) != 2 {
			t.Fatalf("a client that has dealt has the column %v", own)
		}
		if ask == 1 {
			w.cut(ask)
			w.gather(1)
		} else {
			w.publish("outcome", ask, nil)
		}
		if own := w.clients[0].own; own != nil {
			t.Errorf("a client without use for its column has %v", own)
		}
		if ask == 1 {
			w.publish("outcome", ask, nil)
		}
	}
}
