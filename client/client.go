package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"fedpvi/client/ledger"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/roster"
	"fedpvi/dpmech"
	"fedpvi/internal/audit"
	"fedpvi/internal/durable"
	"fedpvi/pvi/study"
)

// Options configure Open.
type Options struct {
	Dir     string // state directory
	Program string // name and version of the program, recorded in the ledger
	Command string // command line, shown to another process that finds the state in use
	Now     func() time.Time
	Log     *slog.Logger
	Audit   *audit.Log     // audit log to which this client writes events; nil if there is none
	Unlock  keyfile.Unlock // opens the key files if they are protected
	// Create makes Open create the state directory if it does not exist.
	Create bool
	// Boundary is called before and after each commit. Layer goes between the database and its
	// file. Both are for tests. See [ledger.Options].
	Boundary func(point string) error
	Layer    durable.Layer
}

// A Client takes part in studies on behalf of a data holder. Its state is in one directory.
type Client struct {
	dir   string
	store *ledger.Store
	now   func() time.Time
	log   *slog.Logger
	audit *audit.Log

	unlock keyfile.Unlock // settings with which the key files were opened
	noise  func(ask int) *dpmech.Stream

	stopwatch func() time.Time // clock that times rehearsals, in which a client tries out a study
}

// Open opens a state directory. If another process has it open, the error is a [*ledger.Held].
func Open(o Options) (*Client, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	store, err := ledger.Open(o.Dir, ledger.Options{Program: o.Program, Command: o.Command, Now: o.Now(), Unlock: o.Unlock, Existing: !o.Create, Boundary: o.Boundary, Layer: o.Layer})
	if err != nil {
		return nil, err
	}
	return &Client{
		dir: o.Dir, store: store, now: o.Now, log: o.Log, audit: o.Audit, unlock: o.Unlock,
		noise: func(int) *dpmech.Stream { return dpmech.NewStream() }, stopwatch: time.Now,
	}, nil
}

// Close closes the state directory, so that other processes can open it.
func (c *Client) Close() error { return c.store.Close() }

// Store returns the ledger.
func (c *Client) Store() *ledger.Store { return c.store }

// These are the names of the values in a study's state.
const (
	documentPart   = "document"   // the study document, byte for byte
	membershipPart = "membership" // client name, certificate and roster entry, from when the client joined
	approvalPart   = "approval"   // the data holder's approval
	rosterPart     = "roster"     // the first entry of the transcript
	versionPart    = "version"    // the present version of the roster, if it has changed
	positionPart   = "position"   // the client's position in the transcript
	sitePart       = "site"       // state of the site, which computes the answers
	sumsPart       = "sums"       // state of the secure sums, with the keys that this client shares with the other clients
	keysPart       = "keys"       // message with this client's keys for the secure sums
	wordPart       = "word"       // with secure sums: this client's confirmation or share for the open plan
	leftPart       = "left"       // reason why the client left the study
	haltPart       = "halt"       // for all studies: why this copy of the state must no longer be used
)

// membership is the saved result of joining a study.
type membership struct {
	Name        identity.Name        `json:"name"` // name of this client in the study
	Coordinator identity.Fingerprint `json:"coordinator"`
	Entry       []byte               `json:"entry"` // the coordinator's roster entry at the time when this client joined
	Addresses   []string             `json:"addresses"`
	Authority   []byte               `json:"authority"`
	Certificate []byte               `json:"certificate"`
	Joined      time.Time            `json:"joined"`

	Renewals [][]byte `json:"renewals,omitempty"` // renewals of Entry that this client knows, oldest first
	Own      []byte   `json:"own,omitempty"`      // this client's roster entry; missing if an old version of the program joined the study
	Next     []byte   `json:"next,omitempty"`     // renewal of Own that is not yet valid
	Accepted bool     `json:"accepted,omitempty"` // whether the coordinator has accepted the keys in Next
}

// A Member is a study that this client has joined.
type Member struct {
	membership
	Hash  ledger.Hash
	Study *study.Study

	hub      atomic.Pointer[roster.Entry] // the coordinator's roster entry; connections read it concurrently
	own      roster.Entry                 // this client's present roster entry
	next     *roster.Renewal              // renewal of own that is not yet valid; nil if there is none
	keys     keys                         // keys that belong to own
	nextKeys keys                         // keys that belong to next
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

// Member returns the study that named identifies by its name or the first digits of its digest. If
// named is empty, it returns the only study.
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
	return m, c.loadMember(m)
}

// loadMember parses the roster entries of m, loads the keys that belong to them, and destroys old
// keys.
func (c *Client) loadMember(m *Member) error {
	first, err := roster.ParseEntry(m.Entry, m.Hash)
	if err == nil {
		first, err = roster.Latest(m.Hash, first, m.Renewals)
	}
	if err != nil {
		return c.damaged(err.Error())
	}
	m.hub.Store(&first)
	if m.Own == nil {
		return c.loadFirstKeys(m)
	}
	if m.own, err = roster.ParseEntry(m.Own, m.Hash); err != nil {
		return c.damaged(err.Error())
	}
	if m.keys, err = c.keysOf(m.Hash, m.own); err != nil {
		return err
	}
	if m.Next != nil {
		next, err := roster.ParseRenewal(m.Next, m.Hash)
		if err != nil {
			return c.damaged(err.Error())
		}
		m.next = &next
		if m.nextKeys, err = c.keysOf(m.Hash, next.Entry); err != nil {
			return err
		}
	}
	return c.destroyOld(m)
}

// loadFirstKeys loads the keys of a study that was joined by an earlier version of the program.
// That version did not save its roster entry, so loadFirstKeys makes one and signs it.
func (c *Client) loadFirstKeys(m *Member) (err error) {
	path := filepath.Join(c.keyFolder(m.Hash), tlsKeyFile)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s is missing, but the study was joined with it: restore it from a backup", keyfile.ErrDamaged, path)
	}
	if m.keys, err = c.newKeys(m.Hash); err != nil || m.keys.sealing == nil {
		return err
	}
	m.keys.identity = c.store.Identity()
	m.own, err = roster.NewEntry(m.keys.identity, m.Hash, m.Name, identity.Client, m.keys.tls.Pin(), m.keys.sealing.Recipient())
	m.Own = m.own.Bytes()
	return err
}

// part reads a value of a study's state. The value must exist.
func (c *Client) part(of ledger.Hash, part string) ([]byte, error) {
	b, ok, err := c.store.Part(of, part)
	if err == nil && !ok {
		err = c.damaged("the part " + part + " of a study is missing")
	}
	return b, err
}

// get reads a JSON value of a study's state into v. The value must exist.
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

func (c *Client) has(of ledger.Hash, part string) (bool, error) {
	_, ok, err := c.store.Part(of, part)
	return ok, err
}

func (c *Client) put(of ledger.Hash, part string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.store.Save(ledger.Change{Study: of, Parts: map[string][]byte{part: b}})
}
