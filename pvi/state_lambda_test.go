package pvi

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// RestoreServer reads states of versions 1 to 3. It refuses other versions, and states that mix
// them.
func TestServerStatesOfAllVersions(t *testing.T) {
	s := NewServer(protocolOf(t, 2, clientPrivacy, "", ""))
	for i := range s.q.lambda {
		s.q.lambda[i] = Wide{Hi: 0, Lo: uint64(i)}
	}
	s.q.lambda[0] = Wide{Hi: -1, Lo: 1<<64 - 7}
	check(t, s.q.restore(s.q.lambda, nil, false))
	s.Next()
	now := saved(t, s)
	withSums := map[int]*round{}
	for number, r := range s.open {
		withSums[number] = &round{Participants: r.Participants, Centre: r.Centre, Sum: make([]int64, s.protocol.messages.Size)}
	}
	older := serverState{Version: 1, Protocol: s.protocol.digest, Lambda: s.q.lambda, Planned: s.planned, Asked: s.issued, Sequence: s.sequence, Open: withSums}
	text := func(v serverState) []byte {
		b, err := json.Marshal(v)
		check(t, err)
		return b
	}
	second := older
	second.Version, second.Lambda = 2, nil
	b := text(second)
	b = append(binary.LittleEndian.AppendUint32([]byte{2}, uint32(len(b))), b...)
	for _, w := range s.q.lambda {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, w.Lo), uint64(w.Hi))
	}
	for name, state := range map[string][]byte{"1": text(older), "2": b, "3": now} {
		again, err := RestoreServer(s.protocol, state)
		if err != nil {
			t.Fatalf("version %s: %v", name, err)
		}
		if !slices.Equal(again.q.lambda, s.q.lambda) || !slices.Equal(again.Waiting(), s.Waiting()) || again.planned != s.planned {
			t.Errorf("version %s: another server", name)
		}
		if b, err := again.MarshalBinary(); err != nil || string(b) != string(now) {
			t.Errorf("version %s: another state, %v", name, err)
		}
	}
	joined := func(v serverState, lambda int) []byte {
		b := text(v)
		b = append(binary.LittleEndian.AppendUint32([]byte{serverVersion}, uint32(len(b))), b...)
		return append(b, make([]byte, lambda)...)
	}
	size := wideSize * s.protocol.family.Size()
	both, short := older, older
	both.Version = serverVersion
	short.Version, short.Lambda = serverVersion, nil
	mixed := short
	short.Open = map[int]*round{1: {Participants: s.open[1].Participants}}
	numbers := size + numberSize*s.protocol.messages.Size
	if s.protocol.coordinates.Centred() {
		numbers += numberSize * s.protocol.family.Dim()
	}
	for why, state := range map[string][]byte{
		"ends too early": now[:3],
		"version 4":      append([]byte{4}, now[1:]...),
		"its length":     joined(short, numbers-1),
		"mixes two":      joined(mixed, numbers),
		"two versions":   joined(both, size),
		"has version 3":  text(both),
	} {
		if _, err := RestoreServer(s.protocol, state); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want an error with %q", err, why)
		}
	}
}

// The state of a study with a million coefficients needs little memory.
func TestAServersStateIsCompact(t *testing.T) {
	s := NewServer(protocolOf(t, 2, clientPrivacy, "", ""))
	b := saved(t, s)
	if cap(b) > len(b)+len(b)/4+64 {
		t.Errorf("%d bytes for a state of %d", cap(b), len(b))
	}
}
