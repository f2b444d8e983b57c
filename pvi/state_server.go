package pvi

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A server's state is a byte for its version, a JSON object behind its length in four bytes, and λ,
// sixteen bytes for each element, all little-endian. It is written after every round and is mostly λ. The state
// of version 1, which is read still, is a JSON object with λ in it, in hexadecimal.

// serverVersion is the version of the encoding.
const serverVersion = 2

// serverState is what a Server has to remember.
type serverState struct {
	Version  int
	Protocol Digest
	Lambda   []Wide `json:",omitempty"` // of version 1
	Planned  int
	Asked    []int
	Sequence int
	Open     map[int]*round
	Descent  []byte `json:",omitempty"` // float64s, whatever their values
}

const (
	serverPrefix = 1 + 4
	wideSize     = 16
)

// MarshalBinary returns the server's state.
func (s *Server) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// AppendBinary appends the server's state to b.
func (s *Server) AppendBinary(b []byte) ([]byte, error) {
	text, err := json.Marshal(serverState{
		Version: serverVersion, Protocol: s.protocol.digest,
		Planned: s.planned, Asked: s.asked, Sequence: s.sequence, Open: s.open, Descent: s.q.summed.marshal(),
	})
	if err != nil {
		return nil, err
	}
	b = slices.Grow(b, serverPrefix+len(text)+wideSize*len(s.q.lambda))
	b = binary.LittleEndian.AppendUint32(append(b, serverVersion), uint32(len(text)))
	b = append(b, text...)
	for _, w := range s.q.lambda {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, w.lo), uint64(w.hi))
	}
	return b, nil
}

// readServer reads a state, of either version.
func (p *Protocol) readServer(state []byte) (v serverState, err error) {
	if len(state) > 0 && state[0] == '{' {
		if err := decodeState(state, &v, p.serverElements()); err != nil {
			return v, err
		}
		return v, checkState(v.Version, "protocol", v.Protocol, p.digest)
	}
	if len(state) < serverPrefix {
		return v, errors.New("the state cannot be read: it ends too early")
	}
	if state[0] != serverVersion {
		return v, fmt.Errorf("the state has version %d, this program reads versions %d and %d", state[0], stateVersion, serverVersion)
	}
	n, rest := binary.LittleEndian.Uint32(state[1:]), state[serverPrefix:]
	if uint64(n) > uint64(len(rest)) || len(rest)-int(n) != wideSize*p.family.Size() {
		return v, errors.New("the state cannot be read: it has not the length of one of this study")
	}
	text, lambda := rest[:n], rest[n:]
	if err := decodeState(text, &v, p.serverElements()); err != nil {
		return v, err
	}
	if v.Version != serverVersion || v.Lambda != nil {
		return v, errors.New("the state cannot be read: it is of two versions")
	}
	v.Lambda = make([]Wide, p.family.Size())
	for i := range v.Lambda {
		at := lambda[wideSize*i:]
		v.Lambda[i] = Wide{int64(binary.LittleEndian.Uint64(at[8:])), binary.LittleEndian.Uint64(at)}
	}
	return v, checkState(stateVersion, "protocol", v.Protocol, p.digest)
}

// RestoreServer returns the server of p whose state MarshalBinary returned.
func RestoreServer(p *Protocol, state []byte) (*Server, error) {
	v, err := p.readServer(state)
	if err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	s := NewServer(p)
	if err := errors.Join(
		within("plans issued", v.Planned, 0, p.Plans()),
		within("outcomes", v.Sequence, 0, v.Planned),
		within("clients asked", len(v.Asked), len(p.roster), len(p.roster)),
		within("open rounds", len(v.Open), v.Planned-v.Sequence, v.Planned-v.Sequence),
		v.checkRounds(p),
		s.q.restore(v.Lambda, v.Descent, v.Sequence == p.Plans()),
	); err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	s.planned, s.asked, s.sequence = v.Planned, v.Asked, v.Sequence
	if v.Open != nil {
		s.open = v.Open
	}
	return s, nil
}

func (v *serverState) checkRounds(p *Protocol) error {
	for number, r := range v.Open {
		if err := within("number of an open round", number, 1, v.Planned); err != nil {
			return err
		}
		if r == nil || len(r.Sum) != p.messageSize() || len(r.Participants) == 0 ||
			!p.selection(r.Participants) || !inOrder(r.Answered, r.Participants) {
			return fmt.Errorf("round %d is malformed", number)
		}
		if err := p.checkCentre(r.Centre); err != nil {
			return fmt.Errorf("round %d: %w", number, err)
		}
	}
	return nil
}
