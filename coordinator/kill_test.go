package coordinator

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"testing"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/durable"
	"fedpvi/transport"
)

var errKilled = errors.New("killed")

// A guillotine simulates that the coordinator is killed. It makes one commit or file operation
// fail, either before or after the change reaches the disk. Unless once is true, all later changes
// fail as well.
type guillotine struct {
	at    int // number of the commit or file operation that fails; 0 for none
	after bool
	once  bool // whether only this one fails, and the coordinator continues
	seen  int
	fell  bool

	system durable.System
}

func (g *guillotine) commit(commit func() error) error {
	if g.fell {
		return errKilled
	}
	g.seen++
	if g.seen != g.at {
		return commit()
	}
	g.fell = !g.once
	if g.after {
		if err := commit(); err != nil {
			return err
		}
	}
	return errKilled
}

// All changes to files go through commit: create, append, write, sync, rename, remove, and
// directory syncs.

func (g *guillotine) Create(path string) (durable.NewFile, error) {
	return g.open(path, g.system.Create)
}

func (g *guillotine) Append(path string) (durable.NewFile, error) {
	return g.open(path, g.system.Append)
}

func (g *guillotine) open(path string, open func(path string) (durable.NewFile, error)) (durable.NewFile, error) {
	var f durable.NewFile
	err := g.commit(func() (err error) {
		f, err = open(path)
		return err
	})
	return blade{f, g}, err
}

func (g *guillotine) Rename(from, to string) error {
	return g.commit(func() error { return g.system.Rename(from, to) })
}

func (g *guillotine) Remove(path string) error {
	return g.commit(func() error { return g.system.Remove(path) })
}

func (g *guillotine) SyncDir(dir string) error {
	return g.commit(func() error { return g.system.SyncDir(dir) })
}

type blade struct {
	durable.NewFile
	g *guillotine
}

func (f blade) Write(b []byte) (n int, err error) {
	err = f.g.commit(func() (err error) {
		n, err = f.NewFile.Write(b)
		return err
	})
	return n, err
}

func (f blade) Sync() error { return f.g.commit(f.NewFile.Sync) }

// unavailable reports whether err is the refusal of a coordinator that failed to write or that is
// being stopped.
func unavailable(err error) bool {
	var r *transport.Refusal
	return errors.As(err, &r) && r.Reason == transport.Unavailable
}

// survive repeats do until it succeeds. After each simulated kill, it starts the coordinator again.
func (h *house) survive(g *guillotine, do func() error) {
	h.t.Helper()
	for {
		err := do()
		if !unavailable(err) {
			check(h.t, err)
			return
		}
		if g.once {
			continue
		}
		check(h.t, h.hub.Close())
		g.fell, g.at = false, 0
		h.open()
	}
}

// playSurviving is like play, but restarts the coordinator after simulated kills.
func (h *house) playSurviving(g *guillotine, parties ...*party) {
	h.t.Helper()
	for moved := true; moved; {
		moved = false
		for _, p := range parties {
			h.survive(g, func() error {
				did, err := p.step(h.t.Context())
				moved = moved || did
				return err
			})
		}
	}
}

// A playedStudy is the result of a whole study, for comparison with other runs.
type playedStudy struct {
	transcript [32]byte // SHA-256 of the bodies of plans, outcomes and the result
	commits    int
	answers    int
}

var two = []identity.Name{"north", "south"}

// playKilled runs a whole study and kills the coordinator at the commit that g specifies.
func playKilled(t *testing.T, document []byte, names []identity.Name, rounds int, long int64, g *guillotine) playedStudy {
	at := g.at
	g.at = 0 // commits before the first client joins do not count
	o := store.Options{Commit: g.commit, Long: long}
	o.Layer.Files = g
	h, parties := founded(t, Options{Store: o}, document, names...)
	g.at, g.seen = at, 0
	for _, p := range parties {
		h.survive(g, func() error { return p.join(t.Context()) })
	}
	for _, p := range parties {
		h.survive(g, func() error { return p.approve(t.Context()) })
	}
	h.playSurviving(g, parties...)
	entries := parties[0].entries
	sum := sha256.New()
	for _, i := range entries[1 : len(entries)-1] { // the roster is left out because its keys differ between runs
		e, err := transcript.Claims(i.Envelope)
		check(t, err)
		if e.Kind.Plan() || e.Kind.Outcome() { // the other steps of secure aggregation are left out because their salts and signatures differ between runs
			sum.Write(parties[0].unsigned(e, i.Body)) // the clients' signatures are left out because they differ between runs
		}
	}
	status := h.mustStatus()
	if status.Phase != Ended {
		t.Fatalf("the study is %s, waiting for %s %v", status.Phase, status.Waits, status.For)
	}
	closing, err := transcript.ParseClosing(entries[len(entries)-1].Body)
	check(t, err)
	sum.Write(closing.Result)
	if h.study.st.chain.Fetches() {
		_, err := verified(t, h)
		check(t, err)
	}
	out := playedStudy{transcript: [32]byte(sum.Sum(nil)), commits: g.seen}
	for _, c := range status.Clients {
		out.answers += c.Answers
	}
	for _, p := range parties {
		if p.ledger != uint64(rounds) {
			t.Errorf("%s charged %d times for %d rounds", p.peer.Name, p.ledger, rounds)
		}
	}
	return out
}

// The test kills the coordinator at every commit, before or after the commit reaches the disk. The
// restarted coordinator must continue the round, and the transcript must be the same as without a
// kill, bit for bit. The same must hold if a commit fails, or only seems to fail, and the
// coordinator keeps running.
//
//abuse:case A01 the transcript equals the undisturbed one to the last bit
func TestKilledAtEveryTransaction(t *testing.T) {
	rounds := 2
	if os.Getenv("FEDPVI_LONG") != "" {
		rounds = 50
	}
	for name, c := range map[string]struct {
		document []byte
		rounds   int
		long     int64
		turn     int
	}{
		"synchronous": {planeText(clientPrivacy, fmt.Sprintf("rounds = %d", rounds), ""), rounds, 0, 0},
		"sequential":  {planeText(noPrivacy, fmt.Sprintf("rounds = %d\nschedule = \"sequential\"", rounds), ""), rounds, 0, 1},
		// Clients sign their releases.
		"signed": {signedText(2), 2, 0, 0},
		// The store keeps bodies, states and answers in separate files.
		"in files": {planeText(clientPrivacy, "rounds = 2\nq = \"diagonal\"", ""), 2, 8, 1},
	} {
		t.Run(name, func(t *testing.T) { killedEverywhere(t, c.document, two, c.rounds, c.long, everyOther(c.turn)) })
	}
}

// everyOther selects failures to simulate. By default, these alternate between after and before the
// commit reaches the disk, and turn determines which comes first. With FEDPVI_LONG, everyOther
// selects both at every commit, and with -short both at every eighth.
func everyOther(turn int) func(at int, after bool) bool {
	return func(at int, after bool) bool {
		switch {
		case testing.Short():
			return at%8 == 1
		case os.Getenv("FEDPVI_LONG") != "":
			return true
		}
		return after == ((at+turn)%2 == 0)
	}
}

// killedEverywhere kills a study's coordinator at each commit that chosen selects, before or after
// the commit reaches the disk. Values of more than long bytes are kept in files.
func killedEverywhere(t *testing.T, document []byte, names []identity.Name, rounds int, long int64, chosen func(at int, after bool) bool) {
	var undisturbed playedStudy
	t.Run("undisturbed", func(t *testing.T) {
		undisturbed = playKilled(t, document, names, rounds, long, &guillotine{})
	})
	if undisturbed.commits < 15 {
		t.Fatalf("only %d commits", undisturbed.commits)
	}
	for at := 1; at <= undisturbed.commits; at++ {
		for name, g := range map[string]guillotine{
			"before it": {at: at}, "after it": {at: at, after: true},
			"it fails": {at: at, once: true}, "it seems to fail": {at: at, once: true, after: true},
		} {
			if !chosen(at, g.after) {
				continue
			}
			t.Run(fmt.Sprintf("commit %d, %s", at, name), func(t *testing.T) {
				t.Parallel()
				got := playKilled(t, document, names, rounds, long, &g)
				if got.transcript != undisturbed.transcript || got.answers != undisturbed.answers {
					t.Errorf("the transcript differs, with %d answers, want %d", got.answers, undisturbed.answers)
				}
			})
		}
	}
}
