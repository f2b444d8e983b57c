package coordinator

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/roster"
	"fedpvi/pvi/study"
	"fedpvi/transport"
	"fedpvi/transport/membership"
)

// A Study is one study of a hub. It implements [transport.Coordinator].
type Study struct {
	hub       *Hub
	hash      Hash
	document  *study.Study
	fixed     store.Fixed
	entry     roster.Entry // the coordinator's own
	authority *channel.Authority
	largest   int64 // size of an answer's body in bytes, at most
	log       *slog.Logger
	events    Events
	presence  *presence        // decides when a round is opened
	view      *membership.View // is shown in the status only
	cache     *cache
	gossip    atomic.Pointer[transport.Gossip] // nil if there is none

	commands chan *command
	stopped  chan struct{}
	opener   opener
	shown    atomic.Pointer[view]
	aware    sync.Map // by name: clients that were given the last entry

	// Only the loop uses these:
	st     *state
	broken bool // st differs from the store, which could not be read
	failed bool // the last transaction failed
}

var _ transport.Coordinator = (*Study)(nil)

const (
	// noteAborted is the key of the reason why a study was aborted before it began.
	noteAborted = "aborted"
	// noteSince is the key of the time since which a study has been waiting.
	noteSince = "since"
)

// newStudy reads a study from the store. It does not begin to run the study.
func newStudy(h *Hub, hash Hash) (*Study, error) {
	s := &Study{
		hub: h, hash: hash, events: h.options.Events, cache: newCache(),
		presence: newPresence(h.options.Now, h.options.presence()),
		commands: make(chan *command, maxBatch), stopped: make(chan struct{}),
	}
	s.view = s.newView(h.options.Now)
	err := h.store.View(func(tx *store.Tx) error {
		kept, err := tx.Study(hash)
		if err != nil {
			return err
		}
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
	if s.entry, err = roster.ParseEntry(s.fixed.Entry, hash); err != nil {
		return nil, err
	}
	if s.largest, err = largestBody(s.document); err != nil {
		return nil, err
	}
	s.log = h.options.Log.With("study", s.document.Name)
	if s.authority, err = channel.LoadAuthority(h.files.authority(hash), s.fixed.Authority, hash); err != nil {
		return nil, err
	}
	return s, s.reload()
}

// reload reads the state from the store.
func (s *Study) reload() error {
	s.broken = true
	var st *state
	err := s.hub.store.View(func(tx *store.Tx) error {
		var err error
		st, err = s.read(tx)
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
	}
	s.st, s.broken = st, false
	if st.over() {
		if err := s.opener.forget(s.hub.files.sealing(s.hash)); err != nil {
			return err
		}
	}
	s.show()
	return nil
}

// keepDeadlines copies the times of the open rounds from an earlier state. The times are not stored, so a
// restarted coordinator sets new deadlines.
func (st *state) keepDeadlines(before *state) {
	st.since = before.since
	for ask, q := range st.open {
		if old := before.open[ask]; old != nil {
			q.opened, q.deadline = old.opened, old.deadline
		}
	}
}

// Hash returns the digest of the study document.
func (s *Study) Hash() Hash { return s.hash }

// Name returns the study's name.
func (s *Study) Name() string { return s.document.Name }

// Digest returns the digest in hexadecimal.
func (s *Study) Digest() string { return hex.EncodeToString(s.hash[:]) }
