package session

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"fedpvi/pvi/study"
)

const twoRecords = "unit = \"record\"\nnoise_multiplier = 0.5\ndelta = 1e-5"

// secureHouse returns the house of a study in which either the clients or the coordinator add up
// the messages. Both studies have the same noise and the same digest, and therefore the same public
// random numbers.
func secureHouse(t *testing.T, aggregation study.Aggregation, privacy, inference string, clients, fewest int, overrides ...study.Override) *house {
	federation := fmt.Sprintf("aggregation = %q\nmin_clients = %d", aggregation, fewest)
	if privacy == twoRecords {
		federation += "\nopens = \"sums\""
	}
	st := planeStudy(t, privacy, inference, federation, overrides...)
	st.Digest = study.Digest{1}
	return newHouse(t, st, clients)
}

// sumUp lets the given clients answer, and returns the sum of their vectors.
func (h *house) sumUp(clients ...int) Sum {
	h.t.Helper()
	sum := Sum{Elements: make([]int64, h.server.VectorSize())}
	for _, m := range clients {
		a := h.answer(m)
		if a.Release != nil || len(a.Vector) > h.sites[m].VectorSize() {
			h.t.Fatalf("the answer has a release of %d bytes and a vector of %d numbers", len(a.Release), len(a.Vector))
		}
		for i, n := range a.Vector {
			sum.Elements[i] += n
		}
		sum.Participants = append(sum.Participants, h.roster[m])
	}
	return sum
}

// It makes no difference to the bits of the result whether the answers are added up by secure
// aggregation or by a coordinator, even if some answers are missing or plans are void.
func TestSumsGiveTheSameAsReleases(t *testing.T) {
	for _, c := range []struct {
		name, privacy, inference string
		overrides                []study.Override
	}{
		{"clients", clientPrivacy, "", nil},
		{"clients, scale", clientPrivacy, "", scaledPrivately},
		{"records", twoRecords, "solver = \"dp-svi\"\nq = \"diagonal\"", nil},
		{"records, scale and last round", twoRecords, "solver = \"dp-svi\"\nq = \"diagonal\"\nnoise_aware = \"one-step\"", scaledPrivately},
	} {
		secure := secureHouse(t, study.Secure, c.privacy, c.inference, 4, 3, c.overrides...)
		plain := secureHouse(t, study.ByCoordinator, c.privacy, c.inference, 4, 3, c.overrides...)
		for round := 0; !secure.server.Done(); round++ {
			// From the third round on, the server and all sites are first restored from their states.
			// Clients that missed the round before take part again.
			if round > 1 {
				secure.restart(t)
			}
			who := [][]int{{0, 1, 2, 3}, {0, 2, 3}, {1, 3}}[round%3]
			secure.next()
			plain.next()
			sum := secure.sumUp(who...)
			for _, m := range who {
				plain.send(m)
			}
			if len(who) == 4 {
				secure.open(sum)
				continue
			}
			ask, _ := plain.server.Plans()
			plain.close(ask)
			if len(who) < 3 {
				secure.close(ask)
				continue
			}
			secure.open(sum)
		}
		results := map[*house][]byte{}
		for _, h := range []*house{secure, plain} {
			r, err := h.server.Result()
			check(t, err)
			r.Costs = nil // the costs refer to observers with different names
			results[h], err = r.Bytes()
			check(t, err)
		}
		if !plain.server.Done() || !bytes.Equal(results[secure], results[plain]) {
			t.Errorf("%s: the results are\n%s\nand\n%s", c.name, results[secure], results[plain])
		}
	}
}

// restart replaces the server and all sites by copies that were restored from their states.
func (h *house) restart(t *testing.T) {
	t.Helper()
	server, err := RestoreServer(h.study, h.roster, state(t, h.server))
	check(t, err)
	h.server = server
	for m := range h.sites {
		h.sites[m] = h.restored(m)
	}
}

// open passes an opened sum to the server and the outcome to all sites. It also checks SumOf.
func (h *house) open(sum Sum) {
	h.t.Helper()
	ask, _ := h.server.Plans()
	e, err := h.server.CollectSum(ask, sum)
	check(h.t, err)
	for _, of := range []func(Entry) (Sum, error){h.server.SumOf, h.sites[1].SumOf} {
		if got, err := of(*e); err != nil || !got.Equal(sum) {
			h.t.Errorf("plan %d: the outcome has the sum %v, want %v (%v)", ask, got, sum, err)
		}
	}
	h.say(e)
}

func TestImpossibleSumsAreRefused(t *testing.T) {
	h := secureHouse(t, study.Secure, clientPrivacy, "", 4, 3, scaledPrivately...)
	h.next()
	good := h.sumUp(0, 1, 2)
	if size := h.server.course.phases[0].numbers(1); size == h.server.VectorSize() {
		h = secureHouse(t, study.Secure, clientPrivacy, "", 4, 3)
		h.next()
		good = h.sumUp(0, 1, 2)
	}
	with := func(change func(*Sum)) Sum {
		s := Sum{Participants: slices.Clone(good.Participants), Elements: slices.Clone(good.Elements)}
		change(&s)
		return s
	}
	for _, c := range []struct {
		what, why string
		plan      int
		sum       Sum
	}{
		{"another plan", "not open", 2, good},
		{"too short", "elements, want", 1, with(func(s *Sum) { s.Elements = s.Elements[1:] })},
		{"too large", "beyond what", 1, with(func(s *Sum) { s.Elements[0] = 3*h.server.course.public.Limit() + 1 })},
		{"too few", "fewer than 3", 1, with(func(s *Sum) { s.Participants = s.Participants[1:] })},
		{"a stranger", "does not name", 1, with(func(s *Sum) { s.Participants[2] = "stranger" })},
		{"twice the same", "does not name", 1, with(func(s *Sum) { s.Participants[2] = s.Participants[1] })},
	} {
		refused(t, c.what, c.why, h.server, func() error {
			_, err := h.server.CollectSum(c.plan, c.sum)
			return err
		})
	}
	h.open(good)
}

// The padding of a sum must be zero, because it has no meaning.
func TestPaddingIsZero(t *testing.T) {
	h := secureHouse(t, study.Secure, twoRecords, "solver = \"dp-svi\"\nq = \"diagonal\"\nnoise_aware = \"one-step\"", 4, 3)
	h.next()
	sum := h.sumUp(0, 1, 2, 3)
	last := len(sum.Elements) - 1
	if h.server.course.phases[0].numbers(1) > last {
		t.Fatal("the vector of a round is as long as that of the last round: choose another study")
	}
	sum.Elements[last] = 1
	refused(t, "padding", "not zero after", h.server, func() error {
		_, err := h.server.CollectSum(1, sum)
		return err
	})
	sum.Elements[last] = 0
	h.open(sum)
}
