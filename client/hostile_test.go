package client_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

func (p *holder) approveFor(dataset string) error {
	return p.with(func(c *client.Client, m *client.Member, policy *client.Policy) error {
		_, err := c.Approve(m, policy, dataset, m.Hash.String())
		return err
	})
}

//abuse:case A24 refused under a second name
func TestOneFileHasOneBudget(t *testing.T) {
	h, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	p.mustStep()
	spent, answers := p.account().Spent, len(h.releases)
	p.edit("[dataset.records]", "[dataset.copy]\nepsilon = 40\ndelta = 1e-5\n[dataset.records]")
	check(t, p.approveFor("copy"))
	p.stops("a second name", client.Declined, "one file has one budget", spent)
	if len(h.releases) != answers {
		t.Error("an answer was sent")
	}
	check(t, p.approveFor("records"))
	play(t, all)
}

//abuse:case A21 refused
func TestAnEndBeforeTheEnd(t *testing.T) {
	h, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	h.say(transcript.End, 0, h.server.Model(), closing([]byte("{}"), nil))
	all[0].stops("an early end", client.Declined, "before its last plan", 0)
}

//abuse:case A16 a false statement of the coordinator cannot disable a client's state
func TestFalseReceiptLeavesTheStateUsable(t *testing.T) {
	h, all := federation(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	h.receipt = func(r *transcript.Receipt) { r.LedgerSeq, r.LedgerHead[0] = r.LedgerSeq+1000, r.LedgerHead[0]+1 }
	h.begin()
	p := all[0]
	var err error
	for m := 0; err == nil && m < 20; m++ {
		_, err = all[m%2].step()
	}
	for range 2 {
		p.stops("a false receipt", client.Declined, "names entry", p.account().Spent)
	}
	check(t, p.approve()) // the state must still be usable
}

func TestApprovingAgainWithTooFewParticipants(t *testing.T) {
	_, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	p.mustStep()
	p.edit("minimum = 2", "minimum = 3")
	p.refused("two clients of three", p.approve(), client.Declined, "2 clients, but the policy requires at least 3", p.account().Spent)
}

//abuse:case A05 rules that this client does not derive itself are refused
func TestForgedFirstEntry(t *testing.T) {
	for says, forge := range map[string]func(h *hub){
		"with its own keys": func(h *hub) {
			own := h.members["north"]
			other, err := identity.Generate()
			check(t, err)
			h.members["north"], err = roster.NewEntry(other, h.hash(), "north", own.Role, own.Pin, own.Recipient)
			check(t, err)
		},
		"derived other rules": func(h *hub) { h.rules = func(p *transcript.Hash) { p[0]++ } },
	} {
		h, all := federation(t, planeStudy(clientPrivacy, "", ""), "north", "south")
		forge(h)
		h.begin()
		all[0].stops(says, client.Declined, says, 0)
		if len(h.releases) != 0 {
			t.Error("an answer was sent")
		}
	}
}

//abuse:case A23 studies with another privacy unit than the budget's are refused, not added up
func TestUnitsAreKeptApart(t *testing.T) {
	h := newHub(t, planeStudy(recordPrivacy, "", ""))
	p := newHolder(t, h, "north", 0)
	p.edit("# unit = \"record\"", "unit = \"client\" #")
	p.refused("a unit that the policy does not allow", p.approve(), client.Declined, "requires the unit", 0)
	p.edit("unit = \"client\" #", "# unit = \"record\"")
	check(t, p.approve())

	other := newHub(t, planeStudy(clientPrivacy, "", ""))
	err := p.joins(other)
	p.refused("a study about another unit", err, client.Declined, "their costs cannot be added up", 0)
}

// joins makes the client also join and approve a study of another coordinator.
func (p *holder) joins(other *hub) error {
	return p.with(func(c *client.Client, _ *client.Member, _ *client.Policy) error {
		p.edit(p.hub.identity.Fingerprint().String(), p.hub.identity.Fingerprint().String()+`", "`+other.identity.Fingerprint().String())
		m, _, err := c.Join(p.t.Context(), other.invite(p.name), other, wide)
		check(p.t, err)
		policy, err := client.LoadPolicy(p.dir)
		check(p.t, err)
		_, err = c.Approve(m, policy, "", m.Hash.String())
		return err
	})
}

// The study names the column that identifies persons. If this column had the number of a visit, for
// example, the study would protect single visits instead of persons.
//
//abuse:case A23 studies with other persons than the budget's are refused, not added up
func TestPersonsAreThoseOfOneColumn(t *testing.T) {
	persons := func(column string) *hub {
		source := string(planeStudy("unit = \"person\"\nepsilon = 1.0\ndelta = 1e-5", "", ""))
		return newHub(t, []byte(strings.Replace(source, "[[column]]", "[table]\nperson = \""+column+"\"\n[[column]]", 1)))
	}
	h, other := persons("patient"), persons("visit")
	p := newHolder(t, h, "north", 0)
	p.edit("# unit = \"record\"", "unit = \"person\"\nperson = \"patient_id\" #")
	p.refused("persons in another column than the policy's", p.approve(), client.Declined, `by the column "patient_id"`, 0)
	p.edit("person = \"patient_id\"", "person = \"patient\"")
	check(t, p.approve())
	p.edit("person = \"patient\" #", "#")
	err := p.joins(other)
	p.refused("a study about other persons", err, client.Declined, `for persons in the column "patient": their costs cannot be added up`, 0)
	if b := p.account().Budget; b.Unit != ledger.Person || b.Person != "patient" {
		t.Errorf("the budget is for the unit %q in the column %q", b.Unit, b.Person)
	}
	if _, err := ledger.NewBudget(ledger.Person, "", accountant.AddRemove, wide, accountant.Composed{}); err == nil {
		t.Error("a budget for persons names no column")
	}
}

//abuse:case A04 an answer that was refused is neither sent nor computed again
func TestARefusedAnswerIsNotSentAgain(t *testing.T) {
	h, all := begun(t, planeStudy(recordPrivacy, "", ""), "north", "south")
	p := all[0]
	check(t, p.stepOver(refuser{line{h, p.name}}))
	spent := p.account().Spent
	p.mustStep()
	if a := p.account(); !(spent > 0) || a.Spent != spent || len(h.releases) != 0 {
		t.Errorf("%d answers were sent, %g and then %g was spent", len(h.releases), spent, a.Spent)
	}
}

// refuser is a connection to a coordinator that refuses all answers.
type refuser struct{ line }

func (refuser) Submit(context.Context, transport.Item) error {
	return &transport.Refusal{Reason: transport.OutOfPlace, Text: "no"}
}

// spoil makes the hub replace each of the last four numbers n in all messages from victim by −n/2.
// The victim's factor then has an improper cavity.
func (h *hub) spoil(victim identity.Name) {
	h.poison = func(name identity.Name, payload []byte) []byte {
		if name != victim {
			return payload
		}
		out := bytes.Clone(payload)
		for at := len(out) - 4*8; at < len(out); at += 8 {
			n := int64(binary.LittleEndian.Uint64(out[at:]))
			binary.LittleEndian.PutUint64(out[at:], uint64(-n/2))
		}
		return out
	}
}

// An answer fails after its noise was drawn, because of another client's message.
//
//abuse:case A13 noise drawn for an answer that fails is charged; the plan is not answered again
//abuse:case A20 another client's manipulated message makes an answer fail, and stops no client
//abuse:case P20 a failed answer looks like a late one
func TestFailedAnswerIsCharged(t *testing.T) {
	h, all := federation(t, planeStudy(recordPrivacy, "solver = \"dp-svi\"\nq = \"diagonal\"\nsteps = 4", ""), "north", "south")
	h.spoil(all[0].name)
	h.begin()
	for m := range 4 {
		_, err := all[m%2].step()
		check(t, err)
	}
	paid, sent := 0, len(h.releases)
	for _, p := range all {
		paid += p.account().Studies[0].Answers
	}
	if paid <= sent {
		t.Fatalf("%d answers were charged and %d sent: none failed", paid, sent)
	}
	for _, p := range all {
		p.mustStep()
	}
	if len(h.releases) != sent {
		t.Error("a plan whose answer had failed was answered again")
	}
}

func TestClientStopsAfterRepeatedFailures(t *testing.T) {
	source := planeStudy(recordPrivacy, "solver = \"dp-svi\"\nq = \"diagonal\"\nsteps = 4", "")
	h, all := federation(t, bytes.Replace(source, []byte("rounds = 3"), []byte("rounds = 9"), 1), "north", "south")
	p := all[0]
	h.spoil(p.name)
	h.begin()
	stops := 0
	for range 6 {
		for _, p := range all {
			before := p.account().Studies
			_, err := p.step()
			if err == nil {
				continue
			}
			var failing *client.Failing
			if !errors.As(err, &failing) || client.CodeOf(err) != client.Fruitless {
				t.Fatal(err)
			}
			stops++
			if paid := p.account().Studies[0].Answers - before[0].Answers; failing.Failures < 3 || paid != 1 {
				t.Errorf("%s stopped after %d failures, %d of them in this run", p.name, failing.Failures, paid)
			}
		}
		for _, ask := range h.server.Open() {
			h.close(ask)
		}
	}
	if stops < 2*len(all) {
		t.Errorf("clients whose answers always fail stopped %d times", stops)
	}
}

// The directory may belong to another user.
//
//abuse:case P06 a linked state directory is refused
func TestLinkedStateDirectoryIsRefused(t *testing.T) {
	h := newHub(t, planeStudy(recordPrivacy, "", ""))
	p := newHolder(t, h, "north", 0)
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(p.dir, link))
	if c, err := client.Open(client.Options{Dir: link, Now: now, Create: true}); err == nil {
		check(t, c.Close())
		t.Error("a link was accepted as the directory")
	}
}
