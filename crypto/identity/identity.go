// Package identity defines the parties of a study. Each party has a long-term Ed25519 key, a name
// and a role. The private key is made on the party's own machine and stays there. Other parties
// recognise the party by the fingerprint of its public key.
//
// Each signature is made for one [Domain], so that it cannot be used for another purpose.
package identity

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"

	"fedpvi/crypto/keyfile"
	"fedpvi/crypto/secret"
)

const keyKind = "fedpvi-identity-key"

// A Domain is the purpose of a signature, such as "fedpvi/v1/plan". It is not empty and has no zero
// byte.
type Domain string

// An Identity is a party's private signing key. Formatting verbs, loggers and encoders do not show
// the key.
type Identity struct {
	public PublicKey
	key    secret.Secret // private key, an ed25519.PrivateKey
}

// Generate makes a new identity from the operating system's random source.
func Generate() (*Identity, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("making an identity: %w", err)
	}
	return fromKey(key), nil
}

func fromKey(key ed25519.PrivateKey) *Identity {
	return &Identity{public: PublicKey(key[ed25519.PublicKeySize:]), key: secret.New(key)}
}

// Create makes a new identity and writes it to a new file of mode 0600. If necessary, it makes the
// directory, with mode 0700. If the file exists, it returns an error. Once Create returns, the file
// survives a power failure.
func Create(l *keyfile.Lock, path string) (*Identity, error) {
	i, err := Generate()
	if err != nil {
		return nil, err
	}
	comment := "fedpvi identity " + i.Fingerprint().String() + "\n" +
		"This is the private key of a party. It was made on this machine: do not copy it to\n" +
		"another, do not send it. Whoever has it signs in the name of the party."
	seed := ed25519.PrivateKey(i.key.Reveal()).Seed()
	defer clear(seed)
	if err := l.Create(path, keyKind, comment, seed); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return i, nil
}

// Load reads an identity from a file that Create wrote. It returns an error if the file is a
// symbolic link, if other users can read it or enter its directory, or if the key was changed.
func Load(l *keyfile.Lock, path string) (*Identity, error) {
	seed, err := l.Load(path, keyKind)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	defer seed.Wipe()
	if n := len(seed.Reveal()); n != ed25519.SeedSize {
		return nil, fmt.Errorf("identity: key file %s: %w: it contains a key of %d bytes, not %d; restore it from a backup", path, keyfile.ErrDamaged, n, ed25519.SeedSize)
	}
	return fromKey(ed25519.NewKeyFromSeed(seed.Reveal())), nil
}

// Public returns the public key.
func (i *Identity) Public() PublicKey { return i.public }

// Fingerprint returns the fingerprint of the public key.
func (i *Identity) Fingerprint() Fingerprint { return i.public.Fingerprint() }

// Sign signs the message under the domain. It panics after Wipe. It also panics if the domain is
// empty or has a zero byte: domains are constants, so this is a programming error.
func (i *Identity) Sign(domain Domain, message []byte) [SignatureSize]byte {
	if i.key.Equal(make([]byte, ed25519.PrivateKeySize)) {
		panic("identity: signing with a key that was wiped")
	}
	return [SignatureSize]byte(ed25519.Sign(i.key.Reveal(), signedMessage(domain, message)))
}

// Wipe overwrites the private key with zeros.
func (i *Identity) Wipe() { i.key.Wipe() }

// Format prints the short fingerprint for every verb.
func (i *Identity) Format(f fmt.State, _ rune) { io.WriteString(f, i.String()) }

// String returns the short fingerprint.
func (i *Identity) String() string { return "identity " + i.Fingerprint().Short() }

// LogValue logs the short fingerprint.
func (i *Identity) LogValue() slog.Value { return slog.StringValue(i.Fingerprint().Short()) }

// signedMessage returns the bytes that are signed with Ed25519: the domain, a zero byte, and the
// SHA-256 of the message. Because a domain has no zero byte, no other domain and message give the
// same bytes.
func signedMessage(domain Domain, message []byte) []byte {
	checkDomain(domain)
	digest := sha256.Sum256(message)
	return append(append([]byte(domain), 0), digest[:]...)
}
