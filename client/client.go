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

// Options configure Open.
type Options struct {
	Dir     string // state directory
	Program string // name and version, recorded in the ledger
	Command string // command line, shown to another process that finds the state in use
	Now     func() time.Time
	Log     *slog.Logger
	// Create lets Open make the state directory if there is none.
	Create bool
	// Boundary and Layer are for tests. Boundary is called before and after every commit. Layer
	// is inserted between the ledger's database and its file. See [ledger.Options].
	Boundary func(point string) error
	Layer    durable.Layer
}

// A Client takes part in studies for a data holder. Its state is one directory.
type Client struct {
	dir   string
	store *ledger.Store
	now   func() time.Time
	log   *slog.Logger
	noise func(ask int) *dpmech.Stream
}

// Open opens a state directory. It fails if another process has the directory open.
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

// Close releases the state directory.
func (c *Client) Close() error { return c.store.Close() }

// Store returns the ledger.
func (c *Client) Store() *ledger.Store { return c.store }

// Names of the values that the store keeps for each study.
const (
	documentPart   = "document"   // the study document, byte for byte
	membershipPart = "membership" // client name, certificate and roster entry from joining
	approvalPart   = "approval"   // the approval by the data holder
	rosterPart     = "roster"     // the first entry of the transcript
	positionPart   = "position"   // position of the client in the transcript
	sitePart       = "site"       // state of the site, which computes the answers
	sumsPart       = "sums"       // state of the secure sums, with the keys of pairs of clients
	keysPart       = "keys"       // message with the keys for the other clients
	wordPart       = "word"       // confirmation or share for the open plan
	leftPart       = "left"       // reason why the client left the study
	haltPart       = "halt"       // reason why this copy of the state must not be used any more; stored once for all studies
)

// membership is the saved result of joining a study.
type membership struct {
	Name        identity.Name        `json:"name"` // name of this client in the study
	Coordinator identity.Fingerprint `json:"coordinator"`
	Entry       []byte               `json:"entry"` // the coordinator's roster entry
	Addresses   []string             `json:"addresses"`
	Authority   []byte               `json:"authority"`
	Certificate []byte               `json:"certificate"`
	Joined      time.Time            `json:"joined"`
}

// A Member is a study that the client has joined.
type Member struct {
	membership
	Hash  ledger.Hash
	Study *study.Study

	hub  roster.Entry // roster entry of the coordinator
	keys keys
}

// keys are the keys of this client for one study.
type keys struct {
	tls     *channel.Key
	sealing *seal.Key
}

// keyFolder returns the folder with the keys of a study.
func (c *Client) keyFolder(of ledger.Hash) string {
	return filepath.Join(c.dir, "studies", of.String()[:16])
}

// loadKeys loads the keys of a study, or makes them if there are none. When the study is over, the
// sealing key is destroyed, and loadKeys returns none.
func (c *Client) loadKeys(of ledger.Hash) (k keys, err error) {
	folder := c.keyFolder(of)
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return keys{}, err
	}
	if k.tls, err = loadOrMake(filepath.Join(folder, "tls.key"), channel.LoadKey, channel.CreateKey); err != nil {
		return keys{}, err
	}
	ending, err := c.Ending(&Member{Hash: of})
	if err != nil || ending != nil {
		return k, err
	}
	k.sealing, err = loadOrMake(filepath.Join(folder, sealingKeyFile), seal.Load, seal.Create)
	return k, err
}

const sealingKeyFile = "sealing.key"

// destroyKey destroys the sealing key of a study that is over. With it and the messages that the
// coordinator has kept, others could otherwise decrypt what the other clients dealt to this one.
func (c *Client) destroyKey(m *Member) error {
	m.keys.sealing = nil
	folder := c.keyFolder(m.Hash)
	if err := os.Remove(filepath.Join(folder, sealingKeyFile)); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	return durable.Layer{}.SyncDir(folder)
}

func loadOrMake[K any](path string, load, create func(string) (K, error)) (K, error) {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return create(path)
	}
	return load(path)
}

// Members returns all studies that the client has joined.
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

// Member returns the study with the given name or the given first digits of its digest. An empty
// string selects the only study.
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
		return nil, &UsageError{errors.New("no study has been joined: run client join INVITATION")}
	case len(found) == 0:
		return nil, &UsageError{fmt.Errorf("no study %q has been joined: choose one of %s", named, strings.Join(names, ", "))}
	}
	return nil, &UsageError{fmt.Errorf("several studies have been joined: choose one with --study: %s", strings.Join(names, ", "))}
}

func (c *Client) member(h ledger.Hash) (*Member, error) {
	m := &Member{Hash: h}
	source, err := c.part(h, documentPart)
	if err != nil {
		return nil, err
	}
	if err := c.get(h, membershipPart, &m.membership); err != nil {
		return nil, err
	}
	if m.Study, err = study.Parse("study.toml", source); err != nil {
		return nil, err
	}
	if m.Study.Digest != study.Digest(h) {
		return nil, c.damaged("the study document differs from the one that was joined")
	}
	if m.hub, err = roster.ParseEntry(m.Entry, h); err != nil {
		return nil, c.damaged(err.Error())
	}
	m.keys, err = c.loadKeys(h)
	return m, err
}

// part reads one value of a study's state. It returns an error if the value is missing.
func (c *Client) part(of ledger.Hash, part string) ([]byte, error) {
	b, ok, err := c.store.Part(of, part)
	if err == nil && !ok {
		err = c.damaged("the part " + part + " of a study is missing")
	}
	return b, err
}

// get reads one JSON value of a study's state into v. It returns an error if the value is
// missing.
func (c *Client) get(of ledger.Hash, part string, v any) error {
	b, err := c.part(of, part)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return c.damaged(part + ": " + err.Error())
	}
	return nil
}

func (c *Client) damaged(problem string) error {
	return &ledger.Damaged{Path: filepath.Join(c.dir, ledger.File), Problem: problem}
}

// has reports whether a study's state contains the named value.
func (c *Client) has(of ledger.Hash, part string) (bool, error) {
	_, ok, err := c.store.Part(of, part)
	return ok, err
}

// put saves one value of a study's state as JSON.
func (c *Client) put(of ledger.Hash, part string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.store.Save(ledger.Change{Study: of, Parts: map[string][]byte{part: b}})
}
