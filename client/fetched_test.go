package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fedpvi/client"
	"fedpvi/coordinator"
	"fedpvi/coordinator/bundle"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/sim"
	"fedpvi/transport"
)

// A breaking coordinator fails in the middle of the first releases that clients fetch.
type breaking struct {
	*coordinator.Study
	failures atomic.Int32
}

func (b *breaking) Pieces(ctx context.Context, peer channel.Party, of transport.Wanted) (transport.Pieces, error) {
	p, err := b.Study.Pieces(ctx, peer, of)
	return brokenPieces{p, b}, err
}

type brokenPieces struct {
	transport.Pieces
	b *breaking
}

func (p brokenPieces) Read(into []byte, from int64) error {
	if p.b.failures.Add(1) < 4 {
		return &transport.Refusal{Reason: transport.Unavailable, Text: "not now"}
	}
	return p.Pieces.Read(into, from)
}

// A study whose releases are too long for its outcomes has the posterior of the simulator to the last
// bit, and every client has fetched every release, although the coordinator fails in between.
func TestFetchedStudyAgreesWithSimulator(t *testing.T) {
	st := fetchedStudy(t)
	_, records, _, natural := simulated(t, st.Source)
	var b *breaking
	n := newNetworkBehind(t, st, records, func(n *realNetwork) transport.Coordinator {
		b = &breaking{Study: n.study}
		return b
	})
	for m, e := range n.play() {
		var result struct {
			Natural []float64 `json:"natural"`
		}
		check(t, json.Unmarshal(e.Result, &result))
		if !slices.Equal(natural, result.Natural) {
			t.Errorf("the posterior of %s differs", n.clients[m])
		}
	}
	if got := b.failures.Load(); got != 2*3*3+3 {
		t.Errorf("%d pieces were read, want those of three releases by three clients in two rounds, and three failures", got)
	}
}

// A client does not take part in a study whose releases are too long for its outcomes, if the
// coordinator publishes only their sums.
//
//abuse:case A21 a study whose sums could not be checked with the releases: refused before the first answer
func TestSumsAloneAreRefused(t *testing.T) {
	fetchedStudy(t)
	h, all := federation(t, signedStudy(recordPrivacy, "solver = \"clipped-analytical\"", ""), "north", "south", "west")
	h.sumsOnly = true
	h.begin()
	if _, err := all[0].step(); client.CodeOf(err) != client.Declined || !strings.Contains(err.Error(), "sums without the releases") {
		t.Errorf("exit code %d: %v", client.CodeOf(err), err)
	}
	if spent := all[0].account().Spent; spent != 0 {
		t.Errorf("the client has spent %g", spent)
	}
}

// largeStudy returns a study of 9 clients whose releases have 118,098 numbers each, more than fit into
// an outcome together.
func largeStudy(t *testing.T) *study.Study {
	t.Helper()
	const levels = 243
	var list strings.Builder
	for i := range levels {
		fmt.Fprintf(&list, "%q, ", fmt.Sprint(i))
	}
	source := fmt.Sprintf(`
[study]
version = 2
name = "large"
[[column]]
name = "a"
type = "categorical"
levels = [%[1]s]
[[column]]
name = "b"
type = "categorical"
levels = [%[1]s]
[[column]]
name = "y"
type = "numeric"
bounds = [-20, 20]
outside = "clamp"
[model]
family = "linear"
outcome = "y"
terms = ["a*b"]
standardise = "none"
noise_sd = 0.5
[inference]
rounds = 1
q = "diagonal"
solver = "clipped-analytical"
intervals = "none"
[privacy]
unit = "record"
noise_multiplier = 1.0
delta = 1e-5
[federation]
pace = 0
[simulation]
clients = 9
synthetic.records_per_client = 30
`, list.String())
	st, err := study.Parse("study.toml", []byte(source))
	check(t, err)
	return st
}

// The test runs a study whose releases are too long for outcomes, with the size at which that begins.
// Changed sums and releases stop every client. A client that adds up the releases keeps no release in
// memory.
func TestFetchedAtRealSize(t *testing.T) {
	if os.Getenv("FEDPVI_LONG") == "" {
		t.Skip("a minute of work: set FEDPVI_LONG=1")
	}
	st := largeStudy(t)
	falsified(t, st, &falsifier{plan: 1}, "the sum of plan 1 is not the sum of the 9 releases", "the sum of plan 1 is not the sum of the 9 releases")
	const says = "the release of client-7 in the outcome of plan 1 is not the one that this client has signed"
	falsified(t, st, &falsifier{plan: 1, victim: "client-7"}, says, says)

	records := filepath.Join(t.TempDir(), "records")
	_, err := sim.Deal(st, sim.Options{StudyFile: "study.toml", Seed: federationSeed, Workers: 1}, records)
	check(t, err)
	n := newRealNetwork(t, st, records)
	began := time.Now()
	n.play()
	t.Logf("the study took %v", time.Since(began))
	var text bytes.Buffer
	check(t, n.study.WriteBundle(&text))
	t.Logf("the bundle has %d bytes", text.Len())
	report, err := bundle.Verify(bytes.NewReader(text.Bytes()))
	if check(t, err); report.Signed != 9 {
		t.Errorf("%d signed releases", report.Signed)
	}
	n.addUpAgain(report)
}

// addUpAgain fetches and adds up the releases of the first plan as a client, and compares the memory
// in use after each release with that before the first.
func (n *realNetwork) addUpAgain(report *bundle.Report) {
	t := n.t
	c := n.open(0)
	defer c.Close()
	member, err := c.Member("")
	check(t, err)
	member.Addresses = []string{n.address}
	line, err := c.Dial(t.Context(), member, client.Network{})
	check(t, err)
	defer line.Close()
	var ids []pvi.ClientID
	for _, name := range report.Clients {
		ids = append(ids, pvi.ClientID(name))
	}
	server, err := session.NewServer(n.document, ids)
	check(t, err)
	key, err := identity.Load(nil, filepath.Join(n.hubDir, "identity.key"))
	check(t, err)
	chain := transcript.Begin(n.study.Hash(), key.Public())
	var model [32]byte
	for number := uint64(1); ; number++ {
		item, err := line.Whole(t.Context(), number)
		check(t, err)
		next, e, err := chain.Follow(item.Envelope, item.Body)
		check(t, err)
		if chain = next; e.Kind.Plan() {
			model = e.Model
		}
		if !e.Kind.Outcome() {
			continue
		}
		a, err := transcript.ParseAnswered(item.Body)
		check(t, err)
		counted, err := server.Counted(session.Entry{Kind: session.Kind(e.Kind), Plan: 1, Body: a.Outcome})
		check(t, err)
		answers, err := chain.VerifyAnswers(1, model, report.Clients, nil, a.Envelopes)
		check(t, err)
		before, most, all := inUse(), uint64(0), int64(0)
		began := time.Now()
		check(t, counted.AddUp(transcript.Commitments(answers), func(_ pvi.ClientID, hash pvi.Digest, size int64, w io.Writer) error {
			err := line.Release(t.Context(), 1, hash, size, w)
			most, all = max(most, inUse()), all+size
			return err
		}))
		t.Logf("%d bytes of releases in %v; at most %d bytes in use besides %d", all, time.Since(began), int64(most)-int64(before), before)
		if most > before+uint64(all)/4 {
			t.Errorf("%d bytes in use for %d bytes of releases", most-before, all)
		}
		return
	}
}

// inUse returns the number of bytes on the heap that are in use.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
