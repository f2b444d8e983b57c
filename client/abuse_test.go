package client_test

import (
	"bytes"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedpvi/accountant"
	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/signed"
	"fedpvi/internal/testing/auditlog"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/transport"
)

// fork returns an independent copy of the hub in which the given plan is closed.
func (h *hub) fork(server []byte, ask int) *hub {
	h.t.Helper()
	other := *h
	other.items, other.receipts = slices.Clone(h.items), slices.Clone(h.receipts)
	other.releases, other.last, other.bodies = maps.Clone(h.releases), maps.Clone(h.last), maps.Clone(h.bodies)
	var err error
	other.server, err = session.RestoreServer(h.study, h.clients(), server)
	check(h.t, err)
	other.close(ask)
	return &other
}

// The coordinator tells one client that both have answered, and the other that its answer came too
// late. Two signed entries with the same number are proof that it cheated.
//
//abuse:case A07 answers fit one transcript, each client refuses the other's, and both signed entries are evidence
func TestTwoTranscripts(t *testing.T) {
	h, all := begun(t, planeStudy(recordPrivacy, "", "min_clients = 1"), "north", "south")
	north, south := all[0], all[1]
	north.mustStep()
	state, err := h.server.MarshalBinary()
	check(t, err)
	before := h.chain
	other := *h
	other.chain = before
	south.mustStep() // both answers are in, but south has not yet seen the outcome
	said := before.Position().Number
	told := other.fork(state, 1)
	at := int(said)
	if bytes.Equal(h.items[at].Envelope, told.items[at].Envelope) {
		t.Fatal("both clients got the same entry")
	}
	for _, items := range [][]transport.Item{h.items, told.items} {
		if _, e, err := before.Follow(items[at].Envelope, items[at].Body); err != nil || e.Number != uint64(at+1) {
			t.Fatalf("entry %d is no evidence: %v", e.Number, err)
		}
	}
	north.mustStep()
	spent := north.account().Spent
	model, _ := told.server.ModelOf(2)
	mine := h.releases[releaseKey{"north", 2}]
	if _, err := told.chain.VerifyRelease(mine.Envelope, h.members["north"].Key, 2, model); !errors.Is(err, signed.ErrModel) {
		t.Errorf("an answer also fits the other transcript: %v", err)
	}
	north.hub = told
	north.stops("the other client's entry", client.Declined, "", spent)
}

//abuse:case A14 no budget is refilled, certificates fail closed, and the ledger is ordered by number
func TestAClockThatJumps(t *testing.T) {
	h, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p, other := all[0], all[1]
	const day = 24 * time.Hour
	p.late = 30 * day
	p.mustStep()
	spent := p.account()
	other.mustStep()
	answers := len(h.releases)
	for _, p.late = range []time.Duration{3652 * day, -3652 * day} {
		if _, err := p.step(); err == nil {
			t.Errorf("with a clock that is off by %v a certificate is accepted", p.late)
		}
		if a := p.account(); a.Spent != spent.Spent || a.Total != spent.Total {
			t.Errorf("with a clock that is off by %v the account is %+v, and was %+v", p.late, a, spent)
		}
	}
	if len(h.releases) != answers {
		t.Errorf("%d answers were sent, want %d", len(h.releases), answers)
	}
	p.late = day // the clock was 30 days ahead; the client must still finish the study
	play(t, all)
	c := p.open()
	defer c.Close()
	var export bytes.Buffer
	check(t, c.Store().Export(&export, p.now()))
	if r, err := ledger.Verify(&export); err != nil || r.Accounts[0].Studies[0].Answers != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

//abuse:case A16 two copies with equally many entries: the one that did not send last stops for good
func TestTwoCopiesGoOn(t *testing.T) {
	_, all := begun(t, planeStudy(clientPrivacy, "", ""), "north", "south")
	p := all[0]
	second := *p
	second.dir = filepath.Join(t.TempDir(), "copy")
	copyState(t, p.dir, second.dir)
	p.mustStep()
	c := second.open()
	b, err := ledger.NewBudget(ledger.Record, "", accountant.AddRemove, wide, accountant.Gaussian{Sensitivity: 1, Sigma: 8, Adjacency: accountant.AddRemove})
	check(t, err)
	check(t, c.Store().AddBudget("ward", b, today))
	ahead, _ := c.Store().Head()
	check(t, c.Close())
	first := p.open()
	if n, _ := first.Store().Head(); n != ahead {
		t.Fatalf("the ledgers have %d and %d entries", n, ahead)
	}
	check(t, first.Close())
	second.stops("the other copy", client.Damaged, "does not contain", 0)
	p.mustStep()
}

func copyState(t *testing.T, from, to string) {
	t.Helper()
	check(t, os.CopyFS(to, os.DirFS(from)))
	check(t, filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return errors.Join(err, os.Chmod(path, 0o600))
	}))
}

// The data holder exports the records again, with one more record, and uses them in a study of
// another coordinator.
//
//abuse:case A24 a new export with more records has the same budget
//abuse:case P19 a second study of another coordinator is charged on top of the first
func TestMoreRecordsInTheSameBudget(t *testing.T) {
	_, all := begun(t, planeStudy(recordPrivacy, "", ""), "north", "south")
	play(t, all)
	p := all[0]
	before := p.account()
	check(t, os.WriteFile(p.data, []byte(records(0)+"0.5,0.5\n"), 0o600))
	h := newHub(t, planeStudy("unit = \"record\"\nnoise_multiplier = 3.0\ndelta = 1e-5", "", ""))
	q := newHolder(t, h, "south", 1)
	check(t, q.approve())
	q.mustStep()
	check(t, p.joins(h))
	c := p.open()
	defer c.Close()
	m, err := c.Member(h.hash().String())
	check(t, err)
	h.begin()
	p.hub = h
	_, err = p.runIn(c, m, line{h, p.name})
	check(t, err)
	a, _ := c.Store().Account("records")
	if !(a.Spent > before.Spent) || a.Total != before.Total || len(a.Studies) != 2 {
		t.Errorf("the account is %+v, and was %+v", a, before)
	}
}

//abuse:case P13 leaving a study, or its end, takes nothing off the ledger
func TestWhatWasSpentStays(t *testing.T) {
	h, all := begun(t, planeStudy(recordPrivacy, "", ""), "north", "south")
	p := all[0]
	p.mustStep()
	before := p.account()
	check(t, p.with(func(c *client.Client, m *client.Member, _ *client.Policy) error {
		return c.Leave(t.Context(), m, "", line{h, p.name})
	}))
	if a := p.account(); !(a.Spent > 0) || a.Spent != before.Spent || len(a.Studies) != 1 {
		t.Errorf("the account is %+v, and was %+v", a, before)
	}
}

// At the coordinator's address, an impostor runs the same study with different keys.
//
//abuse:case A09 over a real connection: no token and no byte of a client reaches it
//abuse:case P08 over a real connection: a coordinator without TLS gets no data
func TestAnImpostorAnswers(t *testing.T) {
	st, err := study.Parse("study.toml", planeStudy(recordPrivacy, "", ""))
	check(t, err)
	st.Simulation.Clients = 0
	n, impostor := newRealNetwork(t, st, t.TempDir()), newRealNetwork(t, st, t.TempDir())
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	heard := make(chan []byte, 1)
	go func() { heard <- hear(plain) }()
	t.Cleanup(func() { plain.Close() })
	invited, err := n.study.Invite(t.Context(), []identity.Name{"north"}, time.Hour)
	check(t, err)
	invited0, err := invitation.Parse(invited[0].Text)
	check(t, err)
	log, lines := auditlog.New(t)
	for who, at := range map[string]struct {
		address string
		code    int
	}{"another key": {impostor.address, client.Declined}, "no TLS": {plain.Addr().String(), client.Unreachable}} {
		c, err := client.Open(client.Options{Dir: filepath.Join(t.TempDir(), "state"), Now: time.Now, Create: true, Audit: log})
		check(t, err)
		i, err := invitation.Parse(invited[0].Text)
		check(t, err)
		i.Addresses = []string{at.address}
		if guest, err := c.DialGuest(t.Context(), i, client.Network{RoundDeadline: time.Second}); err == nil {
			t.Errorf("%s: a guest connected", who)
			check(t, guest.Close())
		} else if client.CodeOf(err) != at.code {
			t.Errorf("%s: code %d, want %d: %v", who, client.CodeOf(err), at.code, err)
		}
		check(t, c.Close())
	}
	check(t, plain.Close())
	if got := lines.Events("address", "coordinator", "outcome"); !slices.Contains(got, "handshake "+impostor.address+" "+invited0.Coordinator.String()+" another party") ||
		!slices.ContainsFunc(got, func(line string) bool {
			return strings.HasPrefix(line, "handshake "+plain.Addr().String()) && strings.HasSuffix(line, "unreachable")
		}) {
		t.Errorf("the audit log has %q", got)
	}
	if got := <-heard; len(got) > 0 && got[0] != 22 {
		t.Errorf("%.20q was sent in the clear", got)
	}
	status, err := impostor.study.Status(t.Context())
	check(t, err)
	if len(status.Clients) != 0 {
		t.Errorf("the impostor knows %+v", status.Clients)
	}
}

func hear(l net.Listener) (all []byte) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return all
		}
		b := make([]byte, 64)
		n, _ := conn.Read(b)
		all = append(all, b[:n]...)
		conn.Close()
	}
}
