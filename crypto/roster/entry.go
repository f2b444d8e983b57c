// Package roster is the list of the parties of a study: who they are, with which keys
// they sign, connect and open what is sealed for them.
//
// Every party signs its own entry, which shows that it has the key and agrees to be in
// this study under this name and role; the coordinator signs the whole. A change is a
// new version that names the one before, and comes into force when the parties that stay
// have accepted it: nobody joins a study behind the back of those who are in it.
package roster

import (
	"bytes"
	"errors"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/seal"
)

const (
	entryDomain  identity.Domain = "fedpvi/v1/entry"
	acceptDomain identity.Domain = "fedpvi/v1/accept"
)

// A Hash is a SHA-256.
type Hash = [32]byte

// An Entry is one party.
type Entry struct {
	Name      identity.Name
	Role      identity.Role // client or coordinator
	Key       identity.PublicKey
	Pin       identity.Pin   // of its key for TLS
	Recipient seal.Recipient // opens what is sealed for it
	// Signature is the party's own, over the study and all of the above.
	Signature [identity.SignatureSize]byte
}

// NewEntry makes the entry of the signer in a study.
func NewEntry(signer *identity.Identity, study Hash, name identity.Name, role identity.Role, pin identity.Pin, recipient seal.Recipient) (Entry, error) {
	e := Entry{Name: name, Role: role, Key: signer.Public(), Pin: pin, Recipient: recipient}
	e.Signature = signer.Sign(entryDomain, e.statement(study))
	return e, e.Check(study)
}

// Check reports what is wrong with an entry for a study.
func (e Entry) Check(study Hash) error {
	if _, err := identity.ParseName(string(e.Name)); err != nil {
		return err
	}
	if e.Role != identity.Client && e.Role != identity.Coordinator {
		return errors.New("an entry of a roster is of a client or the coordinator")
	}
	if e.Pin == (identity.Pin{}) {
		return errors.New("an entry of a roster has no pin of a key for TLS")
	}
	if e.Recipient == (seal.Recipient{}) {
		return errors.New("an entry of a roster has no recipient to seal for")
	}
	if !e.Key.Verify(entryDomain, e.statement(study), e.Signature) {
		return errors.New("an entry of a roster is not signed by its own key for this study")
	}
	return nil
}

func (e Entry) statement(study Hash) []byte { return e.appendUnsigned(bytes.Clone(study[:])) }

func (e Entry) appendUnsigned(b []byte) []byte {
	b = wire.AppendBytes(b, string(e.Name))
	b = append(b, byte(e.Role))
	b = append(append(b, e.Key[:]...), e.Pin[:]...)
	return append(b, e.Recipient.String()...)
}

// Bytes returns the entry in its one encoding.
func (e Entry) Bytes() []byte { return append(e.appendUnsigned(nil), e.Signature[:]...) }

// ParseEntry takes an entry apart that Bytes made, and checks it for a study.
func ParseEntry(b []byte, study Hash) (Entry, error) {
	r := wire.NewReader(b)
	e := readEntry(r)
	if !r.Done() {
		return Entry{}, ErrForm
	}
	if err := e.Check(study); err != nil {
		return Entry{}, err
	}
	return e, nil
}

// readEntry makes the reader fail for what is not even the form of an entry.
func readEntry(r *wire.Reader) Entry {
	var e Entry
	e.Name = identity.Name(r.Bytes(identity.MaxName))
	e.Role = identity.Role(r.Uint8())
	key, err := identity.ParsePublicKey(r.Take(identity.PublicKeySize))
	if err != nil {
		r.Fail()
	}
	e.Key = key
	r.Fixed(e.Pin[:])
	text := string(r.Take(seal.RecipientSize))
	if r.Failed() {
		return Entry{}
	}
	if e.Recipient, err = seal.ParseRecipient(text); err != nil {
		r.Fail()
	}
	r.Fixed(e.Signature[:])
	return e
}
