package channel

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/secret"
)

const (
	tlsKind       = "fedpvi-tls-key"
	authorityKind = "fedpvi-authority-key"

	tlsComment = "fedpvi key for connections\n" +
		"It was made on this machine: do not copy it. Whoever has it can take this party's place in\n" +
		"a connection, but cannot sign in its name."
	authorityComment = "fedpvi key of the authority of a study\n" +
		"It certifies the keys for connections of the parties. Whoever has it can certify other\n" +
		"keys, but they are refused where the roster pins a different key."
)

// A Key is a party's Ed25519 key for TLS. The certificate request for it is signed with another
// key, that of the party's identity. Formatting verbs, loggers and encoders do not show the key.
type Key struct {
	public ed25519.PublicKey
	key    secret.Secret // private key, an ed25519.PrivateKey
}

// GenerateKey makes a new key from the operating system's random source.
func GenerateKey() (*Key, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return fromKey(key), nil
}

func fromKey(key ed25519.PrivateKey) *Key {
	return &Key{public: key.Public().(ed25519.PublicKey), key: secret.New(key)}
}

// CreateKey makes a new key and writes it to a new file (see package keyfile).
func CreateKey(l *keyfile.Lock, path string) (*Key, error) {
	return createKey(l, path, tlsKind, tlsComment)
}

// LoadKey reads a key that CreateKey wrote. It returns the errors of [keyfile.Lock.Load].
func LoadKey(l *keyfile.Lock, path string) (*Key, error) { return loadKey(l, path, tlsKind) }

func createKey(l *keyfile.Lock, path, kind, comment string) (*Key, error) {
	k, err := GenerateKey()
	if err != nil {
		return nil, err
	}
	seed := ed25519.PrivateKey(k.key.Reveal()).Seed()
	defer clear(seed)
	if err := l.Create(path, kind, comment, seed); err != nil {
		return nil, err
	}
	return k, nil
}

func loadKey(l *keyfile.Lock, path, kind string) (*Key, error) {
	seed, err := l.Load(path, kind)
	if err != nil {
		return nil, err
	}
	defer seed.Wipe()
	if n := len(seed.Reveal()); n != ed25519.SeedSize {
		return nil, fmt.Errorf("key file %s: %w: it contains a key of %d bytes, not %d; restore it from a backup", path, keyfile.ErrDamaged, n, ed25519.SeedSize)
	}
	return fromKey(ed25519.NewKeyFromSeed(seed.Reveal())), nil
}

// Pin returns the pin of the key, which is the hash that the roster has.
func (k *Key) Pin() identity.Pin {
	info, err := x509.MarshalPKIXPublicKey(k.public)
	if err != nil {
		panic("channel: an Ed25519 key has no encoding: " + err.Error())
	}
	return sha256.Sum256(info)
}

// Public returns the public key. It implements crypto.Signer.
func (k *Key) Public() crypto.PublicKey { return k.public }

// Sign implements crypto.Signer, for crypto/tls and crypto/x509. After Wipe it returns an error.
func (k *Key) Sign(rand io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	if k.key.Equal(make([]byte, ed25519.PrivateKeySize)) {
		return nil, errors.New("cannot sign: the key was wiped")
	}
	return ed25519.PrivateKey(k.key.Reveal()).Sign(rand, message, opts)
}

// Wipe overwrites the key with zeros.
func (k *Key) Wipe() { k.key.Wipe() }

// Format prints the result of String for every verb.
func (k *Key) Format(f fmt.State, _ rune) { io.WriteString(f, k.String()) }

// String returns the same text for every key.
func (k *Key) String() string { return "key for connections" }

// LogValue returns the same text for every key.
func (k *Key) LogValue() slog.Value { return slog.StringValue(k.String()) }
