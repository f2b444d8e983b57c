package client_test

import (
	"os"
	"path/filepath"
	"testing"

	"fedpvi/client"
	"fedpvi/crypto/transcript"
)

// approveFor approves with a data set named.
func (p *holder) approveFor(dataset string) error {
	return p.with(func(c *client.Client, m *client.Member, policy *client.Policy) error {
		_, err := c.Approve(m, policy, dataset, m.Hash.String())
		return err
	})
}

// The same file under another name would have a second budget: neither in the middle of a
// study nor in the next one.
func TestOneFileHasOneBudget(t *testing.T) {
	h, all := federation(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	h.begin()
	p := all[0]
	_, err := p.step()
	check(t, err)
	spent, answers := p.account().Spent, len(h.releases)
	p.edit("[dataset.records]", "[dataset.copy]\nepsilon = 40\ndelta = 1e-5\n[dataset.records]")
	check(t, p.approveFor("copy"))
	_, err = p.step()
	p.refused("a second name", err, client.Declined, "one file has one budget", spent)
	if len(h.releases) != answers {
		t.Error("an answer was sent")
	}
	check(t, p.approveFor("records"))
	for _, e := range play(t, all) {
		if e.Aborted {
			t.Errorf("the study ended with %+v", e)
		}
	}
}

// Receipts are the coordinator's word: with one that is false it cannot put a client's state
// out of use.
func TestAFalseReceiptDoesNotCondemnTheState(t *testing.T) {
	h, all := federation(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	h.receipt = func(r *transcript.Receipt) { r.LedgerSeq, r.LedgerHead[0] = r.LedgerSeq+1000, r.LedgerHead[0]+1 }
	h.begin()
	p := all[0]
	var err error
	for m := 0; err == nil && m < 20; m++ {
		_, err = all[m%2].step()
	}
	for range 2 {
		_, err = p.step()
		p.refused("a false receipt", err, client.Declined, "names entry", p.account().Spent)
	}
	check(t, p.approve()) // it can still be used
}

// What the policy wants of a roster counts for one that is known, too.
func TestApprovingAgainWithTooFewParticipants(t *testing.T) {
	h, all := federation(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	h.begin()
	p := all[0]
	_, err := p.step()
	check(t, err)
	p.edit("minimum = 2", "minimum = 3")
	p.refused("two clients of three", p.approve(), client.Declined, "2 clients, and the policy wants 3", p.account().Spent)
}

// A state directory that is a link may be somebody else's.
func TestALinkIsNoStateDirectory(t *testing.T) {
	h := newHub(t, planeStudy(recordPrivacy, "", ""))
	p := newHolder(t, h, "north", 0)
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(p.dir, link))
	if c, err := client.Open(client.Options{Dir: link, Now: now, Create: true}); err == nil {
		check(t, c.Close())
		t.Error("a link was taken for the directory")
	}
}
