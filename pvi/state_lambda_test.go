package pvi

import (
	"bytes"
	"encoding/json"
	"testing"
)

// The state that is put together by hand is the one that the encoder of JSON writes.
func TestTheServersStateIsJSON(t *testing.T) {
	s := NewServer(protocolOf(t, 2, clientPrivacy, "", ""))
	for i := range s.q.lambda {
		s.q.lambda[i] = product(int64(i-1)<<40, 1<<61)
	}
	s.Next()
	got, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(serverState{
		serverHead{stateVersion, s.protocol.digest},
		s.q.lambda,
		serverRest{s.planned, s.asked, s.sequence, s.open, s.q.summed.marshal()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s\nis not\n%s", got, want)
	}
	if cap(got) > len(got)+64 {
		t.Errorf("%d bytes for a state of %d", cap(got), len(got))
	}
}
