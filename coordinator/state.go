package coordinator

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/invitation"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi"
	"fedpvi/pvi/session"
)

// A state is the mutable state of a study. Only the study's loop uses it. After each transaction,
// it is the same as the state in the store.
type state struct {
	tickets []invitation.Ticket
	clients map[identity.Name]*client
	keys    keyring // public keys of the clients and the coordinator
	chain   transcript.Chain
	server  *session.Server // state machine of the study; nil before the study begins
	open    map[uint64]*question
	aborted *transcript.Abortion // why the study was aborted; nil if it was not
	since   time.Time            // when the study last made progress
	blocked blocked
	last    *session.Round // result of the last round since the coordinator started, or nil

	secure *secure // nil before the study begins, and without secure aggregation

	roster []identity.Name // names of the clients in the roster, sorted; nil until the method members computes them
	gone   int             // number of clients that have left or were excluded

	excluded map[identity.Name]string // why each client was excluded, keyed by client

	changes keyChanges
	own     roster.Entry       // the coordinator's present roster entry
	who     *identity.Identity // identity in own
	edition int                // number of changes to the members since the state was read; shows whether a view is up to date
}

// A client is the state of a client that has joined a study.
type client struct {
	entry roster.Entry // present roster entry, whose keys verify the client's messages
	// former is the client's identity before its last change, as of the previous version of the
	// roster. It is zero if the identity has never changed.
	former     identity.Fingerprint
	entryBytes []byte
	pin        identity.Pin // pin (hash) of the client's newest TLS key, which its connections must use
	approved   bool
	left       bool
	revoked    bool   // whether the client's keys were revoked; left is then true as well
	reason     string // the client's reason for leaving
	last       []byte // envelope of the client's last message, whose header has a ledger entry number
	lastSeq    uint64
	answers    int // number of accepted answers
}

// A question is a plan that has no outcome yet.
type question struct {
	model    Hash
	asked    []pvi.ClientID // clients that the plan asks, sorted by name
	opened   time.Time
	deadline time.Time
	offers   map[identity.Name]*offer
	taken    map[identity.Name][]byte // envelope of each accepted answer, keyed by client
}

// An offer collects the body of a message. The envelope has already been checked.
type offer struct {
	key      store.ReleaseKey
	envelope []byte
	release  transcript.Release
	deal     sums.Received // verified envelope of a deal; only with secure aggregation
	have     int64
	stored   bool // whether the envelope is in the store
	refused  bool // whether the answer was refused after its envelope was accepted

	writer *store.Writer // writer of a long body that is arriving
	value  *store.Value  // long body that has arrived completely
}

// blocked remembers why the study cannot begin. The reason remains valid until the set of clients
// changes.
type blocked struct {
	clients []identity.Name
	why     string
}

// begun reports whether the study has begun. From then on, the roster is fixed.
func (st *state) begun() bool { return st.server != nil }

// over reports whether the study has ended or was aborted.
func (st *state) over() bool { return st.aborted != nil || st.chain.Position().Over }

// inRoster reports whether a client is in the roster. The roster is empty before the study begins.
func (st *state) inRoster(name identity.Name) bool {
	if st.chain.Members() == nil {
		return false
	}
	e, ok := st.chain.Members().Named(name)
	return ok && e.Role == identity.Client
}

// members returns the sorted names of the clients in the roster. Before the study begins, it
// returns those that have consented and not left.
func (st *state) members() []identity.Name {
	if r := st.chain.Members(); r != nil {
		if st.roster == nil {
			for _, e := range r.Entries {
				if e.Role == identity.Client {
					st.roster = append(st.roster, e.Name)
				}
			}
		}
		return slices.Clone(st.roster) // the roster is sorted
	}
	var names []identity.Name
	for name, c := range st.clients {
		if c.approved && !c.left {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// staying returns the members that have not left.
func (st *state) staying() []identity.Name {
	if st.gone == 0 {
		return st.members()
	}
	return slices.DeleteFunc(st.members(), func(n identity.Name) bool { return st.clients[n].left })
}

func (s *Study) read(kept store.Study) (*state, error) {
	st := &state{
		clients: map[identity.Name]*client{}, open: map[uint64]*question{},
		keys: keyring{}, since: s.hub.options.Now(),
	}
	for _, part := range []func(*state, store.Study) error{s.readMembers, s.readTickets, s.readClients, s.readExcluded, s.readChain, s.readStage, s.readSecure, s.readReleases, s.readOffers} {
		if err := part(st, kept); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
	}
	return st, nil
}

func (s *Study) readTickets(st *state, kept store.Study) error {
	if err := kept.Note(noteSince, &st.since); err != nil {
		return err
	}
	return kept.Tickets(func(_ string, decode func(any) error) error {
		var t invitation.Ticket
		if err := decode(&t); err != nil {
			return err
		}
		st.tickets = append(st.tickets, t)
		return nil
	})
}

func (s *Study) readClients(st *state, kept store.Study) error {
	parts := map[store.Part]map[string][]byte{}
	for _, p := range []store.Part{store.Entry, store.Approval, store.Leave, store.Last} {
		var err error
		if parts[p], err = kept.All(p); err != nil {
			return err
		}
	}
	for name, b := range parts[store.Entry] {
		e, err := roster.ParseEntry(b, s.hash)
		if err != nil {
			return fmt.Errorf("entry of %s in the store: %w", name, err)
		}
		c := &client{entry: e, entryBytes: b, pin: e.Pin, last: parts[store.Last][name]}
		c.approved = parts[store.Approval][name] != nil
		if c.last != nil {
			h, err := signed.Claims(c.last)
			if err != nil {
				return err
			}
			c.lastSeq = h.LedgerSeq
		}
		if leave := parts[store.Leave][name]; leave != nil {
			c.left, st.gone = true, st.gone+1
			if c.reason, err = transcript.VerifyLeave(leave, e.Key, s.hash); err != nil {
				return err
			}
		}
		st.clients[identity.Name(name)] = c
		st.keys.add(e)
	}
	return s.readWaiting(st)
}

// readChain restores the position in the transcript. It checks the last entry and those that have
// versions of the roster. All others were checked when they were written.
func (s *Study) readChain(st *state, kept store.Study) error {
	if err := kept.Note(noteAborted, &st.aborted); err != nil {
		return err
	}
	items := kept.Items()
	st.chain = transcript.Begin(s.hash, st.own.Key)
	if items == 0 {
		return nil
	}
	if err := s.readVersions(st, kept); err != nil || st.chain.Position().Number == items {
		return err
	}
	chain, e, err := followStored(after(st.chain, kept, items-1), kept, items)
	if err != nil {
		return err
	}
	st.chain = chain
	if e.Kind == transcript.Abort {
		_, body, err := kept.Item(items)
		if err != nil {
			return err
		}
		a, err := transcript.ParseAbortion(body)
		st.aborted = &a
		return err
	}
	return nil
}

// after returns the chain after entry n of the stored transcript. It uses the roster of chain.
func after(chain transcript.Chain, kept store.Study, n uint64) transcript.Chain {
	envelope, _ := kept.Envelope(n)
	return chain.At(transcript.Position{Number: n, Head: transcript.BodyOf(envelope).Hash})
}

// followStored follows entry n of the stored transcript without reading its whole body into memory.
func followStored(chain transcript.Chain, kept store.Study, n uint64) (transcript.Chain, transcript.Entry, error) {
	envelope, size := kept.Envelope(n)
	sum := sha256.New()
	if err := kept.WriteBody(n, sum); err != nil {
		return chain, transcript.Entry{}, err
	}
	chain, e, err := chain.FollowHashed(envelope, transcript.Body{Size: uint64(size), Hash: Hash(sum.Sum(nil))})
	if err != nil {
		err = fmt.Errorf("entry %d of the transcript: %w", n, err)
	}
	return chain, e, err
}

// readVersions reads the first entry of the transcript and those that changed the roster.
func (s *Study) readVersions(st *state, kept store.Study) error {
	for _, n := range append([]uint64{1}, st.changes.Versions...) {
		envelope, body, err := kept.Item(n)
		if err != nil {
			return err
		}
		if n == 1 {
			members, err := roster.Parse(body, s.hash)
			if err != nil {
				return err
			}
			st.chain = transcript.Begin(s.hash, members.Coordinator().Key)
		} else {
			st.chain = after(st.chain, kept, n-1)
		}
		previous := st.chain.Members()
		if st.chain, _, err = st.chain.Follow(envelope, body); err != nil {
			return fmt.Errorf("entry %d of the transcript: %w", n, err)
		}
		if n > 1 {
			st.readFormer(previous)
		}
	}
	if st.chain.Coordinator() != st.own.Key {
		return errors.New("the coordinator's keys in the store are not those in the roster")
	}
	return nil
}

// readFormer sets former for each client whose identity has changed between the previous and the
// present roster.
func (st *state) readFormer(previous *roster.Roster) {
	for name, c := range st.clients {
		before, had := previous.Named(name)
		now, has := st.chain.Members().Named(name)
		if had && has && before.Key != now.Key {
			c.former = before.Key.Fingerprint()
		}
	}
}

func (s *Study) readStage(st *state, kept store.Study) error {
	b, err := kept.State()
	if err != nil {
		return err
	}
	if b != nil {
		st.server, err = session.RestoreServer(s.document, as[pvi.ClientID](st.members()), b)
	} else if n := st.chain.Position().Number; n > 0 {
		err = fmt.Errorf("the transcript has %d entries, but the state of the phases is missing", n)
	}
	if err != nil || st.server == nil || st.over() {
		return err
	}
	st.server.Watch()
	if err := s.loadOpener(st, st.server); err != nil {
		return err
	}
	now := s.hub.options.Now()
	for _, ask := range st.server.Open() {
		model, _ := st.server.ModelOf(ask)
		q := newQuestion(model, now, s.roundDeadline())
		q.asked = st.server.Waiting(ask)
		st.open[uint64(ask)] = q
	}
	return nil
}

// question returns the open plan with the number ask, or nil. In a study with secure sums, number 0
// stands for the request for the clients' keys.
func (st *state) question(ask uint64) *question {
	if ask == 0 && st.secure != nil {
		return st.secure.keying
	}
	return st.open[ask]
}

func newQuestion(model Hash, now time.Time, deadline time.Duration) *question {
	return &question{
		model: model, opened: now, deadline: now.Add(deadline),
		offers: map[identity.Name]*offer{}, taken: map[identity.Name][]byte{},
	}
}

// readReleases adds the accepted answers to open plans to the sums, because the saved state does
// not have them.
func (s *Study) readReleases(st *state, kept store.Study) error {
	return kept.Releases(1, func(k store.ReleaseKey, envelope []byte) error {
		name := identity.Name(k.Client)
		if c := st.clients[name]; c != nil {
			c.answers++
		}
		q := st.open[k.Ask]
		if q == nil || s.secure() {
			return nil
		}
		h, err := signed.Claims(envelope)
		if err != nil {
			return err
		}
		q.taken[name] = bytes.Clone(envelope)
		if !slices.Contains(st.server.Waiting(int(k.Ask)), pvi.ClientID(name)) {
			return nil // the sum in the saved state already has this answer
		}
		return s.collectAgain(st, kept, k, h)
	})
}

func (s *Study) collectAgain(st *state, kept store.Study, k store.ReleaseKey, h signed.Header) error {
	sealed, err := s.opener.openAt(h, stored{kept.Have(k), func(b []byte, from int64) error { return kept.ReadAnswer(k, b, from) }})
	if err != nil {
		return fmt.Errorf("an answer in the store does not open: %w", err)
	}
	body, err := gathered(sealed)
	if err != nil {
		return err
	}
	outcome, err := st.server.Collect(pvi.ClientID(k.Client), int(k.Ask), body)
	if err == nil && outcome != nil {
		err = errors.New("the store has all answers to a plan, but not its outcome")
	}
	return err
}

func (s *Study) readOffers(st *state, kept store.Study) error {
	return kept.Offers(func(k store.ReleaseKey, envelope []byte) error {
		q, name := st.question(k.Ask), identity.Name(k.Client)
		c := st.clients[name]
		if q == nil || c == nil {
			return nil
		}
		o := &offer{key: k, envelope: bytes.Clone(envelope), have: kept.Have(k), stored: true}
		var err error
		if st.secure != nil {
			err = st.secure.read(o)
		} else {
			o.release, err = st.chain.VerifyRelease(envelope, c.entry.Key, k.Ask, q.model)
		}
		if err != nil {
			return err
		}
		q.offers[name] = o
		return nil
	})
}
