package client

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"fedpvi/client/ledger"
	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/internal/durable"
)

// New keys go to new files, such as tls-2.key. Which keys a study uses depends on the client's
// entry in the study's roster. The ledger is always signed with the first identity.

// keys has this client's keys for one study.
type keys struct {
	identity *identity.Identity
	tls      *channel.Key
	sealing  *seal.Key // nil once the study is over
}

const (
	tlsKeyFile     = "tls.key"
	sealingKeyFile = "sealing.key"
)

func (c *Client) keyFolder(of ledger.Hash) string {
	return filepath.Join(c.dir, "studies", of.String()[:16])
}

// identities returns all identities of this client, oldest first.
func (c *Client) identities() ([]*identity.Identity, error) {
	paths, err := keyfile.Versions(filepath.Join(c.dir, ledger.IdentityFile))
	if err != nil {
		return nil, err
	}
	all := []*identity.Identity{c.store.Identity()}
	for _, path := range paths[1:] {
		i, err := identity.Load(c.store.Lock(), path)
		if err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	return all, nil
}

// Fingerprint returns the fingerprint of the newest identity, which the client uses to join new
// studies.
func (c *Client) Fingerprint() (identity.Fingerprint, error) {
	all, err := c.identities()
	if err != nil {
		return identity.Fingerprint{}, err
	}
	return all[len(all)-1].Fingerprint(), nil
}

// newKeys makes keys for a study with the newest identity. If joining was interrupted before, it
// loads the keys of the first attempt. A study that is over has no sealing key.
func (c *Client) newKeys(of ledger.Hash) (k keys, err error) {
	all, err := c.identities()
	if err != nil {
		return keys{}, err
	}
	k.identity = all[len(all)-1]
	folder := c.keyFolder(of)
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return keys{}, err
	}
	if k.tls, err = loadOrMake(c.store.Lock(), filepath.Join(folder, tlsKeyFile), channel.LoadKey, channel.CreateKey); err != nil {
		return keys{}, err
	}
	ending, err := c.Ending(&Member{Hash: of})
	if err != nil || ending != nil {
		return k, err
	}
	k.sealing, err = loadOrMake(c.store.Lock(), filepath.Join(folder, sealingKeyFile), seal.Load, seal.Create)
	return k, err
}

func loadOrMake[K any](l *keyfile.Lock, path string, load, create func(*keyfile.Lock, string) (K, error)) (K, error) {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return create(l, path)
	}
	return load(l, path)
}

// keysOf loads the keys that are listed in one of this client's roster entries. A study that is
// over has no sealing key.
func (c *Client) keysOf(of ledger.Hash, e roster.Entry) (k keys, err error) {
	all, err := c.identities()
	if err != nil {
		return keys{}, err
	}
	for _, i := range all {
		if i.Public() == e.Key {
			k.identity = i
		}
	}
	folder := c.keyFolder(of)
	_, k.tls, err = find(c.store.Lock(), filepath.Join(folder, tlsKeyFile), channel.LoadKey, func(k *channel.Key) bool { return k.Pin() == e.Pin })
	if err != nil {
		return keys{}, err
	}
	_, k.sealing, err = find(c.store.Lock(), filepath.Join(folder, sealingKeyFile), seal.Load, func(k *seal.Key) bool { return k.Recipient().String() == e.Recipient.String() })
	if err != nil {
		return keys{}, err
	}
	ending, err := c.Ending(&Member{Hash: of})
	if err == nil && (k.identity == nil || k.tls == nil || k.sealing == nil && ending == nil) {
		err = fmt.Errorf("%w: a key of this client in the roster of the study is missing: restore %s and the folder %s from a backup", keyfile.ErrDamaged, ledger.IdentityFile, folder)
	}
	return k, err
}

// find returns the oldest version of a key file for which has returns true. If there is none, it
// returns zero values.
func find[K any](l *keyfile.Lock, path string, load func(*keyfile.Lock, string) (*K, error), has func(*K) bool) (string, *K, error) {
	paths, err := keyfile.Versions(path)
	for _, path := range paths {
		k, err := load(l, path)
		if err != nil {
			return "", nil, err
		}
		if has(k) {
			return path, k, nil
		}
	}
	return "", nil, err
}

// destroyKey destroys a study's sealing keys once the study is over. The coordinator still has the
// other clients' deals, and a thief who stole the keys could decrypt this client's columns of them.
func (c *Client) destroyKey(m *Member) error {
	m.keys.sealing = nil
	return c.destroyAll(filepath.Join(c.keyFolder(m.Hash), sealingKeyFile))
}

// destroyOld destroys the TLS and sealing keys that are neither in this client's present roster
// entry nor in its next one.
func (c *Client) destroyOld(m *Member) error {
	var tls, sealing []string
	for _, e := range m.entries() {
		path, _, err := find(c.store.Lock(), filepath.Join(c.keyFolder(m.Hash), tlsKeyFile), channel.LoadKey, func(k *channel.Key) bool { return k.Pin() == e.Pin })
		if err != nil {
			return err
		}
		tls = append(tls, path)
		path, _, err = find(c.store.Lock(), filepath.Join(c.keyFolder(m.Hash), sealingKeyFile), seal.Load, func(k *seal.Key) bool { return k.Recipient().String() == e.Recipient.String() })
		if err != nil {
			return err
		}
		sealing = append(sealing, path)
	}
	return errors.Join(
		c.destroyAll(filepath.Join(c.keyFolder(m.Hash), tlsKeyFile), tls...),
		c.destroyAll(filepath.Join(c.keyFolder(m.Hash), sealingKeyFile), sealing...))
}

// destroyAll deletes all versions of a key file, except those at the given paths.
func (c *Client) destroyAll(path string, except ...string) error {
	paths, err := keyfile.Versions(path)
	if err != nil {
		return err
	}
	removed := false
	for _, path := range paths {
		if slices.Contains(except, path) {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		removed = true
	}
	if !removed {
		return nil
	}
	return durable.Layer{}.SyncDir(filepath.Dir(path))
}

// makeKeys makes new keys for a study, and a renewal to put them into the roster.
func (c *Client) makeKeys(m *Member) (roster.Renewal, error) {
	var k keys
	var err error
	folder := c.keyFolder(m.Hash)
	if k.identity, err = newVersion(c.store.Lock(), filepath.Join(c.dir, ledger.IdentityFile), identity.Create); err != nil {
		return roster.Renewal{}, err
	}
	if k.tls, err = newVersion(c.store.Lock(), filepath.Join(folder, tlsKeyFile), channel.CreateKey); err != nil {
		return roster.Renewal{}, err
	}
	if k.sealing, err = newVersion(c.store.Lock(), filepath.Join(folder, sealingKeyFile), seal.Create); err != nil {
		return roster.Renewal{}, err
	}
	e, err := roster.NewEntry(k.identity, m.Hash, m.Name, identity.Client, k.tls.Pin(), k.sealing.Recipient())
	if err != nil {
		return roster.Renewal{}, err
	}
	return roster.Renew(m.keys.identity, m.Hash, m.own, e), nil
}

func newVersion[K any](l *keyfile.Lock, path string, create func(*keyfile.Lock, string) (K, error)) (k K, err error) {
	path, err = keyfile.Next(path)
	if err != nil {
		return k, err
	}
	return create(l, path)
}

// entries returns this client's present roster entry, and the next one if there is one.
func (m *Member) entries() []roster.Entry {
	if m.next == nil {
		return []roster.Entry{m.own}
	}
	return []roster.Entry{m.own, m.next.Entry}
}

// newest returns the keys to be certified. These are the new keys if the coordinator has accepted
// them, and otherwise the present ones.
func (m *Member) newest() keys {
	if m.Accepted {
		return m.nextKeys
	}
	return m.keys
}

// promote puts the new keys into use if they are the ones in e, this client's present roster entry.
func (m *Member) promote(e roster.Entry) error {
	switch {
	case bytes.Equal(e.Bytes(), m.own.Bytes()):
		return nil
	case m.next == nil || !bytes.Equal(e.Bytes(), m.next.Entry.Bytes()):
		return &Refusal{"the roster lacks this client with its own keys: if another party has made keys in its name, its identity was stolen. Ask the coordinator's people to revoke its keys"}
	}
	m.Own, m.Next, m.Accepted = e.Bytes(), nil, false
	m.own, m.next, m.keys, m.nextKeys = e, nil, m.nextKeys, keys{}
	return nil
}
