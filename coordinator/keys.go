package coordinator

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"fedpvi/crypto/channel"
	"fedpvi/crypto/identity"
)

// Each private key has its own file in the state directory:
//
//	identity.key                identity of the coordinator in all its studies
//	tls.key                     TLS key for connections
//	studies/HASH/authority.key  certifies the keys of the study's members
//	studies/HASH/sealing.key    opens answers; destroyed at the end of the study
//	studies/HASH/gossip.key     shared by the study's members for gossip; made at first use
type files struct{ dir string }

func (f files) identity() string { return filepath.Join(f.dir, "identity.key") }
func (f files) tls() string      { return filepath.Join(f.dir, "tls.key") }

func (f files) study(h Hash) string {
	return filepath.Join(f.dir, "studies", hex.EncodeToString(h[:]))
}
func (f files) authority(h Hash) string { return filepath.Join(f.study(h), "authority.key") }
func (f files) sealing(h Hash) string   { return filepath.Join(f.study(h), "sealing.key") }
func (f files) gossip(h Hash) string    { return filepath.Join(f.study(h), "gossip.key") }

// own holds the keys that a coordinator uses in all its studies.
type own struct {
	identity *identity.Identity
	tls      *channel.Key
}

// loadKeys reads the keys that the coordinator uses in all its studies. If fresh is true, it
// makes missing keys. The caller sets fresh if there is no study yet.
func loadKeys(f files, fresh bool) (own, error) {
	who, err := orCreate(f.identity(), fresh, identity.Load, identity.Create)
	if err != nil {
		return own{}, err
	}
	key, err := orCreate(f.tls(), fresh, channel.LoadKey, channel.CreateKey)
	return own{who, key}, err
}

// orCreate loads a key from a file. If the file does not exist and fresh is true, it makes a new
// key.
func orCreate[K any](path string, fresh bool, load, create func(string) (K, error)) (K, error) {
	if _, err := os.Lstat(path); fresh && errors.Is(err, fs.ErrNotExist) {
		return create(path)
	}
	return load(path)
}

// destroy removes the file of a key. It succeeds if the file does not exist.
func destroy(path string) error {
	if err := os.Remove(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
