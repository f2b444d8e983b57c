package client_test

import (
	"os"
	"path/filepath"
	"testing"

	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/sums"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/wire"
)

const secureFederation = "aggregation = \"secure\"\n"

// secureStudy returns a study with secure aggregation and the given min_clients.
func secureStudy(fewest string) []byte {
	return planeStudy(clientPrivacy, "", secureFederation+"min_clients = "+fewest)
}

// Clients can compute an outcome from the sum that they have opened, so the coordinator must send
// outcomes without their bodies.
func TestASecureStudyIsPlayed(t *testing.T) {
	for fewest, names := range map[string][]identity.Name{
		"3": {"north", "south", "west"},
		"4": {"east", "north", "south", "southwest", "west"},
	} {
		h, all := begun(t, secureStudy(fewest), names...)
		endings := play(t, all)
		for m, e := range endings {
			if e.Aborted || string(e.Result) != string(endings[0].Result) || len(e.Result) == 0 {
				t.Errorf("%s has another result", names[m])
			}
			one(t, h, all[m])
		}
		rejected := 0
		for _, i := range h.items {
			if o, err := wire.ReadOutcome(i.Body, wire.Limits{Elements: 100, Clients: 10, Name: 40}); err == nil && o.Verdict == pvi.Rejected {
				rejected++
			}
		}
		if got := len(h.items); got != 1+3*5+1 || h.asked != rejected*len(names) {
			t.Errorf("%d entries, and %d requests for the body of one; %d sums were rejected", got, h.asked, rejected)
		}
	}
}

//abuse:case P16 a client that is killed at any commit says each thing once, with the same bytes
func TestKilledSecureClientContinues(t *testing.T) {
	h, all := begun(t, secureStudy("3"), "north", "south", "west")
	victim, kills := all[0], 0
	for range 5 * 3 {
		for victim.killed(1) && victim.killed(2) {
			kills += 2
		}
		for _, p := range all[1:] {
			p.mustStep()
		}
	}
	for _, p := range all {
		if ending, err := p.step(); err != nil || ending == nil {
			t.Fatalf("%s has not ended: %v", p.name, err)
		}
	}
	if kills < 2*len(h.items) {
		t.Errorf("%d kills in a study of %d entries", kills, len(h.items))
	}
	one(t, h, victim)
}

//abuse:case A03 a sum that the coordinator has changed by one step is refused by every client
func TestFalsifiedSumsAreRefused(t *testing.T) {
	h, all := federation(t, secureStudy("3"), "north", "south", "west")
	h.falsify = func(elements []int64) { elements[0]++ }
	h.begin()
	stopped := map[identity.Name]bool{}
	for range 12 {
		for _, p := range all {
			if stopped[p.name] {
				continue
			}
			if _, err := p.step(); err != nil {
				if code := client.CodeOf(err); code != client.Declined {
					t.Errorf("%s stops with code %d: %v", p.name, code, err)
				}
				stopped[p.name] = true
			}
		}
	}
	if len(stopped) != len(all) || h.asked != len(all) {
		t.Errorf("stopped: %v, after %d requests for the false body", stopped, h.asked)
	}
}

// In each step of a plan, another one of the four clients is absent.
func TestClientsAwayInEachStep(t *testing.T) {
	h, all := begun(t, secureStudy("3"), "east", "north", "south", "west")
	step := func(who ...int) {
		for _, m := range who {
			all[m].mustStep()
		}
	}
	step(0, 1, 2, 3) // all clients send their keys, and the last one deals
	step(0, 1)
	if got := len(h.sums.Missing()); got != 1 {
		t.Fatalf("%d deals are missing", got)
	}
	h.cut()       // the deadline passes without a deal from south
	step(2)       // south is back: it is too late to deal, but it confirms the cut
	step(0, 1, 2) // the third confirmation is the last one that the certificate needs
	step(3)       // west has not confirmed the cut, but can send its share
	step(2, 1)
	if plans, _ := h.server.Plans(); plans != 2 {
		t.Fatalf("%d plans", plans)
	}
	play(t, all)
	if a := all[2].account(); len(a.Studies) != 1 || a.Studies[0].Answers != 2 {
		t.Errorf("a client that did not deal for one of three plans has the account %+v", a)
	}
}

func TestAnswerAfterTheCut(t *testing.T) {
	h, all := begun(t, secureStudy("3"), "east", "north", "south", "west")
	play := func(who ...int) {
		for _, m := range who {
			all[m].mustStep()
		}
	}
	play(0, 1, 2, 3, 0, 1)
	late := all[2]
	c := late.openWith(killAfterCharge)
	_, err := late.run(c)
	check(t, c.Close())
	if err == nil {
		t.Fatal("the answer was sent")
	}
	h.cut()
	play(2, 0, 1, 2)
	if plans, _ := h.server.Plans(); plans != 1 || h.sums.Step() != sums.Sharing {
		t.Fatalf("%d plans, step %d", plans, h.sums.Step())
	}
	c = late.open()
	defer c.Close()
	m, err := c.Member("")
	check(t, err)
	if why, err := c.Missed(m.Hash); err != nil || len(why) != 1 {
		t.Errorf("answers that were not added up: %v, %v", why, err)
	}
}

// The complaint comes too late, because there is already a certificate.
//
//abuse:case P16 a client that cannot read a deal does not confirm it, and says whose deal it is
func TestSpoiledColumns(t *testing.T) {
	h, all := begun(t, secureStudy("3"), "east", "north", "south", "west")
	h.sums.spoil = func(name identity.Name, pieces []byte) {
		if name == "north" {
			pieces[0] ^= 1
		}
	}
	play(t, all)
	if len(h.sums.complaints) < 3 || h.sums.complaints[0] != 1 {
		t.Errorf("complaints: %v", h.sums.complaints)
	}
}

//abuse:case A03 a sum that the clients have not opened is refused
func TestSumsWithoutAnOpening(t *testing.T) {
	h, all := begun(t, secureStudy("3"), "north", "south", "west")
	for range 2 {
		for _, p := range all {
			p.mustStep()
		}
	}
	sum := session.Sum{Participants: h.clients(), Elements: make([]int64, h.server.VectorSize())}
	outcome, err := h.server.CollectSum(1, sum)
	check(t, err)
	h.sayEntry(*outcome)
	if _, err := all[0].step(); client.CodeOf(err) != client.Declined {
		t.Errorf("a sum that nobody has opened: %v", err)
	}
}

// If the client lost the state of the sums, it would send an answer that the coordinator can read.
//
//abuse:case P08 a client without the state of its secure sums stops, and seals no answer for the coordinator
func TestSumsThatAreMissing(t *testing.T) {
	h, all := begun(t, secureStudy("3"), "north", "south", "west")
	for _, p := range all {
		p.mustStep()
	}
	check(t, all[0].with(func(c *client.Client, m *client.Member, _ *client.Policy) error {
		return c.Store().Save(ledger.Change{Study: m.Hash, Parts: map[string][]byte{"sums": nil}})
	}))
	_, err := all[0].step()
	if _, sent := h.releases[releaseKey{"north", 1}]; sent || client.CodeOf(err) != client.Damaged {
		t.Errorf("an answer was sent: %v; %v", sent, err)
	}
}

//abuse:case P16 a client that has lost the key for its columns does not complain about others
func TestSealingKeyIsLost(t *testing.T) {
	h, all := begun(t, secureStudy("3"), "north", "south", "west")
	for _, p := range all {
		p.mustStep()
	}
	files, err := filepath.Glob(filepath.Join(all[0].dir, "studies", "*", "sealing.key"))
	check(t, err)
	check(t, os.Remove(files[0]))
	if _, err := all[0].step(); client.CodeOf(err) != client.Damaged || len(h.sums.complaints) > 0 {
		t.Errorf("complaints %v, and %v", h.sums.complaints, err)
	}
}

// If the program is killed before it has destroyed the key, the next run must destroy it.
//
//abuse:case P13 a client destroys the key with which it reads messages of others when the study is over
func TestSealingKeyOfAClientIsDestroyed(t *testing.T) {
	_, all := begun(t, secureStudy("3"), "north", "south", "west")
	keys := func() []string {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(all[0].dir, "studies", "*", "sealing.key"))
		check(t, err)
		return files
	}
	during := keys()
	if len(during) != 1 {
		t.Fatalf("the keys %v during the study", during)
	}
	key, err := os.ReadFile(during[0])
	check(t, err)
	endings := play(t, all)
	if left := keys(); len(left) > 0 {
		t.Errorf("the keys %v are left", left)
	}
	check(t, os.WriteFile(during[0], key, 0o600)) // as if the program had been killed before destroying the key
	ending, err := all[0].step()
	if err != nil || string(ending.Result) != string(endings[0].Result) || len(keys()) > 0 {
		t.Errorf("another run after the end: %v, keys %v", err, keys())
	}
	if err := all[0].approve(); err != nil || len(keys()) > 0 {
		t.Errorf("an approval after the end: %v, keys %v", err, keys())
	}
}
