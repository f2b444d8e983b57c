package transcript

import (
	"strings"
	"unicode/utf8"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/signed"
)

// A Release has the verified contents of the envelope of a client's answer. It does not have the
// encrypted body.
type Release struct {
	Header signed.Header
	Body   Body // size and hash of the encrypted body
	// Commitment is the hash of the unencrypted release in a study with commitments, and otherwise
	// zero.
	Commitment Hash
	Hash       Hash // SHA-256 of the answer's envelope
}

// ReleaseHeader returns the header of a client's answer to a plan. plan and model are the number
// and model hash in the plan's entry. The ledger fields describe the client's ledger once this
// answer is charged. The sender is set as well, because the header is the context for encrypting
// the body.
func (c Chain) ReleaseHeader(plan uint64, model Hash, sender identity.Fingerprint, ledgerSeq uint64, ledgerHead Hash) signed.Header {
	h := c.Header(signed.Release, plan, model)
	h.Sender, h.LedgerSeq, h.LedgerHead = sender, ledgerSeq, ledgerHead
	return h
}

// SignRelease returns the signed envelope of an answer whose encrypted body is given. The header
// must come from ReleaseHeader, with the signer as sender. commitment is the hash of the
// unencrypted release. In a study without commitments, it is zero.
func SignRelease(signer *identity.Identity, header signed.Header, body []byte, commitment Hash) ([]byte, error) {
	return signed.Sign(signer, header, Release{Body: BodyOf(body), Commitment: commitment}.payload())
}

// payload returns the encoding of the fields that are not in the header.
func (r Release) payload() []byte {
	if r.Commitment == (Hash{}) {
		return r.Body.Append([]byte{version})
	}
	return append(r.Body.Append([]byte{committed}), r.Commitment[:]...)
}

// VerifyRelease verifies an answer's envelope. The client with the given key must have signed it
// for this plan and model hash, and for the transcript's roster and protocol. It must have a
// commitment if and only if the study has commitments. VerifyRelease does not check the ledger
// fields.
func (c Chain) VerifyRelease(envelope []byte, key identity.PublicKey, plan uint64, model Hash) (Release, error) {
	m, err := signed.Verify(envelope, key, c.Header(signed.Release, plan, model))
	if err != nil {
		return Release{}, err
	}
	r, err := parseRelease(m.Payload)
	if err != nil {
		return Release{}, err
	}
	if (r.Commitment != Hash{}) != c.commits {
		return Release{}, ErrCommitment
	}
	r.Header, r.Hash = m.Header, m.Hash
	return r, nil
}

// releaseSize is the maximum size of an answer's payload in bytes.
const releaseSize = 1 + 8 + 32 + 32

func parseRelease(b []byte) (out Release, err error) {
	r := wire.NewReader(b)
	form := r.Uint8()
	out.Body = ReadBody(r)
	switch form {
	case version:
	case committed:
		r.Fixed(out.Commitment[:])
		if out.Commitment == (Hash{}) {
			r.Fail()
		}
	default:
		r.Fail()
	}
	if !r.Done() {
		return Release{}, ErrForm
	}
	return out, nil
}

// SignApproval returns a client's signed consent to take part in a study of the given coordinator.
// It does not refer to a roster, because there is none yet.
func SignApproval(signer *identity.Identity, study Hash, coordinator identity.Fingerprint, ledgerSeq uint64, ledgerHead Hash) ([]byte, error) {
	h := clientHeader(signed.Approval, study)
	h.LedgerSeq, h.LedgerHead = ledgerSeq, ledgerHead
	return signed.Sign(signer, h, append([]byte{version}, coordinator[:]...))
}

// VerifyApproval verifies that the client with the given key has signed its approval, and returns
// the header.
func VerifyApproval(envelope []byte, key identity.PublicKey, study Hash, coordinator identity.Fingerprint) (signed.Header, error) {
	m, err := signed.Verify(envelope, key, clientHeader(signed.Approval, study))
	if err != nil {
		return signed.Header{}, err
	}
	if string(m.Payload) != string(append([]byte{version}, coordinator[:]...)) {
		return signed.Header{}, ErrForm
	}
	return m.Header, nil
}

// clientHeader returns the header of a message that does not depend on a roster.
func clientHeader(domain identity.Domain, study Hash) signed.Header {
	return signed.Header{Version: signed.MaxVersion, Domain: domain, Study: study}
}

// MaxReason is the maximum length, in bytes, of a reason for leaving or aborting a study.
const MaxReason = 400

// Reason returns a reason for leaving or aborting a study as bytes. It must be one line of at most
// MaxReason bytes that is safe in terminals and logs. If it is not, the error is ErrForm.
func Reason(text string) ([]byte, error) {
	if len(text) > MaxReason || !utf8.ValidString(text) || strings.ContainsFunc(text, hidden) {
		return nil, ErrForm
	}
	return []byte(text), nil
}

// hidden reports whether r is a control character, a line separator, a mark that changes the text
// direction, or a byte order mark.
func hidden(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff
}

// SignLeave returns the signed message by which a client leaves a study, with the reason. A client
// may leave before or after the study begins.
func SignLeave(signer *identity.Identity, study Hash, reason string) ([]byte, error) {
	text, err := Reason(reason)
	if err != nil {
		return nil, err
	}
	return signed.Sign(signer, clientHeader(signed.Abort, study), wire.AppendBytes([]byte{version}, text))
}

// VerifyLeave verifies that the client with the given key has signed its withdrawal, and returns
// the reason.
func VerifyLeave(envelope []byte, key identity.PublicKey, study Hash) (reason string, err error) {
	m, err := signed.Verify(envelope, key, clientHeader(signed.Abort, study))
	if err != nil {
		return "", err
	}
	r := versioned(m.Payload)
	text := string(r.Bytes(MaxReason))
	if !r.Done() {
		return "", ErrForm
	}
	_, err = Reason(text)
	return text, err
}
