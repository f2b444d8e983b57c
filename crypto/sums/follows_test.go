package sums

import (
	"testing"

	"fedpvi/crypto/transcript"
)

// A stage has the deals of four clients for two contradicting plans with the same number. It also
// has the cuts and certificates that a coordinator can make from these deals.
type stage struct {
	*world
	e     *explorer
	dealt [3]map[int][]byte // states of the clients after their deals, by plan and place
	deals [3]map[int][]byte // bodies of the deals, by plan and place
	cuts  []entryPair       // entries with the cuts, in the same order as in the model
	certs []entryPair
}

type entryPair struct {
	entry transcript.Entry
	body  []byte
}

func newStage(t *testing.T) *stage {
	w := newWorld(t, 4, 3, 2).exchange()
	for place := range 4 {
		w.learn(place+1, 1, 2, 3, 4)
	}
	s := &stage{world: w, e: newExplorer(rules{clients: 4, corrupt: 1, fewest: 3})}
	before := w.chain
	for plan := 1; plan <= 2; plan++ {
		w.chain, w.coordinator = before, NewCoordinator(w.federation)
		for _, i := range w.keys {
			_, _, err := w.coordinator.AddKeys(i.envelope)
			check(t, err)
		}
		s.dealt[plan], s.deals[plan] = map[int][]byte{}, map[int][]byte{}
		at, salts := s.publishNext("plan", []byte{byte(plan)}), map[int]Hash{}
		for place := 1; place <= 4; place++ {
			c := w.copyOf(place)
			check(t, c.Follow(at.entry, at.body))
			d, err := c.Deal([]int64{int64(10 * place), 1})
			check(t, err)
			s.dealt[plan][place], err = c.MarshalBinary()
			check(t, err)
			s.deals[plan][place], salts[place] = d.body, c.salt
		}
		for _, c := range s.e.cuts {
			if c.plan == plan {
				s.certify(c, salts)
			}
		}
	}
	return s
}

// publishNext signs the next entry and passes it only to the coordinator.
func (s *stage) publishNext(kind transcript.Kind, body []byte) entryPair {
	s.t.Helper()
	envelope, err := s.chain.Sign(s.hub, kind, 1, model(1), body)
	check(s.t, err)
	chain, e, err := s.chain.Follow(envelope, body)
	check(s.t, err)
	check(s.t, s.coordinator.Follow(e, body))
	s.chain = chain
	return entryPair{e, body}
}

// certify appends cut c of the model, and a certificate with three confirmations of it.
func (s *stage) certify(c modelCut, salts map[int]Hash) {
	s.t.Helper()
	chain, progress := s.chain, s.coordinator.Progress
	var cut []Dealt
	for place := 1; place <= 4; place++ {
		if place > s.e.honest || c.honest>>(place-1)&1 == 1 {
			cut = append(cut, Dealt{place, salts[place]})
		}
	}
	s.cuts = append(s.cuts, s.publishNext(transcript.Cut, cutBytes(cut)))
	s.certs = append(s.certs, s.publishNext(transcript.Certificate, s.signatures(s.coordinator.cutHash, 1, 2, 3)))
	s.chain, s.coordinator.Progress = chain, progress
}

func (s *stage) restored(place int, state []byte) *Client {
	s.t.Helper()
	c, err := RestoreClient(s.federation, s.federation.Name(place), state)
	check(s.t, err)
	return c
}

// see makes a client follow a cut and gather its columns. If the client refuses, see returns false.
func (s *stage) see(c *Client, cut int) bool {
	if c.cutHash != s.cuts[cut].entry.Hash && c.Follow(s.cuts[cut].entry, s.cuts[cut].body) != nil {
		return false
	}
	return !c.Wants() || c.Gather(piecesOf(s.federation, c.Cut(), s.deals[s.e.cuts[cut].plan], c.place)) == nil
}

// confirm lets a client confirm a cut and returns the client's new state. If the client refuses,
// confirm returns false.
func (s *stage) confirm(place int, state []byte, cut int) ([]byte, bool) {
	c := s.restored(place, state)
	if !s.see(c, cut) {
		return nil, false
	}
	_, err := c.Confirm(s.clients[place-1].identity)
	return s.state(c), err == nil
}

// share lets a client make its share of a certified cut. Its results are like those of confirm.
func (s *stage) share(place int, state []byte, cut int) ([]byte, bool) {
	c := s.restored(place, state)
	if !s.see(c, cut) {
		return nil, false
	}
	if c.certificate != s.certs[cut].entry.Hash && c.Follow(s.certs[cut].entry, s.certs[cut].body) != nil {
		return nil, false
	}
	_, _, err := c.Share(s.clients[place-1].identity)
	return s.state(c), err == nil
}

func (s *stage) state(c *Client) []byte {
	b, err := c.MarshalBinary()
	check(s.t, err)
	return b
}

// In each state that a client can reach, the test tries each step of the model. The client must
// take the step if and only if the model does.
//
//abuse:case P16 clients take the steps of the explored model and no others
func TestClientsFollowTheModel(t *testing.T) {
	s := newStage(t)
	steps, refused := 0, 0
	for place := 1; place <= s.e.honest; place++ {
		states := map[holder][]byte{}
		var queue []holder
		reach := func(h holder, state []byte) {
			if _, ok := states[h]; !ok {
				states[h] = state
				queue = append(queue, h)
			}
		}
		for plan := 1; plan <= 2; plan++ {
			reach(holder{plan: int8(plan)}, s.dealt[plan][place])
		}
		for ; len(queue) > 0; queue = queue[1:] {
			h := queue[0]
			for k := range s.e.cuts {
				for _, try := range []struct {
					what string
					may  bool
					next holder
					do   func(int, []byte, int) ([]byte, bool)
				}{
					{"confirm", s.e.mayConfirm(h, k), h.confirm(k), s.confirm},
					{"share", s.e.mayShare(h, k), h.share(k), s.share},
				} {
					state, ok := try.do(place, states[h], k)
					if ok != try.may {
						t.Fatalf("client %d in state %+v: %s cut %d: the model says %t, the client %t", place, h, try.what, k+1, try.may, ok)
					}
					if steps++; ok {
						reach(try.next, state)
					} else {
						refused++
					}
				}
			}
		}
	}
	if steps < 1000 || refused < 500 {
		t.Errorf("%d steps were tried, of which %d were refused", steps, refused)
	}
}
