package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fedpvi/accountant"
	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/transcript"
	"fedpvi/dpmech"
	"fedpvi/pvi/session"
	"fedpvi/transport"
)

// refused checks the exit code and text of an error, and how much the data set has spent.
func (p *holder) refused(what string, err error, code int, says string, spent float64) {
	p.t.Helper()
	if client.CodeOf(err) != code || !strings.Contains(fmt.Sprint(err), says) {
		p.t.Errorf("%s: code %d, %v; want code %d and %q", what, client.CodeOf(err), err, code, says)
	}
	if a := p.account(); a.Spent != spent {
		p.t.Errorf("%s: %g was spent, and %g before", what, a.Spent, spent)
	}
}

// stops checks that the client refuses its next step.
func (p *holder) stops(what string, code int, says string, spent float64) {
	p.t.Helper()
	_, err := p.step()
	p.refused(what, err, code, says, spent)
}

func (p *holder) edit(old, new string) {
	p.t.Helper()
	path := filepath.Join(p.dir, client.PolicyFile)
	b, err := os.ReadFile(path)
	check(p.t, err)
	if !bytes.Contains(b, []byte(old)) {
		p.t.Fatalf("%q is not in the policy", old)
	}
	check(p.t, os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(new), 1), 0o600))
}

//abuse:case P09 another digest or policy than was approved: nothing is sent
func TestWhatIsNotApprovedIsRefused(t *testing.T) {
	h := newHub(t, planeStudy(recordPrivacy, "", ""))
	p := newHolder(t, h, "north", 0)
	p.stops("not approved", client.Declined, "is not approved", 0)

	err := p.with(func(c *client.Client, m *client.Member, policy *client.Policy) error {
		_, err := c.Approve(m, policy, "", strings.Repeat("0", 64))
		return err
	})
	p.refused("another digest", err, client.Usage, "is not the digest", 0)

	check(t, p.approve())
	p.edit("minimum = 2", "minimum = 1")
	p.stops("a changed policy", client.Declined, "policy has changed", 0)

	check(t, p.approve())
	p.edit(`allowed = ["`, `allowed = [] # ["`)
	p.stops("no coordinator", client.Declined, "policy has changed", 0)
	p.refused("no coordinator", p.approve(), client.Declined, "does not allow the coordinator", 0)

	p.edit(`allowed = [] # ["`, `allowed = ["`)
	p.edit("minimum = 1", "minimum = one")
	p.stops("a broken policy", client.Usage, client.PolicyFile+":", 0)
	if len(h.consent) != 0 {
		t.Error("a consent was sent")
	}
}

//abuse:case P19 beyond the cap of the data set nothing is approved
func TestTheCapIsKept(t *testing.T) {
	h := newHub(t, planeStudy(recordPrivacy, "", ""))
	p := newHolder(t, h, "north", 0)
	p.edit("epsilon = 40", "epsilon = 0.1")
	err := p.approve()
	p.refused("a study beyond the cap", err, client.OverBudget, "records", 0)
	if a := p.account(); a.Total != 0 {
		t.Errorf("a budget was made: %+v", a)
	}

	// After the ledger has created the budget, the data holder lowers ε in the policy.
	p.edit("epsilon = 0.1", "epsilon = 40")
	check(t, p.approve())
	p.edit("epsilon = 40", "epsilon = 0.1")
	p.refused("a study beyond the lowered cap", p.approve(), client.OverBudget, "records", 0)
}

// The cost of a study depends on the roster, which is not yet known when the study is approved.
//
//abuse:case A05 the cost is computed for the roster that came; beyond the cap nothing is answered
func TestCapHoldsForTheActualRoster(t *testing.T) {
	source := planeStudy(clientPrivacy, "", "")
	h, all := federation(t, source, "north", "south", "west", "east")
	p := all[0]
	p.edit("epsilon = 40", fmt.Sprintf("epsilon = %g", p.review().Privacy.Quote.EpsilonAfter*1.0001))
	check(t, p.approve())
	h.begin()
	p.stops("more clients, each with less noise", client.OverBudget, "with 4 clients", 0)
	if len(h.releases) != 0 {
		t.Error("an answer was sent")
	}
}

// The cost of earlier answers must not count twice.
func TestApprovingAgain(t *testing.T) {
	_, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	after := p.review().Privacy.Quote.EpsilonAfter
	p.mustStep()
	p.edit("epsilon = 40", fmt.Sprintf("epsilon = %g", after*1.0001))
	spent := p.account().Spent
	p.stops("a changed policy", client.Declined, "policy has changed", spent)
	check(t, p.approve())
	play(t, all)
}

//abuse:case P19 refused before any noise is drawn
func TestALoweredCapStopsAStudy(t *testing.T) {
	h, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	p.mustStep()
	a := p.account()
	p.edit("epsilon = 40", fmt.Sprintf("epsilon = %g", a.Epsilon*1.001))
	check(t, p.approve())
	all[1].mustStep()
	c := p.open()
	c.SeedNoise(func(int) *dpmech.Stream {
		t.Error("noise was drawn for an answer that does not fit")
		return dpmech.NewStream()
	})
	_, err := p.run(c)
	check(t, c.Close())
	p.refused("beyond the lowered cap", err, client.OverBudget, "plan 2", a.Spent)
	if _, ok := h.releases[releaseKey{p.name, 2}]; ok {
		t.Error("an answer was sent")
	}
}

//abuse:case A08 a roster with another key under the client's name is refused
//abuse:case A09 a roster with another entry of the coordinator is refused
//abuse:case P10 a roster without this client, or with other keys, is refused
func TestRosterIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *hub)
		says   string
	}{
		"another key of the coordinator": {func(h *hub) { h.entry = otherPin(t, h) }, "entry in the roster differs"},
		"another client of this name":    {func(h *hub) { h.members["north"] = stranger(t, h, "north") }, "own keys"},
		"without this client":            {func(h *hub) { delete(h.members, "north"); h.members["east"] = stranger(t, h, "east") }, "own keys"},
	} {
		h, all := federation(t, planeStudy(clientPrivacy, "", ""), "north", "south")
		c.change(h)
		h.begin()
		all[0].stops(name, client.Declined, c.says, 0)
	}
}

//abuse:case A05 refused by the policy
func TestTooFewParticipants(t *testing.T) {
	h, all := federation(t, planeStudy(recordPrivacy, "", ""), "north", "south")
	p := all[0]
	p.edit("minimum = 2", "minimum = 3")
	check(t, p.approve())
	h.begin()
	p.stops("two clients of three", client.Declined, "2 clients, but the policy requires at least 3", 0)
}

//abuse:case A09 another key, study or authority than the invitation names: nothing is kept
//abuse:case P09 a study that differs by a byte is refused
func TestInvitationIsEnforced(t *testing.T) {
	h, impostor := newHub(t, planeStudy(recordPrivacy, "", "")), newHub(t, planeStudy(recordPrivacy, "", ""))
	other := newHub(t, planeStudy(clientPrivacy, "", ""))
	join := func(change func(a *transport.Admission)) error {
		c, err := client.Open(client.Options{Dir: filepath.Join(t.TempDir(), "state"), Now: now, Create: true})
		check(t, err)
		defer c.Close()
		i := h.invite("north")
		_, _, err = c.Join(t.Context(), i, guest{h, change}, wide)
		if members, e := c.Members(); err != nil && (e != nil || len(members) != 0) {
			t.Errorf("the study was joined anyway: %v, %v", members, e)
		}
		return err
	}
	check(t, join(func(*transport.Admission) {}))
	for name, c := range map[string]struct {
		change func(a *transport.Admission)
		says   string
	}{
		"a changed byte":      {func(a *transport.Admission) { a.Study = append(bytes.Clone(a.Study), ' ') }, "a different study"},
		"another coordinator": {func(a *transport.Admission) { a.Coordinator = impostor.entry.Bytes() }, "fingerprint"},
		"another pin":         {func(a *transport.Admission) { a.Coordinator = otherPin(t, h).Bytes() }, "key for connections"},
		"another authority":   {func(a *transport.Admission) { a.Authority = impostor.authority.Certificate() }, "certificate"},
		"no entry":            {func(a *transport.Admission) { a.Coordinator = nil }, "the coordinator's roster entry"},
		"another study":       {func(a *transport.Admission) { a.Study = other.source }, "a different study"},
	} {
		err := join(c.change)
		if client.CodeOf(err) != client.Declined || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A guest is a connection that changes the coordinator's reply to a join request.
type guest struct {
	hub    *hub
	change func(a *transport.Admission)
}

func (g guest) Join(ctx context.Context, r transport.JoinRequest) (transport.Admission, error) {
	g.hub.members = map[identity.Name]roster.Entry{}
	a, err := g.hub.Join(ctx, r)
	g.change(&a)
	return a, err
}

//abuse:case P11 refused
func TestAnExpiredInvitation(t *testing.T) {
	h := newHub(t, planeStudy(recordPrivacy, "", ""))
	later := func() time.Time { return today.Add(2 * time.Hour) }
	c, err := client.Open(client.Options{Dir: filepath.Join(t.TempDir(), "state"), Now: later, Create: true})
	check(t, err)
	defer c.Close()
	if _, _, err := c.Join(t.Context(), h.invite("north"), h, wide); client.CodeOf(err) != client.Declined {
		t.Errorf("%v", err)
	}
}

// The coordinator changes entries and signs them.
//
//abuse:case A02 a plan sent twice ends the client's part; nothing is charged
//abuse:case A03 a plan about another λ or model is refused; nothing is charged
//abuse:case A21 a sum that does not fit its outcome ends the client's part
func TestALyingCoordinator(t *testing.T) {
	for name, c := range map[string]struct {
		lie  func(h *hub)
		says string
	}{
		"a plan with another λ": {func(h *hub) {
			h.lie = func(e *session.Entry, _ *transcript.Hash) {
				if e.Kind == session.Plan && e.Plan == 2 {
					e.Body[len(e.Body)/2]++
				}
			}
		}, ""},
		"a plan under another model hash": {func(h *hub) {
			h.lie = func(e *session.Entry, model *transcript.Hash) {
				if e.Kind == session.Plan && e.Plan == 2 {
					model[0]++
				}
			}
		}, "different models"},
		"an outcome with another sum": {func(h *hub) {
			h.lie = func(e *session.Entry, _ *transcript.Hash) {
				if e.Kind == session.Outcome && e.Plan == 1 {
					e.Body[len(e.Body)-1]++
				}
			}
		}, ""},
		"a plan sent twice": {func(h *hub) {
			h.lie = func(e *session.Entry, _ *transcript.Hash) {
				if e.Kind == session.Plan && e.Plan == 2 {
					e.Plan = 1
				}
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, all := federation(t, planeStudy(clientPrivacy, "", ""), "north", "south")
			c.lie(h)
			h.begin()
			p := all[0]
			p.mustStep()                             // the client answers plan 1
			if _, err := all[1].step(); err != nil { // the second client also processes the next entry
				all[1].refused(name, err, client.Declined, c.says, all[1].account().Spent)
			}
			spent := p.account().Spent
			for range 3 {
				p.stops(name, client.Declined, c.says, spent)
			}
			if answers := h.answersOf(p.name); len(answers) != 1 {
				t.Errorf("%d answers were sent", len(answers))
			}
		})
	}
}

//abuse:case A21 the posterior is refused; the client keeps its own
func TestResultThatDoesNotFollow(t *testing.T) {
	h, all := federation(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	h.result = func(b []byte) []byte { return bytes.Replace(b, []byte(`"natural":[`), []byte(`"natural":[1`), 1) }
	h.begin()
	var err error
	for m := 0; err == nil && m < 20; m++ {
		_, err = all[m%2].step()
	}
	if client.CodeOf(err) != client.Declined || !strings.Contains(fmt.Sprint(err), "does not follow from the outcomes") {
		t.Errorf("%v", err)
	}
}

//abuse:case A02 an entry published before is refused
//abuse:case A03 a transcript shorter than before is refused
func TestForkedTranscript(t *testing.T) {
	h, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	p.mustStep()
	spent, items := p.account().Spent, h.items
	h.items = h.items[:1]
	p.stops("a shorter transcript", client.Declined, "older than the entries that it sent", spent)
	h.items = items
	e := h.items[1]
	h.items = append(h.items[:2:2], e)
	p.stops("an entry that was published before", client.Declined, "does not follow", spent)
}

//abuse:case A24 during a study another file is refused
//abuse:case P20 the error names the line, and no value
func TestAnotherFileOfRecords(t *testing.T) {
	_, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	p.mustStep()
	spent := p.account().Spent
	check(t, os.WriteFile(p.data, []byte(records(5)), 0o600))
	p.stops("other records", client.Declined, "the file of records differs", spent)
	check(t, os.WriteFile(p.data, []byte("x,98765\n0.5,1\n"), 0o600))
	_, err := p.step()
	p.refused("a file that cannot be read", err, client.Usage, "records.csv:1", spent)
	if strings.Contains(fmt.Sprint(err), "98765") {
		t.Errorf("a value is in the error: %v", err)
	}
}

//abuse:case A16 the copy stops for good, exit code 5; the newest state continues
func TestRestoredBackupIsDetected(t *testing.T) {
	h, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	backup := filepath.Join(t.TempDir(), "backup")
	copyState(t, p.dir, backup)
	newest := p.dir
	p.mustStep() // the client answers a plan
	spent := p.account().Spent

	p.dir = backup
	for range 2 {
		p.stops("a backup", client.Damaged, "older than the answers sent", 0)
	}
	p.refused("approving for a backup", p.approve(), client.Damaged, "older than the answers sent", 0)
	delete(h.last, p.name) // the coordinator loses this client's last message
	p.stops("a backup that was detected", client.Damaged, "older than the answers sent", 0)
	if len(h.releases) != 1 {
		t.Errorf("%d answers were sent", len(h.releases))
	}

	p.dir = newest
	p.mustStep()
	if got := p.account().Spent; got != spent {
		t.Errorf("spent %g, before %g", got, spent)
	}
}

//abuse:case A11 a study that promises no privacy is refused unless the records are declared public
func TestStudyWithoutAPromise(t *testing.T) {
	h := newHub(t, planeStudy(`unit = "none"`, "", ""))
	p := newHolder(t, h, "north", 0)
	p.refused("no promise", p.approve(), client.Declined, "no privacy promise", 0)
	if r := p.review(); len(r.Problems) == 0 || r.Text(io.Discard) != nil {
		t.Errorf("the review sees no problem: %+v", r)
	}
}

//abuse:case A25 excluded; the charge stays, and the client is told
func TestALateAnswer(t *testing.T) {
	for _, why := range []transport.Reason{transport.OutOfPlace, transport.Ended} {
		t.Run(string(why), func(t *testing.T) { lateAnswer(t, why) })
	}
}

func lateAnswer(t *testing.T, why transport.Reason) {
	h, all := begun(t, planeStudy(recordPrivacy, "", "min_clients = 1"), "north", "south")
	all[0].mustStep()
	p := all[1]
	check(t, p.stepOver(late{line{h, p.name}, why}))
	play(t, all)
	if a := p.account(); !(a.Spent > 0) {
		t.Errorf("the late answer was not charged: %+v", a)
	}
}

// late is a connection on which answers arrive only after the plan was closed.
type late struct {
	line
	why transport.Reason
}

func (l late) Submit(ctx context.Context, item transport.Item) error {
	if open := l.server.Open(); len(open) > 0 && open[0] == 1 {
		l.close(1)
		return &transport.Refusal{Reason: l.why, Text: "too late"}
	}
	return l.line.Submit(ctx, item)
}

func TestLeaving(t *testing.T) {
	h, all := federation(t, planeStudy(recordPrivacy, "", ""), "north", "south")
	p := all[0]
	check(t, p.with(func(c *client.Client, m *client.Member, _ *client.Policy) error {
		return c.Leave(t.Context(), m, "no time", line{h, p.name})
	}))
	if h.reason["north"] != "no time" {
		t.Errorf("the coordinator received the reason %q", h.reason["north"])
	}
	p.stops("a study that was left", client.Declined, "was left", 0)
	p.refused("a study that was left", p.approve(), client.Declined, "was left", 0)
}

func TestAnAbortedStudy(t *testing.T) {
	h, all := begun(t, planeStudy(recordPrivacy, "", ""), "north", "south")
	h.say(transcript.Abort, 0, h.server.Model(), transcript.Abortion{By: "hub", Reason: "power"}.Bytes())
	p := all[0]
	ending, err := p.step()
	check(t, err)
	if !ending.Aborted || ending.By != "hub" || ending.Reason != "power" {
		t.Errorf("the study ended with %+v", ending)
	}
	if len(h.releases) != 0 {
		t.Error("an answer was sent to a study that was aborted")
	}
}

func TestCodes(t *testing.T) {
	for want, err := range map[int]error{
		client.OK:          nil,
		client.Failed:      errors.New("disk"),
		client.Usage:       &client.UsageError{Err: errors.New("flag")},
		client.Declined:    fmt.Errorf("x: %w", transcript.ErrOrder),
		client.OverBudget:  fmt.Errorf("x: %w", &accountant.BudgetError{}),
		client.Damaged:     errors.Join(errors.New("y"), &ledger.Damaged{}),
		client.Unreachable: fmt.Errorf("x: %w", &transport.Unreachable{Err: context.DeadlineExceeded}),
		client.Interrupted: fmt.Errorf("x: %w", context.Canceled),
	} {
		if got := client.CodeOf(err); got != want {
			t.Errorf("%v has code %d, want %d", err, got, want)
		}
	}
	if client.CodeOf(channel.ErrPin) != client.Failed && client.CodeOf(channel.ErrPin) != client.Declined {
		t.Error("another pin is no failure")
	}
}
