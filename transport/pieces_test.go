package transport

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"fedpvi/crypto/channel"
	"fedpvi/transport/internal/wirepb"
)

// Pieces returns bytes from which a test can tell the request: 64 bytes for each plan up to the
// requested one, or one byte for each requested key. For a release, the bytes also depend on its
// hash.
func (d *desk) Pieces(_ context.Context, peer channel.Party, of Wanted) (Pieces, error) {
	defer d.called("Pieces", peer)()
	var b []byte
	for i := range of.Ask * 64 {
		b = append(b, byte(i*i)^of.Release[i%32])
	}
	for _, place := range of.KeysOf {
		b = append(b, byte(place))
	}
	return held{body: b}, d.err
}

func (d *desk) Confirm(_ context.Context, peer channel.Party, envelope []byte) error {
	defer d.called("Confirm", peer)()
	d.approved = append(d.approved, envelope)
	return d.err
}

func (d *desk) Complain(_ context.Context, peer channel.Party, ask uint64, place int) error {
	defer d.called("Complain", peer)()
	d.approved = append(d.approved, []byte{byte(ask), byte(place)})
	return d.err
}

//abuse:case A25 pieces of other clients' messages arrive whole
func TestPiecesArriveWholeWhereverTheConnectionIsCut(t *testing.T) {
	const ask = 1200 // the reply of 64 bytes per plan takes more than two messages
	everywhere(t, func(t *testing.T, s *saw) {
		w := newWorld(t)
		c := w.sawn(s)
		want, err := w.desk.Pieces(t.Context(), channel.Party{}, Wanted{Ask: ask})
		check(t, err)
		got, err := w.dial(c).Columns(t.Context(), ask, 64*ask)
		if err != nil || !bytes.Equal(got, want.(held).body) {
			t.Errorf("cut at %v: %d bytes, %v", s.cuts, len(got), err)
		}
	})
}

//abuse:case A25 a release that is fetched arrives whole
func TestReleaseArrivesWholeWhereverTheConnectionIsCut(t *testing.T) {
	const ask = 1200
	everywhere(t, func(t *testing.T, s *saw) {
		w := newWorld(t)
		c := w.sawn(s)
		hash := Hash{1, 2, 3}
		want, err := w.desk.Pieces(t.Context(), channel.Party{}, Wanted{Ask: ask, Release: hash})
		check(t, err)
		var got bytes.Buffer
		err = w.dial(c).Release(t.Context(), ask, hash, 64*ask, &got)
		if err != nil || !bytes.Equal(got.Bytes(), want.(held).body) {
			t.Errorf("cut at %v: %d bytes, %v", s.cuts, got.Len(), err)
		}
	})
}

// If writing fails, the call must end and return the writer's error.
func TestRequestsForReleases(t *testing.T) {
	w := newWorld(t)
	north := w.dial(w.config("north"))
	full := errors.New("full")
	if err := north.Release(t.Context(), 2, Hash{1}, 128, failing{full}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if err := north.Release(t.Context(), 2, Hash{1}, 127, new(bytes.Buffer)); !errors.As(err, new(*Breach)) {
		t.Errorf("%v", err)
	}
	wantRefusal(t, north.Release(t.Context(), 0, Hash{1}, 0, nil), Malformed)
	for _, m := range []*wirepb.PiecesRequest{
		wirepb.PiecesRequest_builder{Ask: 2, Release: make([]byte, 31)}.Build(),
		wirepb.PiecesRequest_builder{Ask: 2, Release: make([]byte, 33)}.Build(),
		wirepb.PiecesRequest_builder{Ask: 2, Release: make([]byte, 32), KeysOf: []uint32{1}}.Build(),
	} {
		_, err := north.gather(t.Context(), m, 128)
		wantRefusal(t, err, Malformed)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestKeysConfirmationsAndComplaints(t *testing.T) {
	w := newWorld(t)
	north := w.dial(w.config("north"))
	if got, err := north.PairKeys(t.Context(), []int{7, 9, 3}, 3); err != nil || !bytes.Equal(got, []byte{7, 9, 3}) {
		t.Errorf("%v, %v", got, err)
	}
	check(t, north.Confirm(t.Context(), []byte("envelope")))
	check(t, north.Complain(t.Context(), 5, 8))
	if len(w.desk.approved) != 2 || string(w.desk.approved[0]) != "envelope" || !bytes.Equal(w.desk.approved[1], []byte{5, 8}) {
		t.Errorf("%v", w.desk.approved)
	}
	for _, method := range []string{"Pieces", "Confirm", "Complain"} {
		if w.desk.peers[method].Name != "north" {
			t.Errorf("%s was called by %v", method, w.desk.peers[method])
		}
	}
	for _, bad := range []struct {
		places []int
		ask    uint64
	}{{nil, 0}, {[]int{0}, 0}, {[]int{maxPlaces + 1}, 0}, {make([]int, maxPlaces+1), 0}} {
		var err error
		if bad.places == nil {
			_, err = north.Columns(t.Context(), bad.ask, 3)
		} else {
			_, err = north.PairKeys(t.Context(), bad.places, 3)
		}
		wantRefusal(t, err, Malformed)
	}
	wantRefusal(t, north.Confirm(t.Context(), nil), Malformed)
	wantRefusal(t, north.Confirm(t.Context(), make([]byte, MaxEnvelope+1)), Malformed)
}

// The client must refuse both more and fewer bytes than it expects. It must also refuse a message
// without bytes, because such messages could go on for ever.
//
//abuse:case A12 a client accepts as many bytes of pieces as the cut has
func TestHostilePieces(t *testing.T) {
	for _, messages := range [][]int{
		{3, 3},  // too few
		{3, 8},  // too many
		{0, 10}, // nothing
		{10, 1}, // more bytes after the end
	} {
		synctest.Test(t, func(t *testing.T) {
			i := &impostor{version: 2, pieces: func(_ *wirepb.PiecesRequest, s wirepb.Study_PiecesServer) error {
				for _, n := range messages {
					if err := s.Send(wirepb.PiecesResponse_builder{Piece: make([]byte, n)}.Build()); err != nil {
						return err
					}
				}
				return nil
			}}
			c := dialImpostor(t, i)
			_, err := c.Columns(t.Context(), 1, 10)
			wantBreach(t, err)
		})
	}
}

// If the coordinator supports only version 1, a client that needs pieces must return an error. A
// coordinator with version 2 must refuse the new methods to a client with version 1.
func TestPiecesNeedVersion2(t *testing.T) {
	w := newWorldWith(t, ServerConfig{}, versions{1, 1})
	_, err := w.dial(w.config("north")).Columns(t.Context(), 1, 64)
	wantRefusal(t, err, Version)
	w = newWorld(t)
	conn := w.raw(w.config("north"))
	for _, method := range []string{wirepb.Study_Pieces_FullMethodName, wirepb.Study_Confirm_FullMethodName} {
		wantRefusal(t, refusalOf(inVersion(t.Context(), "1"), conn, method), Version)
	}
	if len(w.desk.peers) > 0 {
		t.Errorf("the coordinator was called: %v", w.desk.peers)
	}
}
