package coordinator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/keyfile"
)

// A Hash is a SHA-256 hash.
type Hash = [sha256.Size]byte

// A Hub is a coordinator's state directory and all its studies. It is safe for concurrent use.
type Hub struct {
	options Options
	files   files
	keys    *own
	store   *store.Store

	founding sync.Mutex // held while a study is added

	mu      sync.RWMutex
	studies map[Hash]*Study
	byName  map[string]*Study // studies by TLS server name
	added   func(*Study)      // called for each new study, unless nil

	ctx  context.Context
	stop context.CancelFunc
}

// Open opens or creates a state directory, and starts the studies in it.
func Open(dir string, o Options) (*Hub, error) {
	o = o.withDefaults()
	st, err := store.Open(dir, o.Store)
	if err != nil {
		return nil, err
	}
	h := &Hub{options: o, files: files{dir: dir}, store: st, studies: map[Hash]*Study{}, byName: map[string]*Study{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	if err := h.loadAll(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (h *Hub) loadAll() error {
	var all []Hash
	err := h.store.View(func(tx *store.Tx) (err error) {
		all, err = tx.Studies()
		return err
	})
	if err != nil {
		return err
	}
	if h.files.lock, err = keyfile.Open(h.files.dir, h.options.Unlock); err != nil {
		return err
	}
	if h.keys, err = loadKeys(h.files, len(all) == 0); err != nil {
		return err
	}
	for _, hash := range all {
		if _, err := h.load(hash); err != nil {
			return fmt.Errorf("study %s: %w", short(hash), err)
		}
	}
	return nil
}

func (h *Hub) load(hash Hash) (*Study, error) {
	s, err := newStudy(h, hash)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.studies[hash] = s
	h.byName[channel.ServerName(hash)] = s
	added := h.added
	h.mu.Unlock()
	go s.run(h.ctx)
	if added != nil {
		added(s)
	}
	return s, nil
}

// OnStudy calls f for each study of the hub, and for each study that is added later.
func (h *Hub) OnStudy(f func(*Study)) {
	h.mu.Lock()
	h.added = f
	here := slices.Collect(maps.Values(h.studies))
	h.mu.Unlock()
	for _, s := range here {
		f(s)
	}
}

// Close stops all studies and unlocks the state directory. It drops changes that are not yet on
// disk. No client has had a reply that depends on them.
func (h *Hub) Close() error {
	h.stop()
	for _, s := range h.Studies() {
		<-s.stopped
	}
	return h.store.Close()
}

// Healthy returns an error if the store cannot be used, for example because its file is damaged or
// the disk is full.
func (h *Hub) Healthy() error {
	return h.store.View(func(*store.Tx) error { return nil })
}

// Fingerprint returns the fingerprint of the identity that the coordinator uses in new studies.
func (h *Hub) Fingerprint() identity.Fingerprint {
	who, _ := h.keys.newest()
	return who.Fingerprint()
}

// Studies returns all studies, sorted by name.
func (h *Hub) Studies() []*Study {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.SortedFunc(maps.Values(h.studies), func(a, b *Study) int {
		return strings.Compare(a.document.Name+short(a.hash), b.document.Name+short(b.hash))
	})
}

// Serving returns the study with the given TLS server name, or nil if no study has that name.
func (h *Hub) Serving(serverName string) *Study {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.byName[serverName]
}

// Study returns the study that selector identifies by its name or by at least four digits with
// which its digest begins. If selector is empty, Study returns the only study.
func (h *Hub) Study(selector string) (*Study, error) {
	var found []*Study
	for _, s := range h.Studies() {
		if selector == "" || s.document.Name == selector || len(selector) >= 4 && strings.HasPrefix(hex.EncodeToString(s.hash[:]), selector) {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && selector == "":
		return nil, errors.New("the state directory has no study: add one with coordinator init STUDY")
	case len(found) == 0:
		return nil, fmt.Errorf("the state directory has no study %q: coordinator status lists its studies", selector)
	}
	var names []string
	for _, s := range found {
		names = append(names, fmt.Sprintf("%s (%s)", s.document.Name, short(s.hash)))
	}
	return nil, fmt.Errorf("there are several studies: give the name or digest of one: %s", strings.Join(names, ", "))
}

// short returns the first 12 hexadecimal digits of a hash, which identify a study in messages to
// people.
func short(h Hash) string { return hex.EncodeToString(h[:6]) }
