package seal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"filippo.io/age"

	"fedpvi/crypto/keyfile"
)

const (
	keyKind = "fedpvi-sealing-key"
	// RecipientSize is the length of a recipient's text in bytes.
	RecipientSize = 1959
)

// ErrRecipient is returned for a text that is not a recipient.
var ErrRecipient = errors.New("not a recipient of the hybrid kind: it begins with age1pq1 and has 1959 characters")

// A Recipient is a public key that [Seal] encrypts for.
type Recipient struct {
	text      string // kept, because computing it takes as long as making a seal
	recipient *age.HybridRecipient
}

// ParseRecipient parses the output of String.
func ParseRecipient(text string) (Recipient, error) {
	if len(text) != RecipientSize {
		return Recipient{}, ErrRecipient
	}
	r, err := age.ParseHybridRecipient(text)
	if err != nil {
		return Recipient{}, ErrRecipient
	}
	return Recipient{text, r}, nil
}

// String returns the recipient in the text form of age.
func (r Recipient) String() string { return r.text }

// A Key decrypts messages for its recipient. Formatting verbs, loggers and encoders do not show the
// key.
type Key struct{ identity *age.HybridIdentity }

// Generate makes a new key from the operating system's random source.
func Generate() (*Key, error) {
	identity, err := age.GenerateHybridIdentity()
	if err != nil {
		return nil, fmt.Errorf("making a sealing key: %w", err)
	}
	return &Key{identity}, nil
}

// Create makes a new key and writes it to a new file (see package keyfile) that only the owner can
// read.
func Create(l *keyfile.Lock, path string) (*Key, error) {
	k, err := Generate()
	if err != nil {
		return nil, err
	}
	comment := "fedpvi sealing key\n" +
		"It opens the messages that are sealed for its owner. Destroy it when the study is over:\n" +
		"until then it opens every message since the study began."
	text := []byte(k.identity.String())
	defer clear(text)
	if err := l.Create(path, keyKind, comment, text); err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	return k, nil
}

// Load reads a key that Create wrote. It returns the errors of [keyfile.Lock.Load].
func Load(l *keyfile.Lock, path string) (*Key, error) {
	text, err := l.Load(path, keyKind)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	defer text.Wipe()
	identity, err := age.ParseHybridIdentity(string(text.Reveal()))
	if err != nil { // do not return the error, because its text may quote the key
		return nil, fmt.Errorf("sealing key: key file %s: %w: it holds no key of the hybrid kind; restore it from a backup", path, keyfile.ErrDamaged)
	}
	return &Key{identity}, nil
}

// Recipient returns the key's recipient. It panics after Wipe.
func (k *Key) Recipient() Recipient {
	r := k.identity.Recipient()
	return Recipient{r.String(), r}
}

// Wipe drops the reference to the key. It cannot overwrite the bytes, because only the age package
// has access to them.
func (k *Key) Wipe() { k.identity = nil }

// Format prints the result of String for every verb.
func (k *Key) Format(f fmt.State, _ rune) { io.WriteString(f, k.String()) }

// String returns the same text for every key.
func (k *Key) String() string { return "sealing key" }

// LogValue returns the same text for every key.
func (k *Key) LogValue() slog.Value { return slog.StringValue(k.String()) }
