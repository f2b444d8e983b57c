package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
	"fedpvi/pvi/study"
)

// A Report is the summary of a verified bundle.
type Report struct {
	Study       string               `json:"study"`
	Digest      string               `json:"digest"`
	Coordinator identity.Fingerprint `json:"coordinator"`
	Clients     []identity.Name      `json:"clients"`
	Entries     uint64               `json:"entries"`
	Questions   int                  `json:"questions"` // number of plans that have an outcome
	Answers     int                  `json:"answers"`
	// number of published releases that carry the signature of their client
	Signed int `json:"signed_releases"`
	// "end" if the study has a posterior, "abort" if it was aborted, "none" if it is still running
	Ending string          `json:"ending"`
	Result *session.Result `json:"-"`
}

// A Fault is an error in a bundle, with the place where it was found.
type Fault struct {
	Where string
	Err   error
}

func (f *Fault) Error() string { return f.Where + ": " + f.Err.Error() }

// Unwrap returns the error without its place.
func (f *Fault) Unwrap() error { return f.Err }

// A verifier recomputes a study from its bundle.
type verifier struct {
	in       *reader
	parts    parts
	document *study.Study
	chain    transcript.Chain
	server   *session.Server
	sums     *sums.Progress           // progress of secure aggregation; nil if the study does not use it
	models   map[uint64]signed.Hash   // hash of the λ in each open plan, keyed by plan number
	excluded map[identity.Name]uint64 // last plan that may include the answers of an excluded or revoked client
	revoked  int                      // number of clients whose keys were revoked
	receipts []transcript.Receipt     // receipts of the answers verified so far
	entries  []transcript.Entry
	report   Report

	tracing bool
	rounds  []session.TracedRound
}

// Verify reads a bundle and checks all its contents:
//
//   - all signatures, and the hash chain of the transcript's entries
//   - that all plans and the posterior follow from the published sums
//   - that every client consented, and signed each of its answers
//   - that the client has signed each published release, in a study with commitments
//   - that the ledger entry numbers of each client increase from answer to answer
//
// A [*Fault] describes an error and its place. The coordinator's key is read from the bundle
// itself, so callers should compare Report.Coordinator with the fingerprint in an invitation.
func Verify(r io.Reader) (*Report, error) {
	v := newVerifier(r)
	if err := v.verify(); err != nil {
		return nil, err
	}
	return &v.report, nil
}

func newVerifier(r io.Reader) *verifier {
	return &verifier{in: newReader(r), models: map[uint64]signed.Hash{}, excluded: map[identity.Name]uint64{}}
}

// verify does the work of [Verify]. Afterwards, v has the verified contents.
func (v *verifier) verify() error {
	v.parts = v.in.parts()
	if v.in.err != nil {
		return &Fault{"the file", v.in.err}
	}
	var err error
	if v.document, err = study.Parse("the study document", v.parts.document); err != nil {
		return &Fault{"the study document", err}
	}
	v.report = Report{Study: v.document.Name, Digest: v.document.Digest.String(), Ending: "none", Answers: len(v.parts.answers)}
	for n := uint64(1); n <= v.parts.entries; n++ {
		envelope, body := v.in.bytes(maxEnvelope), v.in.bytes(transcript.MaxBody)
		if v.in.err != nil {
			return &Fault{fmt.Sprintf("entry %d", n), v.in.err}
		}
		if err := v.entry(envelope, body); err != nil {
			return &Fault{fmt.Sprintf("entry %d", n), err}
		}
	}
	if err := v.in.close(); err != nil {
		return &Fault{"the end of the file", err}
	}
	if v.parts.entries == 0 {
		return &Fault{"the transcript", errors.New("it is empty: the study had not begun, and the bundle contains no signature")}
	}
	if err := v.uncounted(); err != nil {
		return &Fault{"the answers", err}
	}
	v.report.Entries = v.parts.entries
	return nil
}

func (v *verifier) entry(envelope, body []byte) error {
	if v.chain.Position().Number == 0 {
		if err := v.begin(body); err != nil {
			return err
		}
	}
	chain, e, err := v.chain.Follow(envelope, body)
	if err != nil {
		return err
	}
	v.chain, v.entries = chain, append(v.entries, e)
	if e.Kind.Step() && v.sums == nil {
		return transcript.ErrKind
	}
	if v.sums != nil && e.Ask > 0 {
		if e.Kind.Outcome() {
			err = v.opened(e, body)
		}
		if err == nil {
			err = v.sums.Follow(e, body)
		}
		if err != nil {
			return fmt.Errorf("plan %d: %w", e.Ask, err)
		}
	}
	switch {
	case e.Kind == transcript.Roster && e.Number == 1:
		return v.roster(e)
	case e.Kind == transcript.Roster:
		err = v.version()
	case e.Kind.Plan():
		err = v.plan(e, body)
	case e.Kind.Outcome():
		err = v.outcome(e, body)
	case e.Kind == transcript.Cut:
		err = v.cut(e)
	case e.Kind == transcript.Exclude:
		err = v.exclude(body)
	case e.Kind == transcript.End:
		err = v.end(body)
	case e.Kind == transcript.Abort:
		v.report.Ending = string(transcript.Abort)
		_, err = transcript.ParseAbortion(body)
	}
	if err == nil && e.Model != signed.Hash(v.server.Model()) {
		err = errors.New("its signature does not refer to the model that follows from the entries before it")
	}
	return err
}

// begin reads the coordinator's key from the first entry. All entries must be signed with this key
// until an entry replaces it.
func (v *verifier) begin(body []byte) error {
	members, err := roster.Parse(body, signed.Hash(v.document.Digest))
	if err != nil {
		return err
	}
	key := members.Coordinator().Key
	v.report.Coordinator = key.Fingerprint()
	v.chain = transcript.Begin(signed.Hash(v.document.Digest), key)
	return nil
}

// roster checks that all clients in the roster have consented. It creates the server that
// recomputes the study.
func (v *verifier) roster(e transcript.Entry) error {
	for _, p := range v.chain.Members().Entries {
		if p.Role != identity.Client {
			continue
		}
		if _, err := transcript.VerifyApproval(v.parts.consents[string(p.Name)], p.Key, signed.Hash(v.document.Digest), v.report.Coordinator); err != nil {
			return fmt.Errorf("the consent of %s: %w", p.Name, err)
		}
		v.report.Clients = append(v.report.Clients, p.Name)
	}
	var err error
	if v.server, err = session.NewServer(v.document, as[pvi.ClientID](v.report.Clients)); err != nil {
		return err
	}
	if v.chain.Commits() && !v.server.Commits() {
		return errors.New("the coordinator states that clients sign their releases, which this study does not publish")
	}
	if v.chain.Protocol() != signed.Hash(v.server.Digest()) || e.Model != signed.Hash(v.server.Model()) {
		return errors.New("the coordinator derived other rules from the study than this program")
	}
	if v.tracing {
		v.server.Watch()
	}
	return v.pair()
}

// pair begins the secure sums under the present roster, if the study uses secure aggregation.
func (v *verifier) pair() error {
	if v.document.Federation.Aggregation != study.Secure {
		return nil
	}
	f, err := sums.New(v.chain, v.server.Fewest(), v.server.VectorSize())
	if err != nil {
		return err
	}
	v.sums = sums.NewProgress(f)
	return nil
}

// version checks an entry that changes the roster. There must be no open plan. The chain has
// already verified the signatures.
func (v *verifier) version() error {
	if len(v.models) > 0 {
		return errors.New("the roster changes while a plan is open")
	}
	asked, _ := v.server.Plans()
	revoked := v.chain.Members().Revoked
	for _, name := range revoked {
		if _, out := v.excluded[name]; !out {
			v.excluded[name] = uint64(asked)
		}
	}
	if len(revoked) > v.revoked {
		v.revoked = len(revoked)
		v.server.Resume()
	}
	return v.pair()
}

func (v *verifier) cut(e transcript.Entry) error {
	for _, d := range v.sums.Cut() {
		name := v.sums.Name(d.Place)
		if err := v.mayAnswer(e.Ask, name); err != nil {
			return err
		}
		r, err := v.deal(e.Ask, name)
		if err == nil && r.Salt != d.Salt {
			err = errors.New("its envelope is not the one that the cut names")
		}
		if err != nil {
			return fmt.Errorf("the deal of %s: %w", name, err)
		}
	}
	return nil
}

// deal verifies the envelope of a client's deal for the open plan.
func (v *verifier) deal(ask uint64, client identity.Name) (sums.Received, error) {
	envelope, ok := v.parts.answers[answerKey{ask, string(client)}]
	if !ok {
		return sums.Received{}, errors.New("its envelope is not in the bundle")
	}
	r, err := v.sums.VerifyDeal(envelope)
	if err == nil && v.sums.Name(r.Place) != client {
		err = signed.ErrSender
	}
	if err == nil {
		v.receipts = append(v.receipts, transcript.ReceiptOf(client, r.Header, r.Hash))
	}
	return r, err
}

// opened checks that an outcome has the same sum as the opening by the clients. An outcome without
// a sum passes.
func (v *verifier) opened(e transcript.Entry, body []byte) error {
	stated, err := v.server.SumOf(session.Entry{Kind: session.Kind(e.Kind), Plan: int(e.Ask), Body: body})
	if err != nil || stated.Elements == nil {
		return err
	}
	names, elements, ok := v.sums.Sum()
	if !ok || !stated.Equal(session.Sum{Participants: as[pvi.ClientID](names), Elements: elements}) {
		return errors.New("the sum in the outcome is not the one that the clients have opened")
	}
	return nil
}

// exclude applies an entry that excludes a client. Plans that are already open may still count the
// client's answers, but later plans must not.
func (v *verifier) exclude(body []byte) error {
	x, err := transcript.ParseAbortion(body)
	if err != nil {
		return err
	}
	if e, ok := v.chain.Members().Named(x.By); !ok || e.Role != identity.Client {
		return fmt.Errorf("%s is no client of the study", x.By)
	}
	asked, _ := v.server.Plans()
	v.excluded[x.By] = uint64(asked)
	v.server.Resume()
	return nil
}

// mayAnswer returns an error if the client was excluded or revoked before plan number ask.
func (v *verifier) mayAnswer(ask uint64, name identity.Name) error {
	if last, out := v.excluded[name]; out && ask > last {
		return fmt.Errorf("plan %d counts %s, which was excluded or revoked before", ask, name)
	}
	return nil
}

func (v *verifier) plan(e transcript.Entry, body []byte) error {
	plan, ok := v.server.Next()
	if !ok || string(plan.Kind) != string(e.Kind) || uint64(plan.Plan) != e.Ask || !bytes.Equal(plan.Body, body) {
		return errors.New("the plan is not the one that follows from the entries before it")
	}
	v.models[e.Ask] = e.Model
	return nil
}

// outcome recomputes the study up to an outcome, and checks the envelopes of the answers in it.
func (v *verifier) outcome(e transcript.Entry, body []byte) error {
	body, err := v.answered(e, body)
	if err != nil {
		return err
	}
	participants, err := v.server.Replay(session.Entry{Kind: session.Kind(e.Kind), Plan: int(e.Ask), Body: body})
	if err != nil {
		return err
	}
	if v.sums != nil {
		participants = nil // with secure sums, cut has already checked the envelopes of the deals
	}
	for _, id := range participants {
		if err := v.mayAnswer(e.Ask, identity.Name(id)); err != nil {
			return err
		}
		if err := v.answer(e.Ask, identity.Name(id)); err != nil {
			return fmt.Errorf("the answer of %s: %w", id, err)
		}
	}
	if r, ok := v.server.Traced(int(e.Ask)); ok && v.tracing {
		v.rounds = append(v.rounds, r)
	}
	delete(v.models, e.Ask)
	v.report.Questions++
	return nil
}

// answered checks the clients' signatures in the body of an outcome, and returns the rest of the
// body. Each client must have signed the hash of its release in the envelope of its answer, and the
// bundle must have the same envelope. In a study without commitments, the body is returned
// unchanged.
func (v *verifier) answered(e transcript.Entry, body []byte) ([]byte, error) {
	if !v.chain.Commits() {
		return body, nil
	}
	a, err := transcript.ParseAnswered(body)
	if err != nil {
		return nil, err
	}
	counted, err := v.server.Counted(session.Entry{Kind: session.Kind(e.Kind), Plan: int(e.Ask), Body: a.Outcome})
	if err != nil {
		return nil, err
	}
	names := as[identity.Name](counted.Clients)
	releases, err := v.chain.VerifyAnswers(e.Ask, v.models[e.Ask], names, counted.Commitments, a.Envelopes)
	if err != nil {
		return nil, err
	}
	if v.chain.Fetches() && counted.Fetched() {
		if err := counted.AddUp(transcript.Commitments(releases), v.fetch); err != nil {
			return nil, err
		}
		v.report.Signed += len(releases)
	}
	for i, name := range names {
		if !bytes.Equal(v.parts.answers[answerKey{e.Ask, string(name)}], a.Envelopes[i]) {
			return nil, fmt.Errorf("the answer of %s for plan %d has another envelope in the outcome", name, e.Ask)
		}
	}
	v.report.Signed += len(counted.Commitments)
	return a.Outcome, nil
}

func (v *verifier) fetch(_ pvi.ClientID, _ pvi.Digest, size int64, w io.Writer) error {
	return v.in.copy(size, w)
}

func as[T, S ~string](names []S) []T {
	out := make([]T, len(names))
	for i, name := range names {
		out[i] = T(name)
	}
	return out
}

func (v *verifier) answer(ask uint64, client identity.Name) error {
	key := answerKey{ask, string(client)}
	envelope, ok := v.parts.answers[key]
	if !ok {
		return errors.New("its envelope is not in the bundle")
	}
	p, ok := v.chain.Members().Named(client)
	if !ok || p.Role != identity.Client {
		return errors.New("its sender is not a client of the study")
	}
	r, err := v.chain.VerifyRelease(envelope, p.Key, ask, v.models[ask])
	if err != nil {
		return err
	}
	v.receipts = append(v.receipts, transcript.ReceiptOf(client, r.Header, r.Hash))
	return nil
}

// end checks the posterior and the receipts in the last entry.
func (v *verifier) end(body []byte) error {
	v.report.Ending = string(transcript.End)
	closing, err := transcript.ParseClosing(body)
	if err != nil {
		return err
	}
	result, err := v.server.Result()
	if err != nil {
		return err
	}
	if err := same(result, closing.Result); err != nil {
		return err
	}
	slices.SortFunc(v.receipts, transcript.Receipt.Compare)
	if !slices.Equal(v.receipts, closing.Receipts) {
		return errors.New("the receipts do not match the answers in the sums")
	}
	v.report.Result = result
	return nil
}

// uncounted checks the envelopes of answers to plans that have no outcome. It also checks that each
// client's ledger entry numbers increase.
func (v *verifier) uncounted() error {
	counted := map[answerKey]bool{}
	for _, r := range v.receipts {
		counted[answerKey{r.Ask, string(r.Client)}] = true
	}
	for key := range v.parts.answers {
		if counted[key] {
			continue
		}
		if _, open := v.models[key.ask]; !open {
			return fmt.Errorf("plan %d has the envelope of an answer that is in no outcome", key.ask)
		}
		var err error
		if v.sums != nil {
			_, err = v.deal(key.ask, identity.Name(key.client))
		} else {
			err = v.answer(key.ask, identity.Name(key.client))
		}
		if err != nil {
			return fmt.Errorf("the answer of %s for plan %d: %w", key.client, key.ask, err)
		}
	}
	slices.SortFunc(v.receipts, transcript.Receipt.Compare)
	return ledgersGrow(v.receipts)
}

// ledgersGrow checks that each client's ledger entry numbers increase from answer to answer.
func ledgersGrow(receipts []transcript.Receipt) error {
	before := map[identity.Name]uint64{}
	for _, r := range receipts {
		if r.LedgerSeq <= before[r.Client] {
			return fmt.Errorf("the ledger of %s did not grow with its answer for plan %d", r.Client, r.Ask)
		}
		before[r.Client] = r.LedgerSeq
	}
	return nil
}
