package coordinator

import (
	"bytes"
	"reflect"
	"testing"

	"fedpvi/crypto/transcript"
	"fedpvi/transport"
)

// The client offers an answer with its whole body. The coordinator must accept it at once, and
// store it like an answer that came in pieces.
func TestAnswerWithOffer(t *testing.T) {
	s := newStand(t)
	for range 2 {
		have, err := s.study.Offer(t.Context(), s.north.peer, s.good.Envelope, s.good.Body)
		if err != nil || have != int64(len(s.good.Body)) {
			t.Fatalf("the coordinator has %d bytes, %v", have, err)
		}
	}
	if s.study.st.clients["north"].answers != 1 {
		t.Errorf("%d answers were taken", s.study.st.clients["north"].answers)
	}
}

// The client sends one piece, and then an offer with the whole body. The coordinator must tell it
// to continue after the piece.
func TestAnswerWithOfferAfterPiece(t *testing.T) {
	s := newStand(t)
	_, err := s.study.Offer(t.Context(), s.north.peer, s.good.Envelope, nil)
	check(t, err)
	hash := transcript.BodyOf(s.good.Envelope).Hash
	check(t, s.study.Write(t.Context(), s.north.peer, hash, 0, s.good.Body[:minPiece]))
	have, err := s.study.Offer(t.Context(), s.north.peer, s.good.Envelope, s.good.Body)
	if err != nil || have != minPiece {
		t.Fatalf("the coordinator has %d bytes, %v", have, err)
	}
	check(t, s.study.Write(t.Context(), s.north.peer, hash, have, s.good.Body[have:]))
	if s.study.st.clients["north"].answers != 1 {
		t.Errorf("%d answers were taken", s.study.st.clients["north"].answers)
	}
}

// The coordinator must not store a body that was changed or shortened, and must accept the right
// one afterwards.
func TestChangedAnswerWithOfferIsRefused(t *testing.T) {
	s := newStand(t)
	before := s.content()
	changed := bytes.Clone(s.good.Body)
	changed[len(changed)-1] ^= 1
	for what, whole := range map[string][]byte{"a byte changed": changed, "a byte short": changed[1:]} {
		have, err := s.study.Offer(t.Context(), s.north.peer, s.good.Envelope, whole)
		if len(whole) == len(changed) && reasonOf(t, err) != transport.Malformed || len(whole) != len(changed) && (have != 0 || err != nil) {
			t.Errorf("%s: %d, %v", what, have, err)
		}
	}
	if !reflect.DeepEqual(s.content(), before) {
		t.Error("the refused answer changed the store")
	}
	check(t, s.north.submit(t.Context(), s.good, 1<<20))
}
