package transcript

import (
	"strings"
	"unicode/utf8"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/signed"
)

// A Release contains the verified data from the envelope of a client's answer, without the
// encrypted body.
type Release struct {
	Header signed.Header
	Body   Body // size and hash of the encrypted body
	// Commitment is the hash of the release before encryption in a study with commitments, and
	// otherwise zero.
	Commitment Hash
	Hash       Hash // SHA-256 of the envelope of the answer
}

// ReleaseHeader returns the header of a client's answer to a plan. plan and model are the number
// and the model hash in the plan's entry. The ledger fields describe the client's ledger after the
// charge for this answer. The sender is set too, because the header is the context with which the
// body is encrypted.
func (c Chain) ReleaseHeader(plan uint64, model Hash, sender identity.Fingerprint, ledgerSeq uint64, ledgerHead Hash) signed.Header {
	h := c.Header(signed.Release, plan, model)
	h.Sender, h.LedgerSeq, h.LedgerHead = sender, ledgerSeq, ledgerHead
	return h
}

// SignRelease returns the signed envelope of an answer with the given encrypted body. The header
// must come from ReleaseHeader, with the signer as the sender. commitment is the hash of the
// release before encryption, or zero in a study without commitments.
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

// VerifyRelease verifies the envelope of an answer. The client with the given key must have signed
// it for the given plan and model hash, and for the roster and the protocol of the transcript. It
// must contain a commitment if and only if the study has them. VerifyRelease does not check the
// ledger fields.
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

// releaseSize is the largest size of the payload of an answer in bytes.
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
// It contains no hash of the roster, which is not known yet.
func SignApproval(signer *identity.Identity, study Hash, coordinator identity.Fingerprint, ledgerSeq uint64, ledgerHead Hash) ([]byte, error) {
	h := clientHeader(signed.Approval, study)
	h.LedgerSeq, h.LedgerHead = ledgerSeq, ledgerHead
	return signed.Sign(signer, h, append([]byte{version}, coordinator[:]...))
}

// VerifyApproval verifies the approval of the client with the given key, and returns its header.
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

// MaxReason is the maximum length of the reason for leaving or aborting a study, in bytes.
const MaxReason = 400

// Reason returns the reason for leaving or aborting a study as bytes. It must be one line of at
// most MaxReason bytes that is safe in a terminal or a log. Otherwise the error is ErrForm.
func Reason(text string) ([]byte, error) {
	if len(text) > MaxReason || !utf8.ValidString(text) || strings.ContainsFunc(text, hidden) {
		return nil, ErrForm
	}
	return []byte(text), nil
}

// hidden reports whether r is a control character, a line separator, a mark that changes the
// direction of text, or a byte order mark.
func hidden(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff
}

// SignLeave returns the signed message with which a client leaves a study, before or after it
// begins, with the reason.
func SignLeave(signer *identity.Identity, study Hash, reason string) ([]byte, error) {
	text, err := Reason(reason)
	if err != nil {
		return nil, err
	}
	return signed.Sign(signer, clientHeader(signed.Abort, study), wire.AppendBytes([]byte{version}, text))
}

// VerifyLeave verifies that the client with the given key has signed a leave, and returns its
// reason.
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
