package bundle

import (
	"errors"
	"io"

	"fedpvi/crypto/identity"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/transcript"
)

// A History has the transcript entries of a bundle.
type History struct {
	Study       signed.Hash
	Coordinator identity.Fingerprint
	All         []transcript.Entry
}

// Entries verifies a bundle and returns the entries of its transcript. It calls open once.
func Entries(open func() (io.ReadCloser, error)) (*History, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	v := newVerifier(f)
	err = v.verify()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return &History{signed.Hash(v.document.Digest), v.report.Coordinator, v.entries}, nil
}
