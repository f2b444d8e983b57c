package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fedpvi/accountant"
	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/crypto/identity"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/audit"
	"fedpvi/internal/table/origin"
	"fedpvi/internal/testing/linestudy"
)

const (
	recordPrivacy = "unit = \"record\"\nnoise_multiplier = 2.0\ndelta = 1e-5"
	clientPrivacy = "unit = \"client\"\nnoise_multiplier = 4\ndelta = 1e-5\nclip = 60"
)

func planeStudy(privacy, inference, federation string) []byte {
	return linestudy.Document(linestudy.Parts{Privacy: privacy, Inference: "rounds = 3\n" + inference, Federation: federation})
}

// signedStudy is like planeStudy, but for studies of version 2, in which clients sign their
// releases if anyone may read them.
func signedStudy(privacy, inference, federation string) []byte {
	return linestudy.Document(linestudy.Parts{Version: 2, Privacy: privacy, Inference: "rounds = 3\nintervals = \"none\"\n" + inference, Federation: "pace = 0\n" + federation})
}

// wide is a privacy promise that is wide enough for all studies in these tests.
var wide = accountant.Target{Epsilon: 40, Delta: 1e-5}

// A holder is a data holder with a state directory and a record file.
type holder struct {
	t    testing.TB
	hub  *hub
	name identity.Name
	dir  string
	data string
	seed uint64        // seed of the holder's noise
	late time.Duration // how far the holder's clock is ahead
	log  *slog.Logger

	audit *audit.Log
}

// records returns data holder m's records as CSV.
func records(m int) string {
	var b strings.Builder
	b.WriteString("x,y\n")
	for i := range 20 + m {
		x := float64((i+m)%7)/3.5 - 1
		fmt.Fprintf(&b, "%.3f,%.3f\n", x, 2*x-1)
	}
	return b.String()
}

// newHolder returns a data holder that has joined the study but not yet approved it.
func newHolder(t testing.TB, h *hub, name identity.Name, m int) *holder {
	t.Helper()
	p := &holder{t: t, hub: h, name: name, dir: filepath.Join(t.TempDir(), "state"), data: filepath.Join(t.TempDir(), "records.csv"), seed: uint64(m)}
	check(t, os.WriteFile(p.data, []byte(records(m)), 0o600))
	c := p.open()
	defer c.Close()
	_, _, err := c.Join(t.Context(), h.invite(name), h, wide)
	check(t, err)
	return p
}

func (p *holder) open() *client.Client {
	p.t.Helper()
	return p.openWith(nil)
}

func (p *holder) now() time.Time { return today.Add(p.late) }

// openWith opens a client that calls boundary before and after each commit.
func (p *holder) openWith(boundary func(point string) error) *client.Client {
	p.t.Helper()
	c, err := client.Open(client.Options{Dir: p.dir, Program: "test 1", Command: "a test", Now: p.now, Create: true, Boundary: boundary, Log: p.log, Audit: p.audit})
	check(p.t, err)
	c.SeedNoise(func(ask int) *dpmech.Stream { return seeded.Stream(1, "client", p.seed, uint64(ask)) })
	return c
}

func (p *holder) with(f func(c *client.Client, m *client.Member, policy *client.Policy) error) error {
	p.t.Helper()
	c := p.open()
	defer c.Close()
	policy, err := client.LoadPolicy(p.dir)
	if err != nil {
		return err
	}
	m, err := c.Member("")
	if err != nil {
		return err
	}
	return f(c, m, policy)
}

func (p *holder) approve() error {
	return p.with(func(c *client.Client, m *client.Member, policy *client.Policy) error {
		_, err := c.Approve(m, policy, "", m.Hash.String())
		return err
	})
}

func (p *holder) review() (r *client.Review) {
	p.t.Helper()
	check(p.t, p.with(func(c *client.Client, m *client.Member, policy *client.Policy) (err error) {
		r, err = c.Review(m, policy, "")
		return err
	}))
	return r
}

// reviewText returns the text of the review, with all white space reduced to single spaces.
func (p *holder) reviewText() string {
	p.t.Helper()
	var b strings.Builder
	check(p.t, p.review().Text(&b))
	return strings.Join(strings.Fields(b.String()), " ")
}

// run runs the client in its only study until it has to wait or the study ends.
func (p *holder) run(c *client.Client) (*client.Ending, error) {
	p.t.Helper()
	m, err := c.Member("")
	if err != nil {
		return nil, err
	}
	return p.runIn(c, m, line{p.hub, p.name})
}

// A connection is a Link that can be closed.
type connection interface {
	client.Link
	io.Closer
}

// runIn runs the client in the study m until it has to wait or the study ends. If the study has not
// ended, it returns nil.
func (p *holder) runIn(c *client.Client, m *client.Member, over connection) (*client.Ending, error) {
	p.t.Helper()
	policy, err := client.LoadPolicy(p.dir)
	if err != nil {
		return nil, err
	}
	ending, err := c.Run(p.t.Context(), client.Run{
		Member: m, Policy: policy, Data: origin.Source{From: p.data},
		Connect: func(context.Context) (client.Link, io.Closer, error) { return over, over, nil },
		Wait: func(_ context.Context, d time.Duration) error {
			if m.Study.Federation.Pace == 0 {
				return errors.New("a test must not wait")
			}
			p.late += d
			return nil
		},
	})
	if errors.Is(err, errIdle) {
		err = nil
	}
	return ending, err
}

// step opens the client, runs it until it has to wait or the study ends, and closes it again.
func (p *holder) step() (*client.Ending, error) {
	c := p.open()
	defer c.Close()
	return p.run(c)
}

// mustStep is like step, but fails the test if there is an error.
func (p *holder) mustStep() *client.Ending {
	p.t.Helper()
	ending, err := p.step()
	check(p.t, err)
	return ending
}

// stepOver is like step, but with another connection.
func (p *holder) stepOver(over connection) error {
	return p.with(func(c *client.Client, m *client.Member, _ *client.Policy) error {
		_, err := p.runIn(c, m, over)
		return err
	})
}

func (p *holder) account() ledger.Account {
	p.t.Helper()
	c := p.open()
	defer c.Close()
	a, _ := c.Store().Account("records")
	return a
}

func federation(t testing.TB, source []byte, names ...identity.Name) (*hub, []*holder) {
	t.Helper()
	h := newHub(t, source)
	var all []*holder
	for m, name := range names {
		p := newHolder(t, h, name, m)
		check(t, p.approve())
		p.mustStep() // sends the approval
		all = append(all, p)
	}
	return h, all
}

// begun is like federation, but the coordinator has begun the study.
func begun(t testing.TB, source []byte, names ...identity.Name) (*hub, []*holder) {
	t.Helper()
	h, all := federation(t, source, names...)
	h.begin()
	return h, all
}

// play runs the clients in turn until all have a result.
func play(t testing.TB, all []*holder) []*client.Ending {
	t.Helper()
	endings := make([]*client.Ending, len(all))
	for range 100 {
		over := true
		for m, p := range all {
			if endings[m] != nil {
				continue
			}
			ending := p.mustStep()
			if ending != nil && (ending.Aborted || len(ending.Result) == 0) {
				t.Errorf("for %s the study ended with %+v", p.name, ending)
			}
			endings[m] = ending
			over = over && ending != nil
		}
		if over {
			return endings
		}
	}
	t.Fatal("the study does not end")
	return nil
}

func TestAStudyIsPlayed(t *testing.T) {
	for name, source := range map[string][]byte{
		"record":       planeStudy(recordPrivacy, "", ""),
		"client":       planeStudy(clientPrivacy, "", ""),
		"sequential":   planeStudy(recordPrivacy, "schedule = \"sequential\"", ""),
		"asynchronous": planeStudy(recordPrivacy, "schedule = \"asynchronous\"", ""),

		"signed record":       signedStudy(recordPrivacy, "solver = \"clipped-analytical\"", ""),
		"signed scores":       linestudy.Document(linestudy.Parts{Version: 2, Privacy: "unit = \"record\"\nepsilon = 3.0\ndelta = 1e-5", Federation: "pace = 0\nnominal_records = 20"}),
		"signed sequential":   signedStudy(recordPrivacy, "solver = \"clipped-analytical\"\nschedule = \"sequential\"", ""),
		"signed asynchronous": signedStudy(recordPrivacy, "solver = \"clipped-analytical\"\nschedule = \"asynchronous\"", ""),
	} {
		t.Run(name, func(t *testing.T) {
			h, all := federation(t, source, "north", "south")
			if len(h.consent) != 2 {
				t.Fatalf("%d clients have consented", len(h.consent))
			}
			h.begin()
			play(t, all)
			for _, p := range all {
				one(t, h, p)
			}
		})
	}
}

// Without a signature, the coordinator could change a release.
//
//abuse:case A21 a study whose outcomes would have no signatures of clients: refused before the first answer
func TestUnsignedOutcomesAreRefused(t *testing.T) {
	h, all := federation(t, signedStudy(recordPrivacy, "solver = \"clipped-analytical\"", ""), "north", "south")
	h.unsigned = true
	h.begin()
	if _, err := all[0].step(); client.CodeOf(err) != client.Declined || !strings.Contains(err.Error(), "without the signatures") {
		t.Errorf("exit code %d: %v", client.CodeOf(err), err)
	}
	if spent := all[0].account().Spent; spent != 0 {
		t.Errorf("the client has spent %g", spent)
	}
}
