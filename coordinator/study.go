package coordinator

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/pvi/study"
	"fedpvi/transport"
	"fedpvi/transport/membership"
)

// A Study is a study on a hub. It implements [transport.Coordinator].
type Study struct {
	hub       *Hub
	hash      Hash
	document  *study.Study
	fixed     store.Fixed
	founder   roster.Entry // the coordinator's first roster entry
	certifier *certifier
	largest   int64 // maximum size of an answer's body in bytes
	log       *slog.Logger
	events    Events
	presence  *presence        // when the clients last called, which decides whether a round can begin
	view      *membership.View // clients that can be reached according to gossip; only for display
	cache     *cache
	gossip    atomic.Pointer[transport.Gossip] // nil without gossip

	commands chan *command
	stopped  chan struct{}
	opener   opener
	shown    atomic.Pointer[view]
	dropper  atomic.Pointer[func(channel.Party)] // closes a party's connections; nil if no function is set
	aware    sync.Map                            // names of the clients that have received the last entry

	// Only the study's loop uses the following fields.
	st     *state
	broken bool // whether the store could not be read, so that st may be out of date
	failed bool

	unwritten error // error of the last transaction that had something to write; nil if it succeeded
}

// paces is the minimum deadline of a round, in multiples of federation.pace. A client sends its
// answer only when a multiple of this interval has passed since it read the plan. With three of
// them, it can answer in time even if it computes for longer than one.
const paces = 3

func (s *Study) roundDeadline() time.Duration {
	return max(s.hub.options.RoundDeadline, time.Duration(paces*s.document.Federation.Pace*float64(time.Second)))
}

var _ transport.Coordinator = (*Study)(nil)

const (
	// noteAborted is the key of the note with the reason why the study was aborted before it began.
	noteAborted = "aborted"
	// noteExcluded is the key of the note with the reasons for exclusions.
	noteExcluded = "excluded"
	// noteSince is the key of the note with the time at which the study began to wait.
	noteSince = "since"
)

// newStudy reads a study from the store. The study does nothing until run is called.
func newStudy(h *Hub, hash Hash) (*Study, error) {
	s := &Study{
		hub: h, hash: hash, events: h.options.Events, cache: newCache(),
		presence: &presence{
			now: h.options.Now, window: h.options.RoundDeadline / presenceShare,
			news: make(chan struct{}, 1), seen: map[identity.Name]*sighting{},
		},
		commands: make(chan *command, maxBatch), stopped: make(chan struct{}),
	}
	s.view = membership.NewView(s.joined, h.options.Now)
	err := h.store.ViewStudy(hash, func(kept store.Study) (err error) {
		s.fixed, err = kept.Fixed()
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.document, err = study.Parse("study "+short(hash), s.fixed.Document); err != nil {
		return nil, err
	}
	if Hash(s.document.Digest) != hash {
		return nil, fmt.Errorf("%w: the study document", store.ErrDamaged)
	}
	if s.founder, err = roster.ParseEntry(s.fixed.Entry, hash); err != nil {
		return nil, err
	}
	if s.largest, err = largestBody(s.document); err != nil {
		return nil, err
	}
	s.log = h.options.Log.With("study", s.document.Name)
	if s.certifier, err = newCertifier(s); err != nil {
		return nil, err
	}
	if err := s.reload(); err != nil {
		return nil, err
	}
	// if a key is missing, fail now and not at the first connection
	_, err = s.certifier.tls(s.st.own, h.options.Now())
	return s, err
}

// reload reads the state from the store again.
func (s *Study) reload() error {
	s.broken = true
	var st *state
	err := s.hub.store.ViewStudy(s.hash, func(kept store.Study) (err error) {
		st, err = s.read(kept)
		return err
	})
	if err != nil {
		return err
	}
	if s.st != nil {
		st.keepDeadlines(s.st)
		for _, q := range s.st.open {
			q.discard(s)()
		}
		if s.st.secure != nil {
			s.st.secure.keying.discard(s)()
		}
	}
	s.st, s.broken = st, false
	if st.over() {
		s.opener.forget()
		if err := s.hub.files.destroySealing(s.hash, ""); err != nil {
			return err
		}
	}
	s.show()
	return nil
}

// keepDeadlines copies the start times and deadlines of the open rounds, because they are not in
// the store. A study that reloads its state keeps them. A coordinator that restarts sets new ones.
func (st *state) keepDeadlines(before *state) {
	st.since = before.since
	for ask, q := range st.open {
		if old := before.open[ask]; old != nil {
			q.opened, q.deadline = old.opened, old.deadline
		}
	}
}

// Hash returns the SHA-256 of the study document.
func (s *Study) Hash() Hash { return s.hash }

// Document returns the study document.
func (s *Study) Document() *study.Study { return s.document }

// Name returns the study's name.
func (s *Study) Name() string { return s.document.Name }

// Addresses returns the coordinator's addresses (host:port), as in the invitations to the study.
func (s *Study) Addresses() []string { return slices.Clone(s.fixed.Addresses) }

// Digest returns the SHA-256 of the study document in hexadecimal.
func (s *Study) Digest() string { return hex.EncodeToString(s.hash[:]) }
