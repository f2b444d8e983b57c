package coordinator

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/transcript"
	"fedpvi/internal/audit"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
)

// advance does everything that is due: it begins the study, begins and ends rounds, and ends or
// aborts the study. It returns an error if this machine fails, for example to write.
func (b *batch) advance() error {
	st := b.state
	if !st.begun() && !st.over() && b.complete() {
		if err := b.begin(); err != nil {
			return err
		}
	}
	if st.begun() && !st.over() {
		if err := b.play(); err != nil {
			return err
		}
	}
	return b.keepStage()
}

// complete reports whether the study can begin: at least one client has consented, and every
// invited client has consented or left.
func (b *batch) complete() bool {
	for _, t := range b.state.tickets {
		c := b.state.clients[t.Name]
		if c == nil || !c.approved && !c.left {
			return false
		}
	}
	return len(b.state.members()) > 0
}

// begin fixes the roster and signs the first entry. If the study cannot run with the clients that
// have consented, begin records the reason, and waits for more clients.
func (b *batch) begin() error {
	s, st := b.study, b.state
	names := st.members()
	if slices.Equal(names, st.blocked.clients) {
		return nil
	}
	server, err := session.NewServer(s.document, as[pvi.ClientID](names))
	if err != nil {
		b.block(names, err)
		return nil
	}
	members, err := s.roster(st, names)
	if err != nil {
		return err
	}
	if err := s.loadOpener(st, server); err != nil {
		return err
	}
	envelope, text, err := st.chain.Open(st.who, members, server.Digest(), server.Model(), server.Commits(), server.Fetches())
	if err != nil {
		return err
	}
	chain, e, err := st.chain.Follow(envelope, text)
	if err != nil {
		return err
	}
	secure, err := s.newSecure(chain, server)
	if err != nil {
		b.block(names, err)
		return nil
	}
	body, err := s.hub.store.Prepare(s.hash, bytesOf(text))
	if err != nil {
		return err
	}
	b.append(chain, e, envelope, body)
	st.secure = secure
	if s.secure() {
		b.write(func(kept store.Study) error { return kept.Shares() })
	}
	st.server, st.since, b.moved = server, b.now, true
	st.server.Watch()
	b.then(func() {
		s.events.Began()
		s.log.Info("the study has begun", "clients", len(names))
		s.audit(audit.Study, slog.LevelInfo, slog.String("state", "began"), slog.Any("clients", names))
	})
	return nil
}

func (b *batch) block(names []identity.Name, why error) {
	b.state.blocked = blocked{names, why.Error()}
	b.then(func() { b.study.log.Warn("the study cannot begin", "clients", len(names), "reason", why) })
}

// loadOpener reads the key that decrypts answers, and destroys earlier ones. With secure
// aggregation there is no such key.
func (s *Study) loadOpener(st *state, server *session.Server) error {
	if s.secure() {
		return nil
	}
	path, key, err := s.hub.files.sealingOf(s.hash, st.own)
	if err != nil {
		return err
	}
	s.opener.use(key, server.MaxRelease())
	if _, waits := st.changes.Waiting[s.name()]; waits {
		return nil // the key in use is newer, because it belongs to a later version of the roster
	}
	return s.hub.files.destroySealing(s.hash, path)
}

func (s *Study) roster(st *state, names []identity.Name) (*roster.Roster, error) {
	entries := []roster.Entry{st.own}
	for _, name := range names {
		entries = append(entries, st.clients[name].entry)
	}
	return roster.New(s.hash, entries)
}

// play begins and ends rounds until the study is over or must wait.
func (b *batch) play() error {
	st := b.state
	staying, least := len(st.staying()), b.study.fewest(st)
	if staying < least {
		return b.abort(b.study.name(), fmt.Sprintf("%d clients are left, and the study opens no sum for fewer than %d", staying, least))
	}
	for !st.over() {
		for _, ask := range slices.Sorted(maps.Keys(st.open)) {
			if err := b.closeIfDue(ask); err != nil || st.over() {
				return err
			}
		}
		if st.server.Done() {
			return b.end()
		}
		if wait, err := b.version(); err != nil || wait {
			return err
		}
		if why := b.held(); why != "" {
			return b.hold(why)
		}
		if dealers := b.dealers(); dealers < least {
			return b.abort(b.study.name(), fmt.Sprintf("only the deals of %d clients can be decrypted by the others, and the study opens no sum for fewer than %d", dealers, least))
		}
		opened, err := b.open()
		if err != nil || !opened {
			return err
		}
	}
	return nil
}

// hold stops a study after too many rejected rounds in a row. If the study can do without one of
// its clients, it waits for an order from the operator. Otherwise it is aborted.
func (b *batch) hold(why string) error {
	if b.study.excludable(b.state) != nil {
		return b.abort(b.study.name(), why)
	}
	if b.moved {
		b.then(func() {
			b.study.log.Error("the study waits for an order: run coordinator exclude CLIENT, or coordinator abort", "reason", why)
		})
	}
	return nil
}

// fewest returns U_min, the minimum number of answers in a round. This is min_clients in the study
// document. If that is not set, all members must answer.
func (s *Study) fewest(st *state) int {
	if n := s.document.Federation.MinClients; n > 0 {
		return n
	}
	return len(st.members())
}

// closeIfDue ends a round if its deadline has passed or if no more answers can arrive.
func (b *batch) closeIfDue(ask uint64) error {
	if b.state.secure != nil {
		return b.stepIfDue(ask)
	}
	st, q := b.state, b.state.open[ask]
	if len(q.taken) < len(q.asked) && st.gone == 0 && b.now.Before(q.deadline) {
		return nil
	}
	missing := slices.DeleteFunc(st.server.Waiting(int(ask)), func(id pvi.ClientID) bool {
		return st.clients[identity.Name(id)].left
	})
	if len(missing) > 0 && b.now.Before(q.deadline) {
		return nil
	}
	outcome, err := st.server.Close(int(ask))
	if err != nil {
		return b.fail(err)
	}
	b.then(func() {
		b.study.log.Info("a round was closed without the answers of some clients", "ask", ask, "without", missing)
	})
	return b.close(outcome)
}

// close ends a plan. It signs the outcome and removes the bodies of the answers.
func (b *batch) close(outcome *session.Entry) error {
	s, st, ask := b.study, b.state, uint64(outcome.Plan)
	q := st.open[ask]
	delete(st.open, ask)
	body, fetched, err := q.answered(st, outcome)
	if err != nil {
		return err
	}
	if err := b.signEntry(transcript.Kind(outcome.Kind), ask, st.server.Model(), bytesOf(body)); err != nil {
		return err
	}
	if err := st.secure.follow(s, b.lastEntry, nil); err != nil {
		return err
	}
	if s.hub.store.IsLong(int64(len(outcome.Body))) {
		debug.FreeOSMemory() // free the memory of this plan's sum and outcome before computing the next plan
	}
	b.write(func(kept store.Study) error {
		err := kept.CloseAsk(ask)
		if !fetched {
			err = errors.Join(err, kept.DropPublished(ask))
		}
		return err
	})
	b.then(q.discard(s))
	st.since, b.moved = b.now, true
	round, ok := st.server.Last(outcome.Plan)
	if ok {
		st.last = &round
	}
	b.then(func() {
		s.events.Closed(len(q.taken) == len(q.asked))
		s.log.Info("round closed", "ask", ask, "answers", len(q.taken))
		if ok {
			s.logRound(ask, round)
		}
	})
	return nil
}

// answered returns the outcome's body as it stands in the transcript. With commitments, the
// envelopes of the answers in the sum come after it. fetched tells whether clients fetch the
// releases in these answers one by one.
func (q *question) answered(st *state, outcome *session.Entry) (body []byte, fetched bool, err error) {
	if !st.chain.Commits() {
		return outcome.Body, false, nil
	}
	counted, err := st.server.Counted(*outcome)
	if err != nil {
		return nil, false, err
	}
	a := transcript.Answered{Outcome: outcome.Body}
	for _, id := range counted.Clients {
		a.Envelopes = append(a.Envelopes, q.taken[identity.Name(id)])
	}
	return a.Bytes(), counted.Fetched(), nil
}

// discard forgets all answers that were not accepted. It returns a function that removes their
// files. Later pieces are refused, so that the clients must offer these answers again.
func (q *question) discard(s *Study) func() {
	offers := q.offers
	q.offers = map[identity.Name]*offer{}
	return func() {
		for _, o := range offers {
			s.discard(o)
		}
	}
}

// open signs the next plan if it is due and enough clients are present.
func (b *batch) open() (opened bool, err error) {
	s, st := b.study, b.state
	if !b.quorum() {
		return false, nil
	}
	plan, ok := st.server.Next()
	if !ok {
		return false, nil
	}
	ask, model := uint64(plan.Plan), st.server.Model()
	if err := b.signEntry(transcript.Kind(plan.Kind), ask, model, bytesOf(plan.Body)); err != nil {
		return false, err
	}
	if err := st.secure.follow(s, b.lastEntry, nil); err != nil {
		return false, err
	}
	q := newQuestion(model, b.now, s.roundDeadline())
	q.asked = st.server.Waiting(plan.Plan)
	st.open[ask] = q
	st.since, b.moved = b.now, true
	_, all := st.server.Plans()
	b.then(func() {
		s.events.Opened()
		s.log.Info("round opened", "ask", ask, "of", all, "kind", string(plan.Kind))
	})
	return true, nil
}

// quorum reports whether enough clients are present for a round that is not void. With secure
// aggregation, enough clients must also have sent their keys.
func (b *batch) quorum() bool {
	present := 0
	for _, name := range b.state.staying() {
		if b.study.presence.present(name) {
			present++
		}
	}
	if x := b.state.secure; x != nil && !x.keyed() {
		return false
	}
	return present >= max(1, b.state.server.Fewest())
}

// end signs the last entry of the transcript. It has the posterior and the receipts of all answers.
func (b *batch) end() error {
	s, st := b.study, b.state
	var size counter
	if err := st.server.WriteResult(&size); err != nil {
		return b.fail(err)
	}
	receipts, err := b.allReceipts()
	if err != nil {
		return err
	}
	closing := func(w io.Writer) error {
		return transcript.WriteClosing(w, int(size), st.server.WriteResult, receipts)
	}
	if err := b.signEntry(transcript.End, 0, st.server.Model(), closing); err != nil {
		return err
	}
	b.dropKeys()
	b.then(func() {
		s.events.Ended()
		s.log.Info("the study is over", "answers", len(receipts))
		s.audit(audit.Study, slog.LevelInfo, slog.String("state", "ended"))
	})
	return nil
}

// A counter is a writer that counts the bytes written to it.
type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// fail logs err and aborts the study, which cannot continue.
func (b *batch) fail(err error) error {
	b.study.log.Error("the study cannot continue and is aborted", "error", err)
	return b.abort(b.study.name(), "the coordinator cannot continue this study; its log has the reason")
}

// abort ends the study early, for all clients. party is the one that aborts it.
func (b *batch) abort(party identity.Name, why string) error {
	s, st := b.study, b.state
	if _, err := transcript.Reason(why); err != nil {
		return err
	}
	a := transcript.Abortion{By: party, Reason: why}
	if st.begun() {
		if err := b.signEntry(transcript.Abort, 0, st.server.Model(), bytesOf(a.Bytes())); err != nil {
			return err
		}
	} else {
		b.write(func(kept store.Study) error { return kept.PutNote(noteAborted, &a) })
	}
	for ask, q := range st.open {
		b.write(func(kept store.Study) error { return errors.Join(kept.DropPublished(ask), kept.CloseAsk(ask)) })
		b.then(q.discard(s))
	}
	b.dropKeys()
	clear(st.open)
	st.aborted, b.shows = &a, true
	b.then(func() {
		s.events.Aborted()
		s.log.Warn("the study was aborted", "by", party, "reason", why)
		s.audit(audit.Study, slog.LevelWarn, slog.String("state", "aborted"), slog.String("by", string(party)), slog.String("reason", why))
	})
	return nil
}

// keepStage stores the study's state machine if this batch has changed it. New answers to a plan
// that is still open are not a reason to store it: after a restart, the coordinator reads them from
// the store and computes their sum again.
func (b *batch) keepStage() error {
	if !b.moved {
		return nil
	}
	state, err := b.state.server.Encode()
	if err != nil {
		return err
	}
	value, err := b.study.hub.store.Prepare(b.study.hash, state.Write)
	if err != nil {
		return err
	}
	b.write(func(kept store.Study) error { return kept.PutState(value) })
	return nil
}

func (s *Study) name() identity.Name { return identity.Name(s.fixed.Name) }

// refusedBy reports whether err is a refusal by the study's state machine. If so, it returns the
// reason.
func refusedBy(err error) (reason string, ok bool) {
	var r *pvi.Refused
	if errors.As(err, &r) {
		return r.Reason, true
	}
	return "", false
}
