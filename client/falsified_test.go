package client_test

import (
	"bytes"
	"context"
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
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
	"fedpvi/sim"
	"fedpvi/transport"
)

// A falsifier is a coordinator that adds one step of the lattice to the sum of one plan, after the
// clients have opened it. In a study that opens messages it adds a constant to the sum, and to the
// release of one client if it also has the name of a victim. It has the coordinator's key, and all
// that it says otherwise is true or follows from the false sum.
type falsifier struct {
	*coordinator.Study
	n      *realNetwork
	plan   uint64
	victim pvi.ClientID

	mu       sync.Mutex
	key      *identity.Identity
	chain    transcript.Chain
	server   *session.Server
	sums     *sums.Progress
	said     []transport.Item
	consents map[identity.Name][]byte
	answers  map[releaseKey][]byte
}

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
		if item, err = l.Study.Entry(ctx, peer, uint64(len(l.said)+1)); err == nil {
			item, err = l.tell(item)
		}
		if err != nil {
			return item, err
		}
		l.said = append(l.said, item)
	}
	return l.said[number-1], nil
}

// tell returns the entry that clients get in the place of a true one.
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
	}
	switch {
	case e.Kind == transcript.Roster:
		err = l.begin(chain)
	case e.Kind.Plan():
		l.server.Next()
	case e.Kind.Outcome() && e.Ask == l.plan:
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

func (l *falsifier) begin(chain transcript.Chain) (err error) {
	var names []pvi.ClientID
	for _, name := range l.n.clients {
		names = append(names, pvi.ClientID(name))
	}
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

// falsify returns the outcome that follows from the sum with one step more. In a study that opens
// messages it returns the outcome with a sum that is larger by a constant.
func (l *falsifier) falsify(e session.Entry, body []byte, model [32]byte) (transport.Item, error) {
	if l.sums == nil {
		return l.falsifyMessages(e, body, model)
	}
	names, elements, opened := l.sums.Sum()
	if !opened {
		return transport.Item{}, errors.New("the plan has no opening")
	}
	sum := session.Sum{Elements: slices.Clone(elements)}
	sum.Elements[0]++
	for _, name := range names {
		sum.Participants = append(sum.Participants, pvi.ClientID(name))
	}
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
	const more = 1 << 20
	o.Sum[0] += more
	if at := slices.Index(o.Participants, l.victim); at >= 0 {
		o.Releases[at*len(o.Sum)] += more
	}
	answered.Outcome = wire.AppendOutcome(nil, o)
	body = answered.Bytes()
	envelope, err := l.chain.Sign(l.key, transcript.Kind(e.Kind), l.plan, model, body)
	return transport.Item{Envelope: envelope, Body: body}, err
}

// bundle returns the record of the study as the coordinator tells it.
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
	for _, i := range l.said {
		w.Entry(i.Envelope, i.Body)
	}
	check(t, w.Close())
	return b.Bytes()
}

// The coordinator adds one step of the lattice to a sum that its clients have opened, in a round
// and in the last round. Every client stops with exit code 3, and whoever verifies the bundle is
// told the plan.
//
//abuse:case A21 a sum that is changed by one step: every client stops with exit code 3, and the verification of the bundle names the plan
func TestFalsifiedSumStopsEverybody(t *testing.T) {
	const privacy = "unit = \"record\"\nepsilon = 2.0\ndelta = 1e-5"
	source := federatedStudy(logistic, "rounds = 1\nnoise_aware = \"one-step\"", privacy, "nominal_records = 30\nopens = \"sums\"\naggregation = \"secure\"")
	st, err := study.Parse("study.toml", source)
	check(t, err)
	for _, plan := range []uint64{1, 2} { // plan 2 is the last round
		t.Run(fmt.Sprint("plan ", plan), func(t *testing.T) {
			t.Parallel()
			falsified(t, st, plan, "", fmt.Sprintf("plan %d is not the one that the clients have opened", plan), fmt.Sprintf("plan %d: the sum in the outcome", plan))
		})
	}
}

// The coordinator adds a constant to the sum of a round of messages that everybody may read, or also
// to the release of one client. Every client stops with exit code 3. Whoever verifies the bundle is
// told the plan, and the client whose release was changed.
//
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
			falsified(t, st, 2, victim, says, says)
		})
	}
}

func falsified(t *testing.T, st *study.Study, plan uint64, victim pvi.ClientID, refusal, fault string) {
	records := filepath.Join(t.TempDir(), "records")
	_, err := sim.Deal(st, sim.Options{StudyFile: "study.toml", Seed: federationSeed, Workers: 1}, records)
	check(t, err)
	var l *falsifier
	n := newNetworkBehind(t, st, records, func(n *realNetwork) transport.Coordinator {
		key, err := identity.Load(nil, filepath.Join(n.hubDir, "identity.key"))
		check(t, err)
		l = &falsifier{
			Study: n.study, n: n, plan: plan, victim: victim, key: key, chain: transcript.Begin(n.study.Hash(), key.Public()),
			consents: map[identity.Name][]byte{}, answers: map[releaseKey][]byte{},
		}
		return l
	})
	_, errs := n.runAll()
	for m, err := range errs {
		if client.CodeOf(err) != client.Declined || !strings.Contains(err.Error(), refusal) {
			t.Errorf("%s stops with code %d: %v", n.clients[m], client.CodeOf(err), err)
		}
	}
	_, err = bundle.Verify(bytes.NewReader(l.bundle(t)))
	var found *bundle.Fault
	if !errors.As(err, &found) || found.Where != fmt.Sprintf("entry %d", len(l.said)) || !strings.Contains(err.Error(), fault) {
		t.Errorf("the bundle: %v", err)
	}
}
