package client_test

import (
	"testing"

	"fedpvi/client"
	"fedpvi/crypto/identity"
)

// The client north approves a study for which three clients are expected. Its policy recognises one
// of the other two clients, so it expects one stranger: a client that the policy does not
// recognise. The study then begins with two strangers. North must stop, show them in the review,
// and take part after the higher charge is approved.
//
//abuse:case A05 more strangers than were expected need another approval, which shows them
func TestMoreStrangersThanExpected(t *testing.T) {
	h, all := federation(t, secureStudy("3\ncolluders = 1"), "north", "south")
	north := all[0]
	known := h.members["south"].Key.Fingerprint().String()
	north.edit("# recognised = []", "recognised = [\""+known+"\"]")
	for m, name := range []string{"east", "west"} {
		p := newHolder(t, h, identity.Name(name), m+2)
		check(t, p.approve())
		_, err := p.step()
		check(t, err)
		all = append(all, p)
	}
	view := func(want string, strangers int) {
		t.Helper()
		check(t, north.approve())
		check(t, north.with(func(c *client.Client, m *client.Member, p *client.Policy) error {
			r, err := c.Review(m, p, "")
			if err == nil && (r.Terms.View != want || len(r.Strangers) != strangers || !r.Approved) {
				t.Errorf("charged against %s with %d strangers, want %s with %d: %v", r.Terms.View, len(r.Strangers), want, strangers, r.Problems)
			}
			return err
		}))
	}
	view("coalition", 0)
	h.begin()
	if _, err := north.step(); client.CodeOf(err) != client.Declined {
		t.Fatalf("a roster with more strangers: %v", err)
	}
	view("coordinator", 2)
	for _, e := range play(t, all) {
		if e.Aborted {
			t.Error("the study was aborted")
		}
	}
	one(t, h, north)
}
