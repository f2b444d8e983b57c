package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fedpvi/client/ledger"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/dpmech"
	"fedpvi/gpu/device"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/shard"
	"fedpvi/transport"
)

// A participant is the state machine of a client in one study. It processes transcript entries,
// answers plans, and saves its state after each step. It uses the network only to fetch releases.
// It is not safe for concurrent use.
type participant struct {
	client  *Client
	member  *Member
	policy  *Policy
	terms   Terms
	dataset Dataset
	records *shard.Records
	named   ledger.Hash // hash of the record file

	chain transcript.Chain
	site  *session.Site // nil before the roster is known
	sums  *sums.Client  // nil before the roster is known, and without secure aggregation
	at    position
	sent  uint64    // number of the last plan whose answer this process has sent
	keyed bool      // whether this process has sent its keys for the secure sums
	said  bool      // whether this process has sent its confirmation or share for the present step
	asked time.Time // when this process read the last plan or, before the first plan, when it connected

	wanted  device.Source // where to find a device for the run; nil to use the CPU
	devices []device.Device
}

// position is a participant's saved progress in the transcript.
type position struct {
	transcript.Position
	Records ledger.Hash       `json:"records"` // hash of the record file when the study began
	Plan    uint64            `json:"plan"`    // number of the last plan for this client
	Model   [32]byte          `json:"model"`   // model hash of plan number Plan
	Asks    [2]int            `json:"asks"`    // number of plans published so far, and in the whole study
	Ended   *Ending           `json:"ended,omitempty"`
	Missed  map[uint64]string `json:"missed,omitempty"` // why charged answers were not accepted, keyed by plan number
	Failed  int               `json:"failed,omitempty"` // number of answers in a row that could not be computed
	// Open maps the number of each open plan to the model hash in its entry, in studies with
	// commitments.
	Open map[uint64][32]byte `json:"open,omitempty"`
}

func (p *position) miss(ask uint64, why string) {
	if p.Missed == nil {
		p.Missed = map[uint64]string{}
	}
	p.Missed[ask] = why
}

// A saved is the first transcript entry or a message of this client, as it is saved on disk.
type saved struct {
	Envelope []byte `json:"envelope"`
	Body     []byte `json:"body"`
}

func (c *Client) newParticipant(m *Member, p *Policy, records *shard.Records, named ledger.Hash) (*participant, error) {
	t, err := c.approved(m, p)
	if err != nil {
		return nil, err
	}
	_, d, err := p.dataset(t.Dataset)
	if err != nil {
		return nil, err
	}
	if before, ok := c.store.ChargedTo(named); ok && before != t.Dataset {
		return nil, &Refusal{fmt.Sprintf("this file of records was charged to the data set %s, and the study is approved for %s: one file has one budget, so approve with --dataset %[1]s", before, t.Dataset)}
	}
	a := &participant{client: c, member: m, policy: p, terms: t, dataset: d, records: records, named: named}
	a.at.Records = named
	begun, err := c.has(m.Hash, positionPart)
	if err != nil || !begun {
		return a, err
	}
	return a, a.restore()
}

func (a *participant) restore() error {
	c, of := a.client, a.member.Hash
	if err := c.get(of, positionPart, &a.at); err != nil {
		return err
	}
	if a.at.Records != a.named {
		return &Refusal{"the file of records differs from the one with which the study began: use the same file until the study is over"}
	}
	var first saved
	if err := c.get(of, rosterPart, &first); err != nil {
		return err
	}
	chain, _, err := a.first(first.Envelope).Follow(first.Envelope, first.Body)
	if err != nil {
		return c.damaged("the roster: " + err.Error())
	}
	members, err := c.version(a.member)
	if err != nil {
		return err
	}
	if members != nil {
		chain = chain.With(members)
	}
	a.chain = chain.At(a.at.Position)
	state, err := c.part(of, sitePart)
	if err != nil {
		return err
	}
	a.site, err = session.RestoreSite(a.member.Study, clientsOf(a.chain.Members()), a.id(), a.records, state)
	if err != nil {
		return c.damaged("the state of the study: " + err.Error())
	}
	return a.restoreSums()
}

func (a *participant) id() pvi.ClientID { return pvi.ClientID(a.member.Name) }

func clientsOf(r *roster.Roster) []pvi.ClientID {
	var all []pvi.ClientID
	for _, e := range r.Entries {
		if e.Role == identity.Client {
			all = append(all, pvi.ClientID(e.Name))
		}
	}
	slices.Sort(all)
	return all
}

func (a *participant) next() uint64 { return a.at.Number + 1 }

// witness compares the saved state with the coordinator's record of this client. The record has the
// number of entries, and the ledger entry that this client's last message named.
func (a *participant) witness(s transport.Standing) error {
	if s.Entries < a.at.Number {
		return &Refusal{fmt.Sprintf("the coordinator's transcript has %d entries, but this client has followed %d: the coordinator's state is older than the entries that it sent", s.Entries, a.at.Number)}
	}
	if s.Last == nil {
		return nil
	}
	claims, err := signed.Claims(s.Last)
	if err != nil {
		return &Refusal{"the coordinator's copy of this client's last message: " + err.Error()}
	}
	if own, err := a.client.signedBy(s.Last, claims); err != nil || !own || claims.Study != [32]byte(a.member.Hash) {
		return errors.Join(err, &Refusal{"the coordinator's copy of this client's last message is from another client"})
	}
	return a.client.owns(claims.LedgerSeq, claims.LedgerHead, "the last message from this client at the coordinator")
}

// owns checks that the ledger has the entry that an earlier message of this client named. If it
// does not, owns marks this copy of the state as unusable and returns a RolledBack.
func (c *Client) owns(sequence uint64, head ledger.Hash, message string) error {
	if c.store.Contains(sequence, head) {
		return nil
	}
	mine, _ := c.store.Head()
	problem := fmt.Sprintf("%s names entry %d of the ledger, which this ledger of %d entries does not contain", message, sequence, mine)
	return errors.Join(&RolledBack{problem}, c.put(ledger.Hash{}, haltPart, problem))
}

// halted returns a RolledBack if this copy of the state was marked as unusable.
func (c *Client) halted() error {
	var problem string
	ok, err := c.has(ledger.Hash{}, haltPart)
	if err != nil || !ok {
		return err
	}
	if err := c.get(ledger.Hash{}, haltPart, &problem); err != nil {
		return err
	}
	return &RolledBack{problem}
}

// follow checks the next transcript entry, applies it, and saves the state. If an outcome has a sum
// but not its releases, follow fetches them.
func (a *participant) follow(ctx context.Context, link Link, item transport.Item) (transcript.Entry, error) {
	if a.at.Number == 0 {
		a.chain = a.first(item.Envelope)
	}
	chain, e, err := a.chain.Follow(item.Envelope, item.Body)
	if err != nil {
		return e, err
	}
	next, settled := a.at, uint64(0)
	next.Position = chain.Position()
	switch {
	case e.Kind == transcript.Roster && e.Number == 1:
		err = a.begin(chain)
	case e.Kind == transcript.Roster:
		err = a.newVersion(chain, item.Body)
	case e.Kind == transcript.End:
		next.Ended, err = a.end(item.Body)
	case e.Kind == transcript.Abort:
		next.Ended, err = aborted(item.Body)
	case e.Kind == transcript.Exclude:
		err = a.excluded(item.Body)
	default:
		err = a.step(ctx, link, e, item.Body, &next)
		if e.Kind.Outcome() {
			settled = e.Ask
		}
	}
	if err != nil {
		return e, err
	}
	a.chain, a.at = chain, next
	change, err := a.change(settled)
	if err != nil {
		return e, err
	}
	change.Parts[entryPart(e.Number)] = item.Envelope
	if err := a.keep(&change, e, item); err != nil {
		return e, err
	}
	a.said = a.said && !e.Kind.Step()
	if err := a.client.store.Save(change); err != nil || e.Kind != transcript.Roster {
		return e, err
	}
	return e, a.client.destroyOld(a.member)
}

// keep adds to a change all values that an entry sets or removes.
func (a *participant) keep(change *ledger.Change, e transcript.Entry, item transport.Item) (err error) {
	switch {
	case e.Kind == transcript.Roster:
		change.Parts[versionPart] = nil
		if e.Number == 1 {
			change.Parts[rosterPart], err = json.Marshal(saved{item.Envelope, item.Body})
		} else {
			change.Parts[versionPart] = a.chain.Members().Bytes()
		}
		if err == nil {
			change.Parts[membershipPart], err = json.Marshal(a.member.membership)
		}
		if err == nil && a.sums != nil {
			change.Parts[keysPart], err = a.drawKeys(change)
		}
	case a.sums != nil && e.Kind.Outcome():
		change.Parts[wordPart] = nil
	case a.sums != nil && e.Kind.Last():
		change.Parts[wordPart], change.Parts[keysPart], change.Parts[sumsPart] = nil, nil, nil
	}
	return err
}

// begin checks the roster, which is the first transcript entry, and creates the site.
func (a *participant) begin(chain transcript.Chain) error {
	m, members := a.member, chain.Members()
	own, ok := members.Named(m.Name)
	hub, _, err := m.coordinatorOf(members.Coordinator().Key.Fingerprint())
	if err != nil {
		return err
	}
	switch {
	case !ok:
		return &Refusal{"the roster lacks this client with its own keys"}
	case !bytes.Equal(members.Coordinator().Bytes(), hub.Bytes()):
		return &Refusal{"the coordinator's entry in the roster differs from its entry when this client joined"}
	}
	if err := m.promote(own); err != nil {
		return err
	}
	if err := a.consents(members); err != nil {
		return err
	}
	clients := clientsOf(members)
	t, d, err := a.client.terms(m, a.policy, a.terms.Dataset, clients, len(a.policy.strangers(members, m.Name)))
	if err != nil {
		return err
	}
	if t != a.terms {
		return a.otherTerms(t, members)
	}
	if err := a.fits(clients, d); err != nil {
		return err
	}
	a.site, err = session.NewSite(m.Study, clients, a.id(), a.records)
	if err != nil {
		return err
	}
	if a.site.Digest() != chain.Protocol() {
		return &Refusal{"the coordinator derived other rules from the study and the roster than this client: the programs have different versions, or one of them is wrong"}
	}
	if a.site.Commits() != chain.Commits() {
		return &Refusal{"the coordinator publishes outcomes without the signatures of the clients, as earlier programs did, or with signatures in a study that has none: update the coordinator, and begin the study again"}
	}
	if a.site.Fetches() != chain.Fetches() {
		return &Refusal{"the coordinator publishes sums without the releases that they are made of, as earlier programs did, or with releases in a study that has none: update the coordinator, and begin the study again"}
	}
	if err := a.beginSums(chain); err != nil {
		return err
	}
	return a.useDevice()
}

// otherTerms refuses a roster under which the terms are not the approved ones.
func (a *participant) otherTerms(t Terms, members *roster.Roster) error {
	why := fmt.Sprintf("with the clients of the roster, the study is charged against %q, but it was approved for %q: run client review, then client approve", t.View, a.terms.View)
	if t.View == a.terms.View {
		why = "the terms are not the approved ones: run client review, then client approve"
	}
	return a.refuseRoster(why, members)
}

// fits returns an error if the whole study costs more than the budget has left.
func (a *participant) fits(clients []pvi.ClientID, d Dataset) error {
	whole, err := a.terms.whole(a.member.Study, clients)
	if err != nil {
		return err
	}
	if _, err := a.client.quote(a.terms, d, a.member.Study, whole); err != nil {
		return fmt.Errorf("with %d clients the study does not fit into the budget of the data set %s: %w", len(clients), a.terms.Dataset, err)
	}
	return nil
}

// step processes a plan, an outcome, or one of the secure-sum entries between them.
func (a *participant) step(ctx context.Context, link Link, e transcript.Entry, body []byte, next *position) error {
	if a.site == nil {
		return transcript.ErrKind
	}
	if err := a.followSums(e, body, next); err != nil || e.Kind.Step() {
		return err
	}
	body, err := a.checkAnswers(ctx, link, e, body, next)
	if err != nil {
		return err
	}
	if err := a.site.Follow(session.Entry{Kind: session.Kind(e.Kind), Plan: int(e.Ask), Body: body}); err != nil {
		return err
	}
	next.Asks[0], next.Asks[1] = a.site.Plans()
	ask, asked := a.site.Pending()
	if !e.Kind.Plan() || !asked || uint64(ask) != e.Ask {
		return nil
	}
	if a.site.Model() != e.Model {
		return &Refusal{fmt.Sprintf("plan %d and its entry refer to different models", e.Ask)}
	}
	next.Plan, next.Model = e.Ask, e.Model
	return nil
}

func (a *participant) change(settled uint64) (ledger.Change, error) {
	at, err := json.Marshal(a.at)
	if err != nil {
		return ledger.Change{}, err
	}
	parts := map[string][]byte{positionPart: at}
	if a.sums != nil {
		if parts[sumsPart], err = a.sums.MarshalBinary(); err != nil {
			return ledger.Change{}, err
		}
	}
	if a.site != nil {
		if parts[sitePart], err = a.site.MarshalBinary(); err != nil {
			return ledger.Change{}, err
		}
	}
	return ledger.Change{Study: a.member.Hash, Parts: parts, Settled: settled}, nil
}

// pending returns the number of the plan that this client must answer next, if there is one.
func (a *participant) pending() (ask uint64, ok bool) {
	if a.site == nil {
		return 0, false
	}
	n, ok := a.site.Pending()
	return uint64(n), ok && a.mayDeal()
}

// answer checks the budget, then computes, charges and saves the answer to the pending plan, and
// returns the message. When it returns, the charge is on disk, so the message may be sent. If the
// computation fails, answer charges the noise that was drawn and returns an error. If ctx is done
// before the charge, it charges nothing and returns the error of ctx.
func (a *participant) answer(ctx context.Context) (transport.Item, error) {
	ask, ok := a.pending()
	if !ok || ask != a.at.Plan {
		return transport.Item{}, &Refusal{"no plan waits for this client"}
	}
	if entry, ok := a.client.store.Answered(a.member.Hash, ask); ok {
		return transport.Item{}, &Refusal{fmt.Sprintf("plan %d was answered already (entry %d of the ledger): a plan is answered once", ask, entry)}
	}
	if why := a.site.Stalled(); why != "" {
		return transport.Item{}, &Stalled{why}
	}
	quoted, err := a.site.Quote()
	if err != nil {
		return transport.Item{}, err
	}
	charge, err := a.terms.charge(quoted)
	if err != nil {
		return transport.Item{}, err
	}
	if err := a.client.correct(a.terms.Dataset); err != nil {
		return transport.Item{}, err
	}
	if _, err := a.client.store.Quote(a.terms.Dataset, a.dataset.Promise, charge.Event); err != nil {
		return transport.Item{}, fmt.Errorf("plan %d: %w", ask, err)
	}
	answer, failed := a.compute(ctx, ask)
	if ctx.Err() != nil {
		return transport.Item{}, ctx.Err()
	}
	if as[*pvi.Refused](failed) {
		return transport.Item{}, failed
	}
	return a.pay(ask, answer, failed)
}

// compute computes the answer to the pending plan. When ctx is done, it returns at once, and the
// computation goes on until it is finished or the program ends. This does no harm: the participant
// is not used again, nothing was charged, written or sent, and the next run draws new noise.
func (a *participant) compute(ctx context.Context, ask uint64) (session.Answer, error) {
	type result struct {
		answer session.Answer
		err    error
	}
	done := make(chan result, 1)
	go func(site *session.Site, noise func(int) *dpmech.Stream) {
		answer, err := site.Answer(noise(int(ask)))
		done <- result{answer, err}
	}(a.site, a.client.noise)
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		a.devices = nil // not used again, because the computation that was abandoned may still use the devices
		return session.Answer{}, ctx.Err()
	}
}

// pay charges an answer and returns the message to send. If failed is not nil, the answer could not
// be computed. In this case, pay charges the noise that was drawn for it, and returns an error.
func (a *participant) pay(ask uint64, answer session.Answer, failed error) (transport.Item, error) {
	charge, err := a.terms.charge(answer.Spent)
	if err != nil {
		return transport.Item{}, err
	}
	if a.at.Failed++; failed == nil {
		a.at.Failed = 0
	}
	var deal *sums.Deal
	if a.sums != nil && failed == nil {
		if deal, err = a.sums.Deal(answer.Vector); err != nil {
			return transport.Item{}, err
		}
	}
	change, err := a.change(0)
	if err != nil {
		return transport.Item{}, err
	}
	store, members := a.client.store, a.chain.Members()
	signer := a.member.keys.identity
	release := ledger.Release{
		Dataset: a.terms.Dataset, Protocol: a.chain.Protocol(), Roster: members.Hash(), Policy: a.policy.Hash,
		Records: a.named, Ask: ask, View: charge.View.Name, Event: charge.Event,
	}
	if failed != nil {
		if err := store.Lose(change, release, a.client.now()); err != nil {
			return transport.Item{}, errors.Join(failed, err)
		}
		return transport.Item{}, &lost{failed}
	}
	if answer.Model != a.at.Model || uint64(answer.Plan) != ask {
		return transport.Item{}, errors.New("the answer does not refer to the model of the plan: this is a fault in the program")
	}
	return store.Charge(change, release, a.client.now(), func(sequence uint64, head ledger.Hash) (item transport.Item, err error) {
		if deal != nil {
			item.Envelope, item.Body, err = deal.Sign(signer, sequence, head)
			return item, err
		}
		header := a.chain.ReleaseHeader(ask, a.at.Model, signer.Fingerprint(), sequence, head)
		body, err := seal.Seal(members.Coordinator().Recipient, header.Bytes(), answer.Release, a.site.MaxRelease())
		if err != nil {
			return transport.Item{}, err
		}
		if !a.chain.Commits() {
			// the study has no commitments, because it began under an earlier version of the
			// program
			answer.Commitment = [32]byte{}
		}
		envelope, err := transcript.SignRelease(signer, header, body, answer.Commitment)
		return transport.Item{Envelope: envelope, Body: body}, err
	})
}

// missed records why a charged answer was not accepted, and deletes the answer.
func (a *participant) missed(ask uint64, why string) error {
	a.at.miss(ask, why)
	change, err := a.change(ask)
	if err != nil {
		return err
	}
	return a.client.store.Save(change)
}
