package chaos

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/pvi/wire"
	"fedpvi/transport"
)

// A model checks each message in a world against the protocol when the message is sent. It keeps
// the messages. The lock of the world protects it.
type model struct {
	w *world

	items    []transport.Item // transcript entries as they were first sent
	entries  []transcript.Entry
	chain    transcript.Chain
	lambda   *lambda
	closed   map[uint64]bool           // plans that have an outcome
	answers  map[answer]transport.Item // answers that clients have sent
	payloads map[answer]*pvi.Release
	taken    map[answer]bool // whether the coordinator has accepted an answer
	late     map[answer]bool // whether the coordinator has refused an answer as late
	forged   map[int]uint64  // for each client, the number of the false entry that it has received
	sums     *sumModel       // nil unless the study has secure sums
	endings  map[string]*client.Ending
}

// An answer identifies a client's answer to a plan.
type answer struct {
	client string
	ask    uint64
}

func newModel(w *world) *model {
	m := &model{
		w: w, chain: transcript.Begin(w.hash, w.coordinator.Public()), lambda: newLambda(w.protocol),
		closed: map[uint64]bool{}, answers: map[answer]transport.Item{}, payloads: map[answer]*pvi.Release{},
		taken: map[answer]bool{}, late: map[answer]bool{}, forged: map[int]uint64{}, endings: map[string]*client.Ending{},
	}
	if w.document.Federation.Aggregation == study.Secure {
		m.sums = &sumModel{words: map[word]transport.Item{}}
	}
	return m
}

// opened checks the state of a client that has started. The spending in the client's ledger must
// cover its answers. The client must still have each answer for which it was charged, so that it
// can send it. Exceptions are answers to plans that have an outcome, and answers that the
// coordinator has refused as late.
func (m *model) opened(p *process, c *client.Client, member *client.Member) {
	spent := m.spentBy(c, p.name)
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	spent()
	for _, ask := range slices.Sorted(maps.Keys(m.asked())) {
		_, paid := c.Store().Answered(member.Hash, ask)
		if !paid || m.closed[ask] || m.late[answer{p.name, ask}] {
			continue
		}
		if _, there, err := c.Store().Unsent(member.Hash, ask); err != nil || !there {
			m.w.fail("%s has paid for an answer to plan %d and lost it: %v", p.name, ask, err)
		}
	}
}

// asked returns the numbers of all plans sent so far.
func (m *model) asked() map[uint64]bool {
	all := map[uint64]bool{}
	for _, e := range m.entries {
		if e.Kind.Plan() {
			all[e.Ask] = true
		}
	}
	return all
}

// left checks an answer that a client is about to send. The charge and the answer must already
// survive a power failure, and the client must not have sent a different answer to the same plan.
// left passes other messages of secure sums to [model.word].
func (m *model) left(l *life, item transport.Item) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	h, err := signed.Claims(item.Envelope)
	if err != nil {
		m.w.fail("%s sends bytes that are no envelope: %v", l.p.name, err)
		return
	}
	if m.isWord(h.Domain) {
		m.word(l, h, item)
		return
	}
	m.w.tell("%s sends its answer to plan %d", l.p.name, h.Round)
	key := answer{l.p.name, h.Round}
	before, again := m.answers[key]
	if again {
		if !bytes.Equal(before.Envelope, item.Envelope) || !bytes.Equal(before.Body, item.Body) {
			m.w.fail("%s sends two answers to plan %d", l.p.name, h.Round)
		}
		return
	}
	m.answers[key] = item
	paid := sha256.Sum256(item.Envelope)
	switch disk := l.p.disk.durable; {
	case !bytes.Contains(disk, item.Envelope) || !bytes.Contains(disk, item.Body):
		m.w.fail("%s sends an answer to plan %d that a power failure could destroy", l.p.name, h.Round)
	case !bytes.Contains(disk, []byte(hex.EncodeToString(paid[:]))):
		m.w.fail("%s sends an answer to plan %d without a charge on disk", l.p.name, h.Round)
	}
	if h.Domain != signed.Deal {
		m.read(key, h, item)
	}
}

// read decrypts and decodes an answer like the coordinator, and stores it in m.payloads.
func (m *model) read(key answer, h signed.Header, item transport.Item) {
	payload, err := m.w.openAnswer(h, item.Body)
	if err != nil {
		m.w.fail("the answer of %s to plan %d does not open: %v", key.client, key.ask, err)
		return
	}
	r, err := wire.ReadRelease(payload, m.w.limits())
	if err != nil {
		m.w.fail("the answer of %s to plan %d cannot be read: %v", key.client, key.ask, err)
		return
	}
	m.fresh(key, r)
	m.payloads[key] = r
}

// fresh checks that a client does not use the same noise for two plans. It applies only to studies
// with so much noise that two answers can be nearly equal only if they have the same noise.
func (m *model) fresh(key answer, r *pvi.Release) {
	if !m.w.loud {
		return
	}
	for other, before := range m.payloads {
		if other.client == key.client && other.ask != key.ask && alike(before.Change, r.Change) {
			m.w.fail("%s reused the noise of plan %d for plan %d", key.client, other.ask, key.ask)
		}
	}
}

// alike reports whether the distance between two releases is below 1/50 of the norm of a.
func alike(a, b []int64) bool {
	var difference, size float64
	for i := range a {
		d := float64(a[i] - b[i])
		difference += d * d
		size += float64(a[i]) * float64(a[i])
	}
	return difference*2500 < size
}

// took checks that a message survives a power failure of the coordinator, which has just accepted
// it.
func (m *model) took(l *life, from *process, item transport.Item) {
	h, err := signed.Claims(item.Envelope)
	if err == nil && h.Domain == signed.Share {
		return // this envelope need not survive, because the opening contains the share itself
	}
	m.kept(l, "an answer of "+from.name, item.Envelope)
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	if err == nil && !l.dead && !m.isWord(h.Domain) {
		m.taken[answer{from.name, h.Round}] = true
	}
}

// refused notes that the coordinator has refused an answer as late, so that the client may discard
// it. An answer is late if the study or the plan is over. With secure sums, it is also late if the
// plan has a cut that leaves it out.
func (m *model) refused(from *process, item transport.Item) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	if h, err := signed.Claims(item.Envelope); err == nil && !m.isWord(h.Domain) {
		m.late[answer{from.name, h.Round}] = true
	}
}

// kept checks that an envelope would survive a power failure.
func (m *model) kept(l *life, what string, envelope []byte) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	if !l.dead && !bytes.Contains(l.p.disk.durable, envelope) {
		m.w.fail("the coordinator acknowledged %s, and a power failure could destroy it", what)
	}
}

// said checks a transcript entry that the coordinator is about to send. It must be on the disk. It
// must be the same for all clients and at all times, and it must follow from the earlier entries.
func (m *model) said(l *life, number uint64, item transport.Item) {
	m.kept(l, "said an entry", item.Envelope)
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	if l.dead {
		return
	}
	if number <= uint64(len(m.items)) {
		if before := m.items[number-1]; !bytes.Equal(before.Envelope, item.Envelope) || !bytes.Equal(before.Body, item.Body) {
			m.w.fail("entry %d of the transcript was one thing and is another", number)
		}
		return
	}
	if number != uint64(len(m.items))+1 {
		m.w.fail("entry %d was sent, %d is the next", number, len(m.items)+1)
		return
	}
	if number == 1 {
		m.chain = transcript.Begin(m.w.hash, m.w.signerOf(item.Envelope).Public())
	}
	chain, e, err := m.chain.Follow(item.Envelope, item.Body)
	if err != nil {
		m.w.fail("entry %d does not follow: %v", number, err)
		return
	}
	if long := m.w.template.long; long > 0 && e.Body.Size > uint64(long) && !l.p.disk.files.has(e.Body) {
		m.w.fail("the coordinator sends entry %d, and a power failure could destroy its body", number)
	}
	m.w.tell("entry %d: %s of plan %d", number, e.Kind, e.Ask)
	m.chain, m.items, m.entries = chain, append(m.items, item), append(m.entries, e)
	m.follow(e, item.Body)
}

// follow checks that an entry follows from earlier entries and answers.
func (m *model) follow(e transcript.Entry, body []byte) {
	defer m.followSums(e, body)
	switch e.Kind {
	case "plan":
		plan, err := wire.ReadPlan(body, m.w.limits())
		if err != nil {
			m.w.fail("plan %d cannot be read: %v", e.Ask, err)
		} else if !m.lambda.is(plan.Lambda) {
			m.w.fail("λ of plan %d is not the prior with the accepted changes", e.Ask)
		}
	case "outcome":
		outcome, err := wire.ReadOutcome(m.message(body), m.w.limits())
		if err != nil {
			m.w.fail("the outcome of plan %d cannot be read: %v", e.Ask, err)
			return
		}
		m.closed[e.Ask] = true
		m.settle(e.Ask, outcome)
	case transcript.End:
		m.close(body)
	}
}

// settle checks the outcome of a plan. If the outcome has too few clients, it must be void.
// Otherwise it must have the sum of these clients' answers. It must list every client whose answer
// the coordinator has accepted. With secure sums, [model.settleSums] checks the sum.
func (m *model) settle(ask uint64, o *pvi.Outcome) {
	m.w.tell("plan %d: %s with %v", ask, o.Verdict, o.Participants)
	enough := len(o.Participants) >= min(m.w.fewest, m.w.protocol.Fewest())
	if enough == (o.Verdict == pvi.Void) && (m.sums == nil || !enough) {
		m.w.fail("plan %d with %d answers is %s", ask, len(o.Participants), o.Verdict)
	}
	if m.sums != nil {
		m.settleSums(ask, o)
		return
	}
	sum := make([]int64, len(o.Sum))
	for _, id := range o.Participants {
		r := m.payloads[answer{string(id), ask}]
		if r == nil {
			m.w.fail("the outcome of plan %d counts an answer that %s never gave", ask, id)
			return
		}
		for i := range sum {
			sum[i] += r.Change[i]
		}
	}
	if !slices.Equal(sum, o.Sum) && o.Verdict != pvi.Void {
		m.w.fail("the outcome of plan %d is not the sum of the answers that it counts", ask)
	}
	for key := range m.taken {
		if key.ask == ask && !slices.Contains(o.Participants, pvi.ClientID(key.client)) {
			m.w.fail("the answer of %s to plan %d was taken and is not in the outcome", key.client, ask)
		}
	}
	if o.Verdict == pvi.Accepted {
		m.lambda.add(o.Sum)
	}
}

// close checks the last entry of the transcript, which has the receipts for all answers and the
// posterior.
func (m *model) close(body []byte) {
	closing, err := transcript.ParseClosing(body)
	if err != nil {
		m.w.fail("the end cannot be read: %v", err)
		return
	}
	receipts := map[answer]bool{}
	for _, r := range closing.Receipts {
		key := answer{string(r.Client), r.Ask}
		item, ok := m.answers[key]
		if !ok || transcript.BodyOf(item.Envelope).Hash != r.Release || receipts[key] {
			m.w.fail("there is a receipt for an answer of %s to plan %d that was not sent", r.Client, r.Ask)
		}
		receipts[key] = true
	}
	for key := range m.taken {
		if !receipts[key] {
			m.w.fail("there is no receipt for the answer of %s to plan %d, which was taken", key.client, key.ask)
		}
	}
	if err := m.lambda.leadsTo(closing.Result); err != nil {
		m.w.fail("the posterior: %v", err)
	}
}

// asks is called when a client requests an entry. The client has then accepted all earlier entries,
// so none of them may be false.
func (m *model) asks(l *life, number uint64) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	if n := m.forged[l.p.index]; n > 0 && number > n {
		m.w.fail("%s accepts entry %d, which does not follow", l.p.name, n)
	}
	delete(m.forged, l.p.index)
}

// instead returns a false entry for the client with the given index. It returns false if no such
// entry can be made.
func (m *model) instead(index int, lie kind, number uint64) (transport.Item, bool) {
	if number > uint64(len(m.items)) {
		return transport.Item{}, false
	}
	var other transport.Item
	ok := number > 1
	if lie == replay && ok {
		other = m.items[number-2]
	} else if lie == forge && ok {
		other, ok = m.forge(number, m.w.parts[index].name)
	}
	if ok {
		m.forged[index] = number
	}
	return other, ok
}

// forge returns a false entry that the coordinator has signed validly: an outcome with the opposite
// verdict, a plan with a different λ, or an invalid step of secure sums. For other kinds of
// entries, or if the client could not detect the false entry, it returns false.
func (m *model) forge(number uint64, to string) (transport.Item, bool) {
	e, item := m.entries[number-1], m.items[number-1]
	var body []byte
	switch e.Kind {
	case "outcome":
		o, err := wire.ReadOutcome(m.message(item.Body), m.w.limits())
		if err != nil || o.Verdict == pvi.Void || m.w.document.Inference.Schedule == study.Asynchronous {
			return item, false // only a client that has answered can detect such an outcome at once
		}
		if o.Verdict == pvi.Accepted {
			o.Verdict = pvi.Rejected
		} else {
			o.Verdict = pvi.Accepted
		}
		body = m.answered(item.Body, wire.AppendOutcome(nil, o))
	case "plan":
		p, err := wire.ReadPlan(item.Body, m.w.limits())
		if err != nil || !slices.Contains(p.Participants, pvi.ClientID(to)) {
			return item, false
		}
		p.Lambda[0] = pvi.Wide{Hi: 0, Lo: 12345}
		body = wire.AppendPlan(nil, p)
	case transcript.Cut, transcript.Certificate, transcript.Opening:
		body = m.spoil(e.Kind, item.Body)
	default:
		return item, false
	}
	at := transcript.Position{Number: number - 1, Head: transcript.BodyOf(m.items[number-2].Envelope).Hash}
	envelope, err := m.chain.At(at).Sign(m.w.signerOf(item.Envelope), e.Kind, e.Ask, e.Model, body)
	return transport.Item{Envelope: envelope, Body: body, Derived: e.Kind.Plan()}, err == nil
}

func (w *world) limits() wire.Limits {
	return wire.Limits{Elements: 64, Clients: len(w.names), Name: identity.MaxName}
}

// spentBy reads from a client's ledger how much of the budget is spent. It returns a function that
// fails the test if this is less than the cost of the answers that the client has sent. The caller
// of this function holds the lock.
func (m *model) spentBy(c *client.Client, name string) func() {
	a, ok := c.Store().Account(datasetName)
	return func() {
		n := 0
		for key := range m.answers {
			if key.client == name {
				n++
			}
		}
		if n == 0 {
			return
		}
		if truth, err := m.w.costOf(n, a.Budget); err != nil || !ok || a.Spent < truth {
			m.w.fail("%s has %g on record, and %d answers cost %g: %v", name, a.Spent, n, truth, err)
		}
	}
}

// costOf returns the cost of the given number of answers in the unit of the budget b. It rounds
// down slightly, so that rounding errors do not fail a test.
func (t *template) costOf(answers int, b ledger.Budget) (float64, error) {
	views := t.protocol.Views() // the last view is that of the observer who sees most
	view := views[len(views)-1]
	event, err := t.protocol.Event(view, b.Adjacency, min(answers, t.protocol.Releases()))
	if err != nil {
		return 0, err
	}
	f, err := b.NewFilter()
	if err != nil {
		return 0, err
	}
	err = f.Charge(event)
	return f.Spent() * (1 - 0x1p-40), err
}

// message returns an outcome's body without the clients' signatures.
func (m *model) message(body []byte) []byte {
	if a, err := transcript.ParseAnswered(body); err == nil && m.chain.Commits() {
		return a.Outcome
	}
	return body
}

// answered replaces the outcome in the body of an entry. It keeps the clients' signatures, if there
// are any.
func (m *model) answered(body, outcome []byte) []byte {
	a, err := transcript.ParseAnswered(body)
	if err != nil || !m.chain.Commits() {
		return outcome
	}
	a.Outcome = outcome
	return a.Bytes()
}
