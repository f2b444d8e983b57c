// Package identity is who a party is: a long-term Ed25519 key that was made where it
// lives and never leaves, known to others by its fingerprint; a name; a role.
//
// A key signs nothing but messages under a [Domain], so that no signature that was
// given for one purpose can be shown for another.
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

// A Domain is what a signature is for, "fedpvi/v1/plan". It must not hold a zero byte.
type Domain string

// An Identity signs for a party. Its key is shown by no verb, logger or encoder.
type Identity struct {
	public PublicKey
	key    secret.Secret // ed25519.PrivateKey
}

// Generate makes a new identity from the random source of the operating system.
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

// Create makes a new identity and keeps it in a file that must not exist yet, mode
// 0600, in a directory of mode 0700, which is made if it is not there. The file is
// safe on disk when Create returns.
func Create(path string) (*Identity, error) {
	i, err := Generate()
	if err != nil {
		return nil, err
	}
	comment := "fedpvi identity " + i.Fingerprint().String() + "\n" +
		"This is the private key of a party. It was made on this machine: do not copy it to\n" +
		"another, do not send it. Whoever has it signs in the name of the party."
	seed := ed25519.PrivateKey(i.key.Reveal()).Seed()
	defer clear(seed)
	if err := keyfile.Create(path, keyKind, comment, seed); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return i, nil
}

// Load reads an identity that Create made. It refuses what keyfile.Load refuses: links,
// files and directories open to others, and every change of the key.
func Load(path string) (*Identity, error) {
	seed, err := keyfile.Load(path, keyKind)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	defer seed.Wipe()
	if n := len(seed.Reveal()); n != ed25519.SeedSize {
		return nil, fmt.Errorf("identity: key file %s has a key of %d bytes, not %d: restore it from a backup", path, n, ed25519.SeedSize)
	}
	return fromKey(ed25519.NewKeyFromSeed(seed.Reveal())), nil
}

// Public returns the public key.
func (i *Identity) Public() PublicKey { return i.public }

// Fingerprint returns the fingerprint of the public key.
func (i *Identity) Fingerprint() Fingerprint { return i.public.Fingerprint() }

// Sign signs the message under the domain. It panics after Wipe, and if the domain is
// empty or has a zero byte: domains are constants.
func (i *Identity) Sign(domain Domain, message []byte) [SignatureSize]byte {
	if i.key.Equal(make([]byte, ed25519.PrivateKeySize)) {
		panic("identity: signing with a key that was wiped")
	}
	return [SignatureSize]byte(ed25519.Sign(i.key.Reveal(), signedMessage(domain, message)))
}

// Wipe forgets the private key.
func (i *Identity) Wipe() { i.key.Wipe() }

// Format prints the fingerprint, for every verb.
func (i *Identity) Format(f fmt.State, _ rune) { io.WriteString(f, i.String()) }

// String returns the short fingerprint.
func (i *Identity) String() string { return "identity " + i.Fingerprint().Short() }

// LogValue logs the short fingerprint.
func (i *Identity) LogValue() slog.Value { return slog.StringValue(i.Fingerprint().Short()) }

// signedMessage is what Ed25519 sees: the domain ends at the first zero byte, so two
// pairs of domain and message are the same bytes only if they are the same pairs. The
// message goes in as its SHA-256, so that signing is not slower or larger for a long one.
func signedMessage(domain Domain, message []byte) []byte {
	checkDomain(domain)
	digest := sha256.Sum256(message)
	return append(append([]byte(domain), 0), digest[:]...)
}
