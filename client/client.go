package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fedpvi/client/ledger"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/dpmech"
	"fedpvi/internal/durable"
	"fedpvi/pvi/study"
)

// Options say how a client works.
type Options struct {
	Dir     string // of the state
	Program string // name and version, for the ledger
	Command string // for whoever finds the state in use
	Now     func() time.Time
	Log     *slog.Logger
	// Create lets a state directory be made where there is none.
	Create bool
	// Boundary is called around every commit, and Layer lies beneath; see [ledger.Options].
	Boundary func(point string) error
	Layer    durable.Layer
}

// A Client is a data holder's side of its studies, in one state directory.
type Client struct {
	dir   string
	store *ledger.Store
	now   func() time.Time
	log   *slog.Logger
	noise func(ask int) *dpmech.Stream
}

// Open opens a state directory, which nobody else may have open.
func Open(o Options) (*Client, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	store, err := ledger.Open(o.Dir, ledger.Options{Program: o.Program, Command: o.Command, Now: o.Now(), Existing: !o.Create, Boundary: o.Boundary, Layer: o.Layer})
	if err != nil {
		return nil, err
	}
	return &Client{
		dir: o.Dir, store: store, now: o.Now, log: o.Log,
		noise: func(int) *dpmech.Stream { return dpmech.NewStream() },
	}, nil
}

// Close gives the state directory back.
func (c *Client) Close() error { return c.store.Close() }

// Store returns the ledger.
func (c *Client) Store() *ledger.Store { return c.store }

// The parts of a study's state in the store.
const (
	documentPart   = "document"   // the study, as it is written
	membershipPart = "membership" // what joining brought
	approvalPart   = "approval"   // the holder's
	rosterPart     = "roster"     // the first entry of the transcript
	positionPart   = "position"   // in the transcript
	sitePart       = "site"       // what the algorithm remembers
	leftPart       = "left"       // why the holder takes no part any more
	haltPart       = "halt"       // why nothing may be sent any more, of no study
)

// membership is what joining brought.
type membership struct {
	Name        identity.Name        `json:"name"` // this client's in the study
	Coordinator identity.Fingerprint `json:"coordinator"`
	Entry       []byte               `json:"entry"` // the coordinator's, of the roster
	Addresses   []string             `json:"addresses"`
	Authority   []byte               `json:"authority"`
	Certificate []byte               `json:"certificate"`
	Joined      time.Time            `json:"joined"`
}

// A Member is a study that the client joined.
type Member struct {
	membership
	Hash  ledger.Hash
	Study *study.Study

	hub  roster.Entry // the coordinator
	keys keys
}

// keys are those of one study.
type keys struct {
	tls     *channel.Key
	sealing *seal.Key
}

// keyFolder is where the keys of a study are.
func (c *Client) keyFolder(of ledger.Hash) string {
	return filepath.Join(c.dir, "studies", of.String()[:16])
}

// loadKeys loads the keys of a study, or makes them.
func (c *Client) loadKeys(of ledger.Hash) (keys, error) {
	folder := c.keyFolder(of)
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return keys{}, err
	}
	tls, err := loadOrMake(filepath.Join(folder, "tls.key"), channel.LoadKey, channel.CreateKey)
	if err != nil {
		return keys{}, err
	}
	sealing, err := loadOrMake(filepath.Join(folder, "sealing.key"), seal.Load, seal.Create)
	return keys{tls, sealing}, err
}

func loadOrMake[K any](path string, load, create func(string) (K, error)) (K, error) {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return create(path)
	}
	return load(path)
}

// Members returns the studies that were joined.
func (c *Client) Members() ([]*Member, error) {
	hashes, err := c.store.Studies()
	if err != nil {
		return nil, err
	}
	var all []*Member
	for _, h := range hashes {
		if h == (ledger.Hash{}) {
			continue
		}
		m, err := c.member(h)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// Member returns the study of a name, or of a hash that begins so, or the only one if
// nothing is named.
func (c *Client) Member(named string) (*Member, error) {
	all, err := c.Members()
	if err != nil {
		return nil, err
	}
	var found []*Member
	var names []string
	for _, m := range all {
		names = append(names, fmt.Sprintf("%s (%.12s)", m.Study.Name, m.Hash))
		if named == "" || m.Study.Name == named || strings.HasPrefix(m.Hash.String(), named) {
			found = append(found, m)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(all) == 0:
		return nil, &UsageError{errors.New("no study was joined yet: client join INVITATION")}
	case len(found) == 0:
		return nil, &UsageError{fmt.Errorf("no study %q was joined: there are %s", named, strings.Join(names, ", "))}
	}
	return nil, &UsageError{fmt.Errorf("several studies were joined: say which with --study: %s", strings.Join(names, ", "))}
}

// member loads a study.
func (c *Client) member(h ledger.Hash) (*Member, error) {
	m := &Member{Hash: h}
	source, ok, err := c.store.Part(h, documentPart)
	if err != nil || !ok {
		return nil, errors.Join(err, c.lacks(documentPart, ok))
	}
	if err := c.get(h, membershipPart, &m.membership); err != nil {
		return nil, err
	}
	if m.Study, err = study.Parse("study.toml", source); err != nil {
		return nil, err
	}
	if m.Study.Digest != study.Digest(h) {
		return nil, c.damaged("the study document is not the one that was joined")
	}
	if m.hub, err = roster.ParseEntry(m.Entry, h); err != nil {
		return nil, c.damaged(err.Error())
	}
	m.keys, err = c.loadKeys(h)
	return m, err
}

// get reads a part that is JSON and must be there.
func (c *Client) get(of ledger.Hash, part string, v any) error {
	b, ok, err := c.store.Part(of, part)
	if err != nil {
		return err
	}
	if !ok {
		return c.lacks(part, false)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return c.damaged(part + ": " + err.Error())
	}
	return nil
}

func (c *Client) lacks(part string, ok bool) error {
	if ok {
		return nil
	}
	return c.damaged("the part " + part + " of a study is missing")
}

func (c *Client) damaged(problem string) error {
	return &ledger.Damaged{Path: filepath.Join(c.dir, ledger.File), Problem: problem}
}

// has reports whether a part is there.
func (c *Client) has(of ledger.Hash, part string) (bool, error) {
	_, ok, err := c.store.Part(of, part)
	return ok, err
}

// put saves a part as JSON.
func (c *Client) put(of ledger.Hash, part string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.store.Save(ledger.Change{Study: of, Parts: map[string][]byte{part: b}})
}
