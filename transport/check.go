package transport

import (
	"crypto/sha256"

	"fedpvi/transport/internal/wirepb"
)

// The checks in this file never repeat the content of a message in an error.

func checkJoin(m *wirepb.JoinRequest) error {
	for _, part := range [][]byte{m.GetToken(), m.GetEntry(), m.GetRequest()} {
		if len(part) == 0 || len(part) > maxIdentity {
			return refuse(Malformed, "a request to join needs a token, an entry and a certificate request, of at most %d bytes each", maxIdentity)
		}
	}
	return nil
}

func checkRenew(m *wirepb.RenewRequest) error {
	if n := len(m.GetRequest()); n == 0 || n > maxIdentity {
		return refuse(Malformed, "a renewal needs a certificate request of at most %d bytes", maxIdentity)
	}
	if len(m.GetRenewal()) > maxIdentity {
		return refuse(Malformed, "new keys have at most %d bytes", maxIdentity)
	}
	return nil
}

func checkEnvelope(envelope []byte) error {
	if n := len(envelope); n == 0 || n > MaxEnvelope {
		return refuse(Malformed, "the envelope has %d bytes: send 1 to %d", n, MaxEnvelope)
	}
	return nil
}

func checkFollow(m *wirepb.FollowRequest) error {
	if m.GetNumber() == 0 {
		return refuse(Malformed, "entries are numbered from 1")
	}
	return nil
}

// checkPieces checks a request for a release, or for the parts of other clients' messages that are
// meant for the caller. It returns what is requested as a Wanted.
func checkPieces(m *wirepb.PiecesRequest) (Wanted, error) {
	w := Wanted{Ask: m.GetAsk()}
	if hash := m.GetRelease(); len(hash) > 0 {
		if copy(w.Release[:], hash); len(hash) != len(w.Release) || w.Ask == 0 || len(m.GetKeysOf()) > 0 {
			return Wanted{}, refuse(Malformed, "a request for a release must name a plan and a hash of %d bytes", len(w.Release))
		}
		return w, nil
	}
	if n := len(m.GetKeysOf()); n > maxPlaces || n == 0 && w.Ask == 0 {
		return Wanted{}, refuse(Malformed, "a request for pieces must name a plan, or up to %d clients", maxPlaces)
	}
	for _, place := range m.GetKeysOf() {
		if place == 0 || place > maxPlaces {
			return Wanted{}, refuse(Malformed, "the place of a client must be 1 to %d", maxPlaces)
		}
		w.KeysOf = append(w.KeysOf, int(place))
	}
	return w, nil
}

// checkOffer checks that the first message of an answer is an offer. It returns the size of the
// body that is offered, which must not exceed limit.
func checkOffer(m *submission, limit int64) (int64, error) {
	if m.offer == nil {
		return 0, refuse(Malformed, "a release must begin with its offer")
	}
	if err := checkEnvelope(m.offer.envelope); err != nil {
		return 0, err
	}
	size := m.offer.size
	if size == 0 {
		return 0, refuse(Malformed, "the release has no body")
	}
	if size > uint64(limit) {
		return 0, refuse(TooLarge, "the release has %d bytes: this study allows at most %d", size, limit)
	}
	if n := len(m.offer.body); n > 0 && (uint64(n) != size || n > MaxPiece) {
		return 0, refuse(Malformed, "the offer has %d of the %d bytes of the release: send none, or all if there are at most %d", n, size, MaxPiece)
	}
	return int64(size), nil
}

// checkPiece checks the next piece of a body and returns its bytes. size is the size of the whole
// body, and have is how much of it has arrived.
func checkPiece(m *submission, have, size int64) ([]byte, error) {
	if m.piece == nil {
		return nil, refuse(Malformed, "pieces must follow the offer of a release")
	}
	piece := m.piece.data
	if n := len(piece); n == 0 || n > MaxPiece {
		return nil, refuse(Malformed, "the piece has %d bytes: send 1 to %d", n, MaxPiece)
	}
	if m.piece.offset != uint64(have) {
		return nil, refuse(OutOfPlace, "the piece begins at byte %d, but %d bytes of the release have arrived", m.piece.offset, have)
	}
	if int64(len(piece)) > size-have {
		return nil, refuse(TooLarge, "the release has more bytes than the %d that were offered", size)
	}
	return piece, nil
}

// checkStart checks that an entry's start message has the given number and offset, and announces at
// most limit bytes.
func checkStart(m *wirepb.FollowResponse_Start, number uint64, offset, limit int64) error {
	switch {
	case m.GetNumber() != number:
		return refuse(OutOfPlace, "entry %d came, but entry %d is next", m.GetNumber(), number)
	case m.GetOffset() != uint64(offset):
		return refuse(OutOfPlace, "entry %d came from byte %d, but byte %d is next", number, m.GetOffset(), offset)
	case m.GetSize() > uint64(limit):
		return refuse(TooLarge, "entry %d has %d bytes: at most %d are accepted", number, m.GetSize(), limit)
	case len(m.GetSha256()) != sha256.Size:
		return refuse(Malformed, "entry %d does not have the hash of its body", number)
	}
	return checkEnvelope(m.GetEnvelope())
}
