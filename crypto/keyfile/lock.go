package keyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"filippo.io/age"

	"fedpvi/crypto/secret"
	"fedpvi/internal/private"
)

// LockFile is the name of the file, in a state directory, with the key that decrypts the protected
// key files. This file is encrypted too.
const LockFile = "lock.age"

// A Lock reads and writes the key files in a state directory. If the directory has a file lock.age,
// its key files are age files that are encrypted for a hybrid key. This key is in lock.age, which
// is itself encrypted with a passphrase or for age identities. A nil *Lock belongs to a directory
// without lock.age, and writes unencrypted key files.
//
// A Lock also reads unencrypted key files, so that a directory remains usable if Protect or
// Unprotect was interrupted.
type Lock struct{ key *age.HybridIdentity }

// maxProtected is the maximum size in bytes of a protected key file.
const maxProtected = maxFile + 4<<10

// ageFile is the first line of any file in the age format.
var ageFile = []byte("age-encryption.org/v1\n")

// ErrLocked is wrapped by the error if the operator's passphrase or identities do not open the
// lock. All files remain unchanged.
var ErrLocked = errors.New("the keys stay locked")

// Open opens the lock of a state directory. If the key files are not protected, it returns nil. But
// if u.File is set, the operator expects protected files, and Open returns an error.
func Open(dir string, u Unlock) (*Lock, error) {
	path := filepath.Join(dir, LockFile)
	there, err := private.Exists(path)
	if err == nil && !there {
		if u.File != "" {
			return nil, fmt.Errorf("%w: --unlock names %s, but the keys in %s are not protected: protect them with keys protect, or leave out --unlock", ErrLocked, u.File, dir)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sealed, err := private.Read(path, maxProtected)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	m, err := u.material(fmt.Sprintf("Passphrase for the keys in %s:", dir))
	if err != nil {
		return nil, err
	}
	return openLock(path, sealed, m)
}

func openLock(path string, sealed []byte, m material) (*Lock, error) {
	text, err := decrypt(sealed, m.identities)
	if err != nil {
		return nil, m.explain(path, err)
	}
	defer clear(text)
	key, err := age.ParseHybridIdentity(string(bytes.TrimSpace(text)))
	if err != nil { // do not return the error, because its text may quote the key
		return nil, fmt.Errorf("%s: %w: it has no key for key files; restore it from a backup", path, ErrDamaged)
	}
	return &Lock{key}, nil
}

// Create writes a key of the given kind to a new file. It never overwrites a file. The key may have
// at most 4 KiB. The comment may have several lines, and must not reveal the key.
func (l *Lock) Create(path, kind, comment string, key []byte) error {
	if len(key) > maxKey {
		return fmt.Errorf("the key has %d bytes: a key file holds at most %d", len(key), maxKey)
	}
	text := encode(kind, comment, key)
	defer clear(text)
	content, err := l.protect(text)
	if err != nil {
		return err
	}
	if err := private.Create(path, content); err != nil {
		return fmt.Errorf("key file: %w", err)
	}
	return nil
}

// Load reads a key of the given kind. It returns an error if the file is a symbolic link, if other
// users can read it or enter its directory, or if the last line is not exactly as Create writes it.
func (l *Lock) Load(path, kind string) (secret.Secret, error) {
	text, err := l.text(path)
	if err != nil {
		return secret.Secret{}, err
	}
	defer clear(text)
	key, err := decode(kind, text)
	if err != nil {
		return secret.Secret{}, fmt.Errorf("key file %s: %w", path, err)
	}
	return secret.New(key), nil
}

func (l *Lock) text(path string) ([]byte, error) {
	content, err := private.Read(path, maxProtected)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("key file %s: %w: it is missing; restore it from a backup", path, ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	if !bytes.HasPrefix(content, ageFile) {
		return content, nil
	}
	if l == nil {
		return nil, fmt.Errorf("key file %s: %w: it is protected, and %s is missing; restore that file from a backup", path, ErrDamaged, LockFile)
	}
	text, err := decrypt(content, []age.Identity{l.key})
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w: the key of %s does not open it; restore both from one backup", path, ErrDamaged, LockFile)
	}
	return text, nil
}

// protect returns the content of a key file. This is the text, which is encrypted if the lock has a
// key.
func (l *Lock) protect(text []byte) ([]byte, error) {
	if l == nil {
		return text, nil
	}
	return encrypt(text, []age.Recipient{l.key.Recipient()})
}

// Format prints the result of String for every verb.
func (l *Lock) Format(f fmt.State, _ rune) { io.WriteString(f, l.String()) }

// String returns the same text for every lock.
func (*Lock) String() string { return "[lock]" }

func encrypt(text []byte, to []age.Recipient) ([]byte, error) {
	var b bytes.Buffer
	w, err := age.Encrypt(&b, to...)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

func decrypt(sealed []byte, with []age.Identity) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(sealed), with...)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
