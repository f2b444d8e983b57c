package client_test

import (
	"testing"

	"fedpvi/client"
	"fedpvi/crypto/identity"
)

// The client north approves a study with three clients. Its policy recognises one of the other two,
// so it expects one stranger. But when the study begins, there are two.
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
		p.mustStep()
		all = append(all, p)
	}
	view := func(want string, strangers int) {
		t.Helper()
		check(t, north.approve())
		if r := north.review(); r.Terms.View != want || len(r.Strangers) != strangers || !r.Approved {
			t.Errorf("charged against %s with %d strangers, want %s with %d: %v", r.Terms.View, len(r.Strangers), want, strangers, r.Problems)
		}
	}
	view("coalition", 0)
	h.begin()
	if _, err := north.step(); client.CodeOf(err) != client.Declined {
		t.Fatalf("a roster with more strangers: %v", err)
	}
	view("coordinator", 2)
	play(t, all)
	one(t, h, north)
}
