package coordinator

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// With secure aggregation, a plan has six steps (see package sums): deals, cut, confirmations,
// certificate, shares, opening. The entry that ends a step is signed in the transaction that stores
// the step's last message. Each step has its own deadline. After a restart, the coordinator reads
// the entries and messages of the open plan again.

// A secure is a coordinator's state of secure aggregation in one study. It has the clients' keys,
// the sum of the open plan, and the complaints about dealers.
type secure struct {
	federation *sums.Federation
	machine    *sums.Coordinator
	keying     *question // offers that collect the clients' keys
	columns    *columns  // access to the deals of the open plan; nil before the cut

	// complaints has the clients that complained about a dealer of the open plan, keyed by the
	// dealer's place. A client complains if it cannot decrypt its column of a deal, because it then
	// cannot confirm the cut. Complaints are not signed or stored. Their only effect is to keep
	// dealers out of later cuts.
	complaints map[int]map[identity.Name]bool
	// places of dealers whose deals made a plan void; later cuts leave them out
	leftOut map[int]bool
}

func (s *Study) secure() bool { return s.document.Federation.Aggregation == study.Secure }

// newSecure returns the initial state of secure sums under the present roster. If the study does
// not use secure aggregation, it returns nil.
func (s *Study) newSecure(chain transcript.Chain, server *session.Server) (*secure, error) {
	if !s.secure() {
		return nil, nil
	}
	f, err := sums.New(chain, server.Fewest(), server.VectorSize())
	if err != nil {
		return nil, err
	}
	return &secure{
		federation: f, machine: sums.NewCoordinator(f), keying: newQuestion(Hash{}, s.hub.options.Now(), 0),
		complaints: map[int]map[identity.Name]bool{}, leftOut: map[int]bool{},
	}, nil
}

// follow applies a transcript entry to the secure sums.
func (x *secure) follow(s *Study, e transcript.Entry, body []byte) error {
	if x == nil || e.Ask == 0 {
		return nil
	}
	if err := x.machine.Follow(e, body); err != nil {
		return err
	}
	switch x.machine.Step() {
	case sums.Idle, sums.Dealing:
		x.columns = nil
		clear(x.complaints)
	case sums.Confirming:
		x.columns = &columns{study: s, federation: x.federation, ask: e.Ask, cut: slices.Clone(x.machine.Cut())}
	}
	return nil
}

// signStep signs the entry that ends a step of the open plan, and sets the deadline of the next
// step.
func (b *batch) signStep(kind transcript.Kind, ask uint64, body []byte) error {
	q := b.state.open[ask]
	if err := b.signEntry(kind, ask, q.model, bytesOf(body)); err != nil {
		return err
	}
	if err := b.state.secure.follow(b.study, b.lastEntry, body); err != nil {
		return err
	}
	q.deadline = b.now.Add(b.study.roundDeadline())
	b.state.since = b.now
	b.then(func() { b.study.log.Info("step of a round", "ask", ask, "kind", string(kind)) })
	return nil
}

// stepIfDue ends the present step of the open plan if enough messages have arrived. It waits for
// deals until all have arrived or their deadline has passed. If the step cannot succeed, the plan
// is void.
func (b *batch) stepIfDue(ask uint64) error {
	x := b.state.secure
	over := !b.now.Before(b.state.open[ask].deadline) || len(b.awaited()) == 0
	switch x.machine.Step() {
	case sums.Dealing:
		if !over {
			return nil
		}
		if body, ok := x.machine.NextCut(); ok {
			return b.cut(ask, body)
		}
	case sums.Confirming:
		if body, ok := x.machine.NextCertificate(); ok {
			return b.signStep(transcript.Certificate, ask, body)
		}
		over = x.blame() || over
	case sums.Sharing:
		body, ok, err := x.machine.NextOpening()
		if err != nil {
			b.then(func() { b.study.log.Warn("a round is void", "ask", ask, "error", err) })
			return b.void(ask)
		}
		if ok {
			return b.openSum(ask, body)
		}
	}
	if over {
		return b.void(ask)
	}
	return nil
}

// awaited returns the clients from which the open plan's present step still expects a message.
func (b *batch) awaited() (names []identity.Name) {
	x := b.state.secure
	for _, place := range x.machine.Missing() {
		name := x.federation.Name(place)
		if x.machine.Step() == sums.Dealing && x.leftOut[place] || b.state.clients[name].left {
			continue
		}
		names = append(names, name)
	}
	return names
}

// cut signs the cut of the open plan, which is the list of deals to be added up. It drops
// incomplete deals.
func (b *batch) cut(ask uint64, body []byte) error {
	q := b.state.open[ask]
	for _, o := range q.offers {
		b.write(func(kept store.Study) error { return kept.DropOffer(o.key) })
	}
	b.then(q.discard(b.study))
	return b.signStep(transcript.Cut, ask, body)
}

// blame looks for dealers about whom so many clients complained that the cut cannot be confirmed,
// and leaves them out of later cuts. If it finds one, lost is true, and the plan is void.
func (x *secure) blame() (lost bool) {
	missing := x.federation.Clients() - x.federation.Fewest()
	for place, by := range x.complaints {
		if len(by) > missing {
			x.leftOut[place], lost = true, true
		}
	}
	return lost
}

// dealers returns the number of clients whose deals may be in later cuts. Without secure
// aggregation, it counts all clients that have not left.
func (b *batch) dealers() (n int) {
	x := b.state.secure
	for _, name := range b.state.staying() {
		if x == nil || !x.leftOut[x.federation.Place(name)] {
			n++
		}
	}
	return n
}

// openSum signs the opening, and the outcome with the sum that it opens.
func (b *batch) openSum(ask uint64, body []byte) error {
	st := b.state
	if err := b.signStep(transcript.Opening, ask, body); err != nil {
		return err
	}
	names, elements, _ := st.secure.machine.Sum()
	outcome, err := st.server.CollectSum(int(ask), session.Sum{Participants: as[pvi.ClientID](names), Elements: elements})
	if why, refused := refusedBy(err); refused {
		b.then(func() { b.study.log.Warn("a sum is impossible, and the round is void", "ask", ask, "reason", why) })
		return b.void(ask)
	}
	if err != nil {
		return b.fail(err)
	}
	return b.close(outcome)
}

// void ends a plan without a sum. Only answers in a cut get receipts, so if the plan has no cut,
// void removes its answers.
func (b *batch) void(ask uint64) error {
	if b.state.secure.machine.Step() == sums.Dealing {
		b.write(func(kept store.Study) error { return kept.DropAnswers(ask) })
		b.receipts = slices.DeleteFunc(b.receipts, func(r transcript.Receipt) bool { return r.Ask == ask })
		for name := range b.state.open[ask].taken {
			b.state.clients[name].answers--
		}
	}
	outcome, err := b.state.server.Close(int(ask))
	if err != nil {
		return b.fail(err)
	}
	return b.close(outcome)
}

func (b *batch) dropKeys() {
	if x := b.state.secure; x != nil {
		b.write(func(kept store.Study) error { return kept.CloseAsk(0) })
		b.then(x.keying.discard(b.study))
	}
}

// readSecure reads the stored entries and messages of the open plan to restore the state of the
// secure sums. The caller must first have restored the transcript and st.server.
func (s *Study) readSecure(st *state, kept store.Study) error {
	if !s.secure() || !st.begun() || st.over() {
		return nil
	}
	var err error
	if st.secure, err = s.newSecure(st.chain, st.server); err != nil {
		return err
	}
	machine := st.secure.machine
	err = kept.Messages(0, store.Answering, func(_ store.ReleaseKey, envelope []byte) error {
		_, _, err := machine.AddKeys(envelope)
		return err
	})
	if err != nil {
		return err
	}
	for ask := range st.open {
		if err := s.readSteps(st, kept, kept.PlanOf(ask)); err != nil {
			return err
		}
		if err := s.readMessages(st, kept, ask); err != nil {
			return err
		}
	}
	return nil
}

// readSteps follows the stored entries of the open plan, from the entry with the plan to the
// present step.
func (s *Study) readSteps(st *state, kept store.Study, from uint64) error {
	chain := after(st.chain, kept, from-1)
	for n := from; n <= kept.Items(); n++ {
		var body []byte
		if n > from { // the body of the plan may be long, and is not needed here
			var err error
			if _, body, err = kept.Item(n); err != nil {
				return err
			}
		}
		next, e, err := followStored(chain, kept, n)
		if err != nil {
			return err
		}
		if err := st.secure.follow(s, e, body); err != nil {
			return fmt.Errorf("entry %d of the transcript: %w", n, err)
		}
		chain = next
	}
	return nil
}

// readMessages reads the stored messages for the open plan's present step, and adds them to the
// state of the secure sums.
func (s *Study) readMessages(st *state, kept store.Study, ask uint64) error {
	machine, q := st.secure.machine, st.open[ask]
	step := map[sums.Step]store.Step{sums.Dealing: store.Answering, sums.Confirming: store.Confirming, sums.Sharing: store.Sharing}[machine.Step()]
	err := kept.Messages(ask, store.Answering, func(k store.ReleaseKey, envelope []byte) error {
		q.taken[identity.Name(k.Client)] = bytes.Clone(envelope)
		return nil
	})
	if err != nil {
		return err
	}
	return kept.Messages(ask, step, func(k store.ReleaseKey, envelope []byte) error {
		switch step {
		case store.Answering:
			r, err := machine.CheckDeal(envelope)
			if err != nil {
				return err
			}
			return machine.AddDeal(r)
		case store.Confirming:
			_, err := machine.AddConfirmation(envelope)
			return err
		}
		words := make([]byte, st.secure.federation.ShareSize())
		if err := kept.ReadAnswer(k, words, 0); err != nil {
			return err
		}
		_, err := machine.AddShare(bytes.Clone(envelope), words)
		return err
	})
}

// step names the messages that the open plan is waiting for, such as "deals". Without secure
// aggregation it returns "".
func (x *secure) step() string {
	if x == nil {
		return ""
	}
	return map[sums.Step]string{sums.Dealing: "deals", sums.Confirming: "confirmations", sums.Sharing: "shares"}[x.machine.Step()]
}

// keyed reports whether enough clients to open a sum have sent their keys.
func (x *secure) keyed() bool { return x.machine.Keyed() >= x.federation.Fewest() }

// waits describes the messages that the present step of secure aggregation is waiting for. If it is
// not waiting for any, waits returns other.
func (x *secure) waits(other string) string {
	if x == nil {
		return other
	}
	f := x.federation
	needed := f.Fewest() - (f.Clients() - len(x.machine.Missing()))
	switch {
	case x.machine.Step() == sums.Idle && !x.keyed():
		return fmt.Sprintf("the keys of %d clients", f.Fewest()-x.machine.Keyed())
	case x.machine.Step() == sums.Dealing:
	case needed == 1:
		return "1 " + strings.TrimSuffix(x.step(), "s")
	case needed > 1:
		return fmt.Sprintf("%d %s", needed, x.step())
	}
	return other
}

// waiting returns the names of the clients that an open plan is waiting for.
func (b *batch) waiting(ask uint64) []string {
	if b.state.secure == nil {
		return as[string](b.state.server.Waiting(int(ask)))
	}
	return as[string](b.awaited())
}
