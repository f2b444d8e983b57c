package pvi

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"fedpvi/pvi/phase"
)

// A server's state has four parts, in this order:
//   - one byte for the version;
//   - a JSON object, preceded by its length in four bytes;
//   - λ, with sixteen bytes for each element;
//   - for each open round, in the order of the plans' numbers, the centre in the plan and the sum of
//     the answers so far, with eight bytes for each element.
//
// All numbers are little-endian. The state is written after every round and consists mostly of
// numbers, so a binary form saves time.
//
// Two older versions can still be read. In version 2 the JSON object contains the centres and sums.
// In version 1 the state is only the JSON object, which contains λ in hexadecimal.

const serverVersion = 3

// serverState is the JSON part of a server's state.
type serverState struct {
	Version  int
	Protocol Digest
	Lambda   []Wide `json:",omitempty"` // only in version 1; later versions store λ after the JSON object
	Planned  int
	Asked    []int
	Sequence int
	Open     map[int]*round
	// Descent is the state of the server's [method.Walk]. It may contain NaN or infinity, which JSON
	// numbers cannot represent.
	Descent []byte `json:",omitempty"`
}

const (
	serverPrefix = 1 + 4
	wideSize     = 16
	numberSize   = 8
)

// MarshalBinary returns the server's state in the current version.
func (s *Server) MarshalBinary() ([]byte, error) {
	e, err := s.Encode()
	if err != nil {
		return nil, err
	}
	return e.Bytes()
}

// Encode returns the encoding of the server's state.
func (s *Server) Encode() (Encoding, error) {
	p := s.protocol
	v := serverState{
		Version: serverVersion, Protocol: p.digest,
		Planned: s.planned, Asked: s.issued, Sequence: s.sequence, Open: map[int]*round{}, Descent: s.q.walk.Save(),
	}
	for number, r := range s.open {
		v.Open[number] = &round{Participants: r.Participants, Answered: r.Answered, Releases: r.Releases}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return Encoding{}, err
	}
	head := append(binary.LittleEndian.AppendUint32([]byte{serverVersion}, uint32(len(text))), text...)
	return Encoding{
		Size: len(head) + p.numbersSize(len(s.open)),
		Write: func(w io.Writer) error {
			b := bufio.NewWriterSize(w, writeSize)
			b.Write(head) //nolint:errcheck // Flush returns the first error, here and below
			s.writeNumbers(b)
			return b.Flush()
		},
	}, nil
}

// writeSize is the size of the buffer of writeNumbers in bytes.
const writeSize = 1 << 16

// writeNumbers writes λ, and the centres and sums of the open rounds. An error shows up in w.Flush.
func (s *Server) writeNumbers(w *bufio.Writer) {
	for _, l := range s.q.lambda {
		writeNumber(w, int64(l.Lo))
		writeNumber(w, l.Hi)
	}
	for _, number := range s.Open() {
		r := s.open[number]
		for _, n := range r.Centre {
			writeNumber(w, n)
		}
		for i := range s.protocol.messages.Size {
			if r.Sum == nil { // No client has answered yet, so the sum is zero.
				writeNumber(w, 0)
			} else {
				writeNumber(w, r.Sum[i])
			}
		}
	}
}

func writeNumber(w *bufio.Writer, n int64) {
	w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), uint64(n))) //nolint:errcheck // Flush returns the error
}

func (p *Protocol) numbersSize(rounds int) int {
	return wideSize*p.family.Size() + rounds*numberSize*(p.coordinates.CentreSize()+p.messages.Size)
}

// RestoreServer returns a server of p with a state that MarshalBinary returned.
func RestoreServer(p *Protocol, state []byte) (*Server, error) {
	s, err := p.restoreServer(state)
	if err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	return s, nil
}

func (p *Protocol) restoreServer(state []byte) (*Server, error) {
	v, err := p.readServer(state)
	if err != nil {
		return nil, err
	}
	s := NewServer(p)
	if err := errors.Join(
		phase.Within("plans issued", v.Planned, 0, p.Plans()),
		phase.Within("outcomes", v.Sequence, 0, v.Planned),
		phase.Within("clients with plans", len(v.Asked), len(p.roster.Clients), len(p.roster.Clients)),
		phase.Within("open rounds", len(v.Open), v.Planned-v.Sequence, v.Planned-v.Sequence),
		v.checkRounds(p),
	); err != nil {
		return nil, err
	}
	s.planned, s.issued, s.sequence = v.Planned, v.Asked, v.Sequence
	if v.Open != nil {
		s.open = v.Open
	}
	return s, s.q.restore(v.Lambda, v.Descent, v.Sequence == p.Plans())
}

func (p *Protocol) readServer(state []byte) (v serverState, err error) {
	if len(state) > 0 && state[0] == '{' {
		if err := phase.DecodeState(state, &v, p.serverElements()); err != nil {
			return v, err
		}
		return v, phase.CheckState(v.Version, "protocol", v.Protocol, p.digest)
	}
	if len(state) < serverPrefix {
		return v, errShort
	}
	version, size, state := int(state[0]), int(binary.LittleEndian.Uint32(state[1:])), state[serverPrefix:]
	if size > len(state) {
		return v, errShort
	}
	if version != serverVersion && version != serverVersion-1 {
		return v, fmt.Errorf("the state has version %d, this program reads versions %d to %d", version, phase.StateVersion, serverVersion)
	}
	if err := phase.DecodeState(state[:size], &v, p.serverElements()); err != nil {
		return v, err
	}
	if v.Version != version || v.Lambda != nil {
		return v, errMixed
	}
	if err := p.readNumbers(&v, state[size:]); err != nil {
		return v, err
	}
	return v, phase.CheckState(phase.StateVersion, "protocol", v.Protocol, p.digest)
}

var (
	errShort = errors.New("the state cannot be read: it ends too early")
	errMixed = errors.New("the state cannot be read: it mixes two versions")
)

// readNumbers decodes λ and, in the current version, the centres and sums of the open rounds.
func (p *Protocol) readNumbers(v *serverState, b []byte) error {
	var rounds []*round
	if v.Version == serverVersion {
		for _, number := range slices.Sorted(maps.Keys(v.Open)) {
			r := v.Open[number]
			if r == nil || r.Centre != nil || r.Sum != nil {
				return errMixed
			}
			rounds = append(rounds, r)
		}
	}
	if len(b) != p.numbersSize(len(rounds)) {
		return errors.New("the state cannot be read: its length does not fit this study")
	}
	v.Lambda = make([]Wide, p.family.Size())
	for i := range v.Lambda {
		v.Lambda[i] = Wide{Hi: int64(binary.LittleEndian.Uint64(b[8:])), Lo: binary.LittleEndian.Uint64(b)}
		b = b[wideSize:]
	}
	for _, r := range rounds {
		r.Centre, b = cutNumbers(b, p.coordinates.CentreSize())
		r.Sum, b = cutNumbers(b, p.messages.Size)
		if len(r.Answered) > 0 {
			continue
		}
		if slices.ContainsFunc(r.Sum, func(n int64) bool { return n != 0 }) {
			return errors.New("a round without answers has a sum")
		}
		r.Sum = nil
	}
	return nil
}

func cutNumbers(b []byte, n int) ([]int64, []byte) {
	if n == 0 {
		return nil, b
	}
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(binary.LittleEndian.Uint64(b[numberSize*i:]))
	}
	return list, b[numberSize*n:]
}

func (v *serverState) checkRounds(p *Protocol) error {
	for number, r := range v.Open {
		if err := phase.Within("number of an open round", number, 1, v.Planned); err != nil {
			return err
		}
		if r == nil || len(r.Participants) == 0 || !p.roster.Selects(r.Participants) || !phase.InOrder(r.Answered, r.Participants) ||
			len(r.Sum) != p.messages.Size && (r.Sum != nil || len(r.Answered) > 0) {
			return fmt.Errorf("round %d is malformed", number)
		}
		if p.publishes() && len(r.Releases) != len(r.Answered)*p.messages.Size || !p.publishes() && r.Releases != nil {
			return fmt.Errorf("round %d has no release for each answer", number)
		}
		if err := p.checkCentre(r.Centre); err != nil {
			return fmt.Errorf("round %d: %w", number, err)
		}
	}
	return nil
}
