package pvi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// A server's state is a byte for its version, a JSON object behind its length in four bytes, λ,
// sixteen bytes for each element, and of each open round, in order, the centre and the sum, eight bytes
// for each; all little-endian. It is written after every round and is mostly numbers. The state
// of version 2, which is read still, has those of rounds in the JSON object, and that of version 1 is the object
// alone, with λ in it, in hexadecimal.

// serverVersion is the version of the encoding.
const serverVersion = 3

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
	numberSize   = 8
)

// An Encoding is a server's state, to be written before the server goes on.
type Encoding struct {
	text   []byte
	lambda []Wide
	lists  [][]int64
}

// Encoding returns the server's state.
func (s *Server) Encoding() (*Encoding, error) {
	v := serverState{
		Version: serverVersion, Protocol: s.protocol.digest,
		Planned: s.planned, Asked: s.asked, Sequence: s.sequence, Open: map[int]*round{}, Descent: s.q.summed.marshal(),
	}
	e := &Encoding{lambda: s.q.lambda}
	for _, number := range s.Open() {
		r := s.open[number]
		v.Open[number] = &round{Participants: r.Participants, Answered: r.Answered}
		e.lists = append(e.lists, r.Centre, r.Sum)
	}
	var err error
	e.text, err = json.Marshal(v)
	return e, err
}

// Size is how many bytes it has.
func (e *Encoding) Size() int {
	n := serverPrefix + len(e.text) + wideSize*len(e.lambda)
	for _, l := range e.lists {
		n += numberSize * len(l)
	}
	return n
}

// WriteTo writes it.
func (e *Encoding) WriteTo(w io.Writer) (int64, error) {
	const atOnce = 2048 // elements
	b := binary.LittleEndian.AppendUint32([]byte{serverVersion}, uint32(len(e.text)))
	_, err := w.Write(append(b, e.text...))
	for part := range slices.Chunk(e.lambda, atOnce) {
		b = b[:0]
		for _, l := range part {
			b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, l.lo), uint64(l.hi))
		}
		if err == nil {
			_, err = w.Write(b)
		}
	}
	for _, list := range e.lists {
		for part := range slices.Chunk(list, atOnce) {
			b = b[:0]
			for _, n := range part {
				b = binary.LittleEndian.AppendUint64(b, uint64(n))
			}
			if err == nil {
				_, err = w.Write(b)
			}
		}
	}
	return int64(e.Size()), err
}

// MarshalBinary returns the server's state.
func (s *Server) MarshalBinary() ([]byte, error) {
	e, err := s.Encoding()
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(make([]byte, 0, e.Size()))
	_, err = e.WriteTo(b)
	return b.Bytes(), err
}

// readServer reads a state, of any version.
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
	version := int(state[0])
	if version != serverVersion && version != serverVersion-1 {
		return v, fmt.Errorf("the state has version %d, this program reads versions %d to %d", version, stateVersion, serverVersion)
	}
	n, rest := binary.LittleEndian.Uint32(state[1:]), state[serverPrefix:]
	if uint64(n) > uint64(len(rest)) {
		return v, errors.New("the state cannot be read: it ends too early")
	}
	text, rest := rest[:n], rest[n:]
	if err := decodeState(text, &v, p.serverElements()); err != nil {
		return v, err
	}
	if v.Version != version || v.Lambda != nil {
		return v, errors.New("the state cannot be read: it is of two versions")
	}
	if err := p.readNumbers(&v, rest); err != nil {
		return v, err
	}
	return v, checkState(stateVersion, "protocol", v.Protocol, p.digest)
}

// readNumbers reads λ, and what of open rounds stands behind it.
func (p *Protocol) readNumbers(v *serverState, b []byte) error {
	var lists []*[]int64
	sizes := []int{0, p.messageSize()}
	if p.centred() {
		sizes[0] = p.family.Dim()
	}
	if v.Version == serverVersion {
		for _, number := range slices.Sorted(maps.Keys(v.Open)) {
			r := v.Open[number]
			if r == nil || r.Centre != nil || r.Sum != nil {
				return errors.New("the state cannot be read: it is of two versions")
			}
			lists = append(lists, &r.Centre, &r.Sum)
		}
	}
	if len(b) != wideSize*p.family.Size()+numberSize*len(lists)/2*(sizes[0]+sizes[1]) {
		return errors.New("the state cannot be read: it has not the length of one of this study")
	}
	v.Lambda = make([]Wide, p.family.Size())
	for i := range v.Lambda {
		v.Lambda[i] = Wide{int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b)}
		b = b[wideSize:]
	}
	for k, list := range lists {
		if sizes[k%2] > 0 {
			*list = make([]int64, 0, sizes[k%2])
		}
		for range sizes[k%2] {
			*list = append(*list, int64(binary.LittleEndian.Uint64(b)))
			b = b[numberSize:]
		}
	}
	return nil
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
