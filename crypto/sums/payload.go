package sums

import (
	"fedpvi/crypto/internal/wire"
	"fedpvi/crypto/transcript"
)

// confirmPayload returns the payload of a confirmation. It has the hash of the cut's envelope.
func confirmPayload(cut Hash) []byte { return append([]byte{version}, cut[:]...) }

// sharePayload returns the payload of a share. It has the hash of the certificate's envelope, and
// the size and hash of the body words.
func sharePayload(certificate Hash, words []byte) []byte {
	return transcript.BodyOf(words).Append(append([]byte{version}, certificate[:]...))
}

// dealPayload returns the payload of a deal. It has the size and hash of the body, the hash of the
// plan's envelope, and the salt.
func dealPayload(body transcript.Body, plan, salt Hash) []byte {
	b := body.Append([]byte{version})
	return append(append(b, plan[:]...), salt[:]...)
}

func parseDeal(payload []byte) (body transcript.Body, plan, salt Hash, err error) {
	r := wire.NewReader(payload)
	if r.Uint8() != version {
		r.Fail()
	}
	body = transcript.ReadBody(r)
	r.Fixed(plan[:])
	r.Fixed(salt[:])
	return body, plan, salt, done(r)
}
