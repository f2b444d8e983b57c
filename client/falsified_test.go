package client_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fedpvi/client"
	"fedpvi/coordinator"
	"fedpvi/coordinator/bundle"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
	"fedpvi/sim"
	"fedpvi/transport"
)

// A falsifier is a coordinator that publishes a false sum for one plan. With secure sums, it adds
// one lattice step to the opened sum. Without them, it adds a constant to the sum and, if victim is
// set, to the victim's release as well. If withholds is set, it changes nothing, but withholds the
// victim's release. It signs all entries with the coordinator's key. The other entries are true, or
// follow from the false sum.
type falsifier struct {
	*coordinator.Study
	n      *realNetwork
	plan   uint64
	victim pvi.ClientID

	withholds bool

	mu       sync.Mutex
	key      *identity.Identity
	chain    transcript.Chain
	server   *session.Server
	sums     *sums.Progress
	said     []transport.Item
	consents map[identity.Name][]byte
	answers  map[releaseKey][]byte
	models   map[uint64][32]byte   // model hash of each plan, keyed by plan number
	fetched  map[uint64][][32]byte // hashes of the releases that clients fetch, keyed by the entry number of the outcome
	changed  [32]byte              // hash of the victim's release, in a study in which clients fetch releases
}

// Pieces changes or withholds the victim's release.
func (l *falsifier) Pieces(ctx context.Context, peer channel.Party, of transport.Wanted) (transport.Pieces, error) {
	p, err := l.Study.Pieces(ctx, peer, of)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || of.Release == ([32]byte{}) || of.Release != l.changed {
		return p, err
	}
	if l.withholds {
		return nil, &transport.Refusal{Reason: transport.Unknown, Text: "it is lost"}
	}
	return changedPieces{p}, nil
}

type changedPieces struct{ transport.Pieces }

func (p changedPieces) Read(b []byte, from int64) error {
	whole := make([]byte, p.Size())
	err := p.Pieces.Read(whole, 0)
	binary.LittleEndian.PutUint64(whole, binary.LittleEndian.Uint64(whole)+falseStep)
	copy(b, whole[from:])
	return err
}

const falseStep = 1 << 20

func (l *falsifier) Approve(ctx context.Context, peer channel.Party, envelope []byte) error {
	l.mu.Lock()
	l.consents[peer.Name] = slices.Clone(envelope)
	l.mu.Unlock()
	return l.Study.Approve(ctx, peer, envelope)
}

func (l *falsifier) Offer(ctx context.Context, peer channel.Party, envelope, whole []byte) (int64, error) {
	if h, err := signed.Claims(envelope); err == nil && (h.Domain == signed.Deal || h.Domain == signed.Release) {
		l.mu.Lock()
		l.answers[releaseKey{peer.Name, h.Round}] = slices.Clone(envelope)
		l.mu.Unlock()
	}
	return l.Study.Offer(ctx, peer, envelope, whole)
}

func (l *falsifier) Entry(ctx context.Context, peer channel.Party, number uint64) (transport.Item, error) {
	item, err := l.Study.Entry(ctx, peer, number)
	if err != nil {
		return item, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for uint64(len(l.said)) < number {
		item, err = l.Study.Entry(ctx, peer, uint64(len(l.said)+1))
		if err == nil && item.Stored != nil {
			item.Body = make([]byte, item.Stored.Size())
			err = item.Stored.Read(item.Body, 0)
			item.Stored = nil
		}
		if err == nil {
			item, err = l.tell(item)
		}
		if err != nil {
			return item, err
		}
		l.said = append(l.said, item)
	}
	return l.said[number-1], nil
}

func (l *falsifier) tell(item transport.Item) (transport.Item, error) {
	chain, e, err := l.chain.Follow(item.Envelope, item.Body)
	if err != nil {
		return item, err
	}
	entry := session.Entry{Kind: session.Kind(e.Kind), Plan: int(e.Ask), Body: item.Body}
	if e.Kind.Outcome() && chain.Commits() {
		a, err := transcript.ParseAnswered(item.Body)
		if err != nil {
			return item, err
		}
		entry.Body = a.Outcome
		if chain.Fetches() {
			if err := l.note(e, entry, a); err != nil {
				return item, err
			}
		}
	}
	switch {
	case e.Kind == transcript.Roster:
		err = l.begin(chain)
	case e.Kind.Plan():
		l.server.Next()
		l.models[e.Ask] = e.Model
	case e.Kind.Outcome() && e.Ask == l.plan && !l.withholds:
		if item, err = l.falsify(entry, item.Body, e.Model); err == nil {
			chain, _, err = l.chain.Follow(item.Envelope, item.Body)
		}
	case e.Kind.Outcome():
		_, err = l.server.Replay(entry)
	}
	if err == nil && e.Ask > 0 && l.sums != nil {
		err = l.sums.Follow(e, item.Body)
	}
	l.chain = chain
	return item, err
}

func (l *falsifier) note(e transcript.Entry, entry session.Entry, a transcript.Answered) error {
	counted, err := l.server.Counted(entry)
	if err != nil {
		return err
	}
	for m, id := range counted.Clients {
		member, _ := l.chain.Members().Named(identity.Name(id))
		r, err := l.chain.VerifyRelease(a.Envelopes[m], member.Key, e.Ask, l.models[e.Ask])
		if err != nil {
			return err
		}
		if l.fetched[e.Number] = append(l.fetched[e.Number], r.Commitment); e.Ask == l.plan && id == l.victim {
			l.changed = r.Commitment
		}
	}
	return nil
}

func (l *falsifier) begin(chain transcript.Chain) (err error) {
	names := ids(l.n.clients)
	if l.server, err = session.NewServer(l.n.document, names); err != nil {
		return err
	}
	if l.n.document.Federation.Aggregation != study.Secure {
		return nil
	}
	f, err := sums.New(chain, l.server.Fewest(), l.server.VectorSize())
	l.sums = sums.NewProgress(f)
	return err
}

// falsify returns the outcome that a plan would have with the false sum.
func (l *falsifier) falsify(e session.Entry, body []byte, model [32]byte) (transport.Item, error) {
	if l.sums == nil {
		return l.falsifyMessages(e, body, model)
	}
	names, elements, opened := l.sums.Sum()
	if !opened {
		return transport.Item{}, errors.New("the plan has no opening")
	}
	sum := session.Sum{Elements: slices.Clone(elements), Participants: ids(names)}
	sum.Elements[0]++
	outcome, err := l.server.CollectSum(int(l.plan), sum)
	if err != nil {
		return transport.Item{}, err
	}
	envelope, err := l.chain.Sign(l.key, transcript.Kind(e.Kind), l.plan, l.server.Model(), outcome.Body)
	return transport.Item{Envelope: envelope, Body: outcome.Body}, err
}

func (l *falsifier) falsifyMessages(e session.Entry, body []byte, model [32]byte) (transport.Item, error) {
	o, err := wire.ReadOutcome(e.Body, wire.Limits{Elements: 10_000, Clients: 10, Name: 40})
	if err != nil {
		return transport.Item{}, err
	}
	answered, err := transcript.ParseAnswered(body)
	if err != nil {
		return transport.Item{}, err
	}
	o.Sum[0] += falseStep
	if at := slices.Index(o.Participants, l.victim); at >= 0 && o.Releases != nil {
		o.Releases[at*len(o.Sum)] += falseStep
	}
	answered.Outcome = wire.AppendOutcome(nil, o)
	body = answered.Bytes()
	envelope, err := l.chain.Sign(l.key, transcript.Kind(e.Kind), l.plan, model, body)
	return transport.Item{Envelope: envelope, Body: body}, err
}

func (l *falsifier) bundle(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := bundle.NewWriter(&b, l.n.document.Source)
	w.Consents(len(l.consents))
	for name, envelope := range l.consents {
		w.Consent(string(name), envelope)
	}
	w.Answers(len(l.answers))
	for key, envelope := range l.answers {
		w.Answer(key.ask, string(key.client), envelope)
	}
	w.Entries(uint64(len(l.said)))
	peer := channel.Party{Study: l.Hash(), Role: identity.Client, Name: l.n.clients[0]}
	for i, item := range l.said {
		w.Entry(item.Envelope, item.Body)
		for _, hash := range l.fetched[uint64(i+1)] {
			e, err := signed.Claims(item.Envelope)
			check(t, err)
			p, err := l.Pieces(t.Context(), peer, transport.Wanted{Ask: e.Round, Release: hash})
			check(t, err)
			release := make([]byte, p.Size())
			check(t, p.Read(release, 0))
			_, err = w.Release(int64(len(release))).Write(release)
			check(t, err)
		}
	}
	check(t, w.Close())
	return b.Bytes()
}

//abuse:case A21 a sum that is changed by one step: every client stops with exit code 3, and the verification of the bundle names the plan
func TestFalsifiedSumStopsEverybody(t *testing.T) {
	const privacy = "unit = \"record\"\nepsilon = 2.0\ndelta = 1e-5"
	source := federatedStudy(logistic, "rounds = 1\nnoise_aware = \"one-step\"", privacy, "nominal_records = 30\nopens = \"sums\"\naggregation = \"secure\"")
	st, err := study.Parse("study.toml", source)
	check(t, err)
	for _, plan := range []uint64{1, 2} { // plan 2 is the last round
		t.Run(fmt.Sprint("plan ", plan), func(t *testing.T) {
			t.Parallel()
			falsified(t, st, &falsifier{plan: plan}, fmt.Sprintf("plan %d is not the one that the clients have opened", plan), fmt.Sprintf("plan %d: the sum in the outcome", plan))
		})
	}
}

//abuse:case A21 a constant added to a sum of messages, or also to the answer of one client: every client stops with exit code 3, and the verification of the bundle names the plan and the client
func TestFalsifiedSumOfMessagesStopsEverybody(t *testing.T) {
	source := federatedStudy(linear, "rounds = 2\nsolver = \"clipped-analytical\"\nintervals = \"none\"", "unit = \"record\"\nepsilon = 2.0\ndelta = 1e-5", "pace = 0")
	st, err := study.Parse("study.toml", bytes.Replace(source, []byte("version = 1"), []byte("version = 2"), 1))
	check(t, err)
	for victim, says := range map[pvi.ClientID]string{
		"":         "the sum of plan 2 is not the sum of the 3 releases that were published with it",
		"client-2": "the release of client-2 in the outcome of plan 2 is not the one that this client has signed",
	} {
		t.Run("victim "+string(victim), func(t *testing.T) {
			t.Parallel()
			falsified(t, st, &falsifier{plan: 2, victim: victim}, says, says)
		})
	}
}

//abuse:case A21 a constant added to a sum whose releases clients fetch, or also to a fetched release: every client stops with exit code 3, and the verification of the bundle names the plan and the client
//abuse:case A21 a release that the coordinator does not deliver: every client stops with exit code 3 and names its client and the plan
func TestFalsifiedReleasesStopEverybody(t *testing.T) {
	st := fetchedStudy(t) // plan 1, because in plan 2 no factor changes and all releases are equal
	for name, c := range map[string]struct {
		victim      pvi.ClientID
		withholds   bool
		says, fault string
	}{
		"sum":     {says: "the sum of plan 1 is not the sum of the 3 releases", fault: "the sum of plan 1 is not the sum of the 3 releases"},
		"release": {"client-2", false, "the release of client-2 in the outcome of plan 1 is not the one that this client has signed", "the release of client-2 in the outcome of plan 1 is not the one that this client has signed"},
		"missing": {"client-2", true, "does not deliver the release of client-2 for plan 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			falsified(t, st, &falsifier{plan: 1, victim: c.victim, withholds: c.withholds}, c.says, c.fault)
		})
	}
}

// fetchedStudy returns a study whose releases are too long to be part of its outcomes. To achieve
// this, it lowers the limit on outcomes in the whole process until the test ends.
func fetchedStudy(t *testing.T) *study.Study {
	t.Helper()
	most := phase.MaxPublished
	phase.MaxPublished = 10
	t.Cleanup(func() { phase.MaxPublished = most })
	source := federatedStudy(linear, "rounds = 2\nsolver = \"clipped-analytical\"\nintervals = \"none\"", "unit = \"record\"\nepsilon = 2.0\ndelta = 1e-5", "pace = 0")
	st, err := study.Parse("study.toml", bytes.Replace(source, []byte("version = 1"), []byte("version = 2"), 1))
	check(t, err)
	return st
}

// falsified plays a study with a falsifier. Each client must stop with an error that contains
// refusal. If fault is not empty, verifying the bundle must fail at the last entry, with an error
// that contains fault.
func falsified(t *testing.T, st *study.Study, l *falsifier, refusal, fault string) {
	records := filepath.Join(t.TempDir(), "records")
	_, err := sim.Deal(st, sim.Options{StudyFile: "study.toml", Seed: federationSeed, Workers: 1}, records)
	check(t, err)
	n := newNetworkBehind(t, st, records, func(n *realNetwork) transport.Coordinator {
		key, err := identity.Load(nil, filepath.Join(n.hubDir, "identity.key"))
		check(t, err)
		l.Study, l.n, l.key, l.chain = n.study, n, key, transcript.Begin(n.study.Hash(), key.Public())
		l.consents, l.answers = map[identity.Name][]byte{}, map[releaseKey][]byte{}
		l.models, l.fetched = map[uint64][32]byte{}, map[uint64][][32]byte{}
		return l
	})
	_, errs := n.runAll()
	for m, err := range errs {
		if client.CodeOf(err) != client.Declined || !strings.Contains(err.Error(), refusal) {
			t.Errorf("%s stops with code %d: %v", n.clients[m], client.CodeOf(err), err)
		}
	}
	if fault == "" {
		return
	}
	_, err = bundle.Verify(bytes.NewReader(l.bundle(t)))
	var found *bundle.Fault
	if !errors.As(err, &found) || found.Where != fmt.Sprintf("entry %d", len(l.said)) || !strings.Contains(err.Error(), fault) {
		t.Errorf("the bundle: %v", err)
	}
}
