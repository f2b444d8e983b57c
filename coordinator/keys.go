package coordinator

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/roster"
	"fedpvi/crypto/seal"
	"fedpvi/internal/private"
)

// Each private key has its own file in the state directory:
//
//	identity.key                identity of the coordinator
//	tls.key                     TLS key for connections
//	studies/HASH/authority.key  certifies the keys of the study's members
//	studies/HASH/sealing.key    opens answers; destroyed at the end of the study
//	studies/HASH/gossip.key     shared by the study's members for gossip; made at first use
//
// New keys are in new files, such as identity-2.key. The coordinator's entry in the roster of a
// study determines which versions of identity.key, tls.key and sealing.key the study uses. The
// newest authority.key is used.
type files struct {
	dir  string
	lock *keyfile.Lock
}

func (f files) identity() string { return filepath.Join(f.dir, "identity.key") }
func (f files) tls() string      { return filepath.Join(f.dir, "tls.key") }

func (f files) study(h Hash) string {
	return filepath.Join(f.dir, "studies", hex.EncodeToString(h[:]))
}
func (f files) authority(h Hash) string { return filepath.Join(f.study(h), "authority.key") }
func (f files) sealing(h Hash) string   { return filepath.Join(f.study(h), "sealing.key") }
func (f files) gossip(h Hash) string    { return filepath.Join(f.study(h), "gossip.key") }

// own has all versions of the keys that a coordinator uses in its studies, oldest first. New
// studies use the newest.
type own struct {
	files files

	mu         sync.Mutex
	identities []*identity.Identity
	tls        []*channel.Key
}

// loadKeys reads the keys that the coordinator uses in all its studies. If fresh is true, because
// the coordinator has no study yet, loadKeys makes keys that are missing.
func loadKeys(f files, fresh bool) (*own, error) {
	o := &own{files: f}
	var err error
	if o.identities, err = versions(f, f.identity(), fresh, identity.Load, identity.Create); err != nil {
		return nil, err
	}
	o.tls, err = versions(f, f.tls(), fresh, channel.LoadKey, channel.CreateKey)
	return o, err
}

// versions loads all versions of a key. If there are none and fresh is true, it makes the first.
func versions[K any](f files, path string, fresh bool, load, create func(*keyfile.Lock, string) (K, error)) (all []K, err error) {
	paths, err := keyfile.Versions(path)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		k, err := orCreate(f, path, fresh, load, create)
		return []K{k}, err
	}
	for _, path := range paths {
		k, err := load(f.lock, path)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// newest returns the keys for a new study.
func (o *own) newest() (*identity.Identity, *channel.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.identities[len(o.identities)-1], o.tls[len(o.tls)-1]
}

// privateKeys returns the private keys that belong to a roster entry of the coordinator. If one is
// missing, it returns an error.
func (o *own) privateKeys(e roster.Entry) (who *identity.Identity, key *channel.Key, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, i := range o.identities {
		if i.Public() == e.Key {
			who = i
		}
	}
	for _, k := range o.tls {
		if k.Pin() == e.Pin {
			key = k
		}
	}
	if who == nil || key == nil {
		return nil, nil, fmt.Errorf("%w: a key of the coordinator in the roster of a study is missing: restore the file identity.key or tls.key, or its newer version, from a backup", keyfile.ErrDamaged)
	}
	return who, key, nil
}

func (o *own) renew() (who *identity.Identity, key *channel.Key, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if who, err = next(o.files, o.files.identity(), identity.Create); err != nil {
		return nil, nil, err
	}
	if key, err = next(o.files, o.files.tls(), channel.CreateKey); err != nil {
		return nil, nil, err
	}
	o.identities, o.tls = append(o.identities, who), append(o.tls, key)
	return who, key, nil
}

func next[K any](f files, path string, create func(*keyfile.Lock, string) (K, error)) (k K, err error) {
	path, err = keyfile.Next(path)
	if err != nil {
		return k, err
	}
	return create(f.lock, path)
}

// sealingOf returns the sealing key that belongs to a roster entry of the coordinator, and its file
// path.
func (f files) sealingOf(h Hash, e roster.Entry) (path string, key *seal.Key, err error) {
	paths, err := keyfile.Versions(f.sealing(h))
	if err != nil {
		return "", nil, err
	}
	for _, path := range paths {
		if key, err = seal.Load(f.lock, path); err != nil {
			return "", nil, err
		}
		if key.Recipient().String() == e.Recipient.String() {
			return path, key, nil
		}
		key.Wipe()
	}
	return "", nil, fmt.Errorf("key file %s: %w: the key that opens answers under the present roster is missing; restore the file, or its newer version, from a backup", f.sealing(h), keyfile.ErrDamaged)
}

// destroySealing deletes all versions of the key that decrypts answers, except the file kept.
func (f files) destroySealing(h Hash, kept string) error {
	paths, err := keyfile.Versions(f.sealing(h))
	for _, path := range paths {
		if path != kept {
			err = errors.Join(err, private.Remove(path))
		}
	}
	return err
}

// orCreate loads a key from a file. If the file does not exist and fresh is true, it makes a new
// key.
func orCreate[K any](f files, path string, fresh bool, load, create func(*keyfile.Lock, string) (K, error)) (K, error) {
	if _, err := os.Lstat(path); fresh && errors.Is(err, fs.ErrNotExist) {
		return create(f.lock, path)
	}
	return load(f.lock, path)
}
