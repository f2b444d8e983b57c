// Package roster implements the list of a study's parties. It has each party's public keys: for its
// signatures, for its connections, and for encrypting messages to it.
//
// Each party signs its own entry, to show that it has the key and agrees to be in this study with
// this name and role. The coordinator signs the whole roster. A [Change] gives parties new keys, or
// revokes the keys of clients. It makes a new version of the roster, which has the hash of the
// previous one. A party signs its new entry with its previous identity. So each of its keys is
// linked to the first version by a chain of its own signatures, and no party can join later.
package roster

import (
	"bytes"
	"errors"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/seal"
)

const (
	entryDomain identity.Domain = "fedpvi/v1/entry"
	renewDomain identity.Domain = "fedpvi/v1/renewal"
)

// A Hash is a SHA-256.
type Hash = [32]byte

// An Entry is the entry of one party in the roster.
type Entry struct {
	Name      identity.Name
	Role      identity.Role // client or coordinator
	Key       identity.PublicKey
	Pin       identity.Pin
	Recipient seal.Recipient // public key for encrypting messages to the party
	// Signature is the party's own signature over the study's hash and all fields above.
	Signature [identity.SignatureSize]byte
}

// NewEntry returns the signer's entry for a study, with the signer's signature.
func NewEntry(signer *identity.Identity, study Hash, name identity.Name, role identity.Role, pin identity.Pin, recipient seal.Recipient) (Entry, error) {
	e := Entry{Name: name, Role: role, Key: signer.Public(), Pin: pin, Recipient: recipient}
	e.Signature = signer.Sign(entryDomain, e.statement(study))
	return e, e.Check(study)
}

// Check returns an error if the entry is not valid in the study.
func (e Entry) Check(study Hash) error {
	if _, err := identity.ParseName(string(e.Name)); err != nil {
		return err
	}
	if e.Role != identity.Client && e.Role != identity.Coordinator {
		return errors.New("the role of a roster entry must be client or coordinator")
	}
	if e.Pin == (identity.Pin{}) {
		return errors.New("a roster entry has no pin of a TLS key")
	}
	if e.Recipient == (seal.Recipient{}) {
		return errors.New("a roster entry has no recipient key for sealed messages")
	}
	if !e.Key.Verify(entryDomain, e.statement(study), e.Signature) {
		return errors.New("a roster entry is not signed with its own key for this study")
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

// Bytes returns the encoding of the entry.
func (e Entry) Bytes() []byte { return append(e.appendUnsigned(nil), e.Signature[:]...) }

// ParseEntry decodes the output of Bytes. It returns an error if the entry is malformed or not
// valid in the study.
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

// readEntry decodes an entry. If the entry is malformed, all later reads fail.
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
