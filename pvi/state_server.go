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

	"fedpvi/pvi/lambda"
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
	q      *posterior
	rounds []*round
}

// Encoding returns the server's state.
func (s *Server) Encoding() (*Encoding, error) {
	v := serverState{
		Version: serverVersion, Protocol: s.protocol.digest,
		Planned: s.planned, Asked: s.asked, Sequence: s.sequence, Open: map[int]*round{}, Descent: s.q.summed.marshal(),
	}
	e := &Encoding{q: s.q}
	for _, number := range s.Open() {
		r := s.open[number]
		v.Open[number] = &round{Participants: r.Participants, Answered: r.Answered}
		e.rounds = append(e.rounds, r)
	}
	var err error
	e.text, err = json.Marshal(v)
	return e, err
}

// Size is how many bytes it has.
func (e *Encoding) Size() int {
	p := e.q.protocol
	return serverPrefix + len(e.text) + wideSize*p.family.Size() + len(e.rounds)*numberSize*(p.coordinates.CentreSize()+p.messageSize())
}

// WriteTo writes it.
func (e *Encoding) WriteTo(w io.Writer) (int64, error) {
	b := binary.LittleEndian.AppendUint32([]byte{serverVersion}, uint32(len(e.text)))
	if _, err := w.Write(append(b, e.text...)); err != nil {
		return 0, err
	}
	err := e.q.lambdaList().Each(func(block []Wide) error {
		for part := range slices.Chunk(block, numbersAtOnce) {
			b = b[:0]
			for _, l := range part {
				b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, l.Lo), uint64(l.Hi))
			}
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
		return nil
	})
	for _, r := range e.rounds {
		sum := ListOf(r.Sum)
		if r.Sum == nil {
			sum = blocks[int64]{e.q.protocol.messageSize(), func(dst []int64, _ int) error { clear(dst); return nil }}
		}
		for _, list := range []List[int64]{e.q.centreList(r.Centre, r.rests), sum} {
			if err == nil {
				err = list.Each(func(block []int64) error { return writeNumbers(w, block) })
			}
		}
	}
	return int64(e.Size()), err
}

// numbersAtOnce is how many numbers are put together before they are written, or read.
const numbersAtOnce = 2048

func writeNumbers(w io.Writer, list []int64) error {
	b := make([]byte, 0, numberSize*min(len(list), numbersAtOnce))
	for part := range slices.Chunk(list, numbersAtOnce) {
		b = b[:0]
		for _, n := range part {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
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

// errShort says that a state is not whole.
var errShort = errors.New("the state cannot be read: it ends too early")

// head reads what stands before λ: the version, and how long the JSON object is.
func head(state *io.SectionReader) (version int, text int64, err error) {
	var b [serverPrefix]byte
	if state.Size() < serverPrefix {
		return 0, 0, errShort
	}
	if _, err := state.ReadAt(b[:], 0); err != nil {
		return 0, 0, err
	}
	text = int64(binary.LittleEndian.Uint32(b[1:]))
	if text > state.Size()-serverPrefix {
		return 0, 0, errShort
	}
	return int(b[0]), text, nil
}

// lambdaIn returns where λ is in a state of the present version, and what is behind it.
func (p *Protocol) lambdaIn(state *io.SectionReader) (lambda, behind *io.SectionReader, err error) {
	version, text, err := head(state)
	if err != nil {
		return nil, nil, err
	}
	at, size := serverPrefix+text, int64(wideSize*p.family.Size())
	if version != serverVersion || at+size > state.Size() {
		return nil, nil, errors.New("the state has no λ of this study")
	}
	return io.NewSectionReader(state, at, size), io.NewSectionReader(state, at+size, state.Size()-at-size), nil
}

// readServer reads a state, of any version; all but λ if that is to rest there.
func (p *Protocol) readServer(state *io.SectionReader, rest bool) (v serverState, err error) {
	first := make([]byte, 1)
	if n, _ := state.ReadAt(first, 0); n == 1 && first[0] == '{' {
		text, err := section(state, 0, state.Size())
		if err == nil {
			err = decodeState(text, &v, p.serverElements())
		}
		if err != nil {
			return v, err
		}
		return v, checkState(v.Version, "protocol", v.Protocol, p.digest)
	}
	version, size, err := head(state)
	if err != nil {
		return v, err
	}
	if version != serverVersion && version != serverVersion-1 {
		return v, fmt.Errorf("the state has version %d, this program reads versions %d to %d", version, stateVersion, serverVersion)
	}
	text, err := section(state, serverPrefix, size)
	if err == nil {
		err = decodeState(text, &v, p.serverElements())
	}
	if err != nil {
		return v, err
	}
	if v.Version != version || v.Lambda != nil {
		return v, errors.New("the state cannot be read: it is of two versions")
	}
	if err := p.readNumbers(&v, io.NewSectionReader(state, serverPrefix+size, state.Size()-serverPrefix-size), rest); err != nil {
		return v, err
	}
	return v, checkState(stateVersion, "protocol", v.Protocol, p.digest)
}

// section reads bytes of a state.
func section(state io.ReaderAt, at, size int64) ([]byte, error) {
	b := make([]byte, size)
	if _, err := state.ReadAt(b, at); err != nil && size > 0 {
		return nil, fmt.Errorf("the state cannot be read: %w", err)
	}
	return b, nil
}

// readNumbers reads λ, unless it is to rest there, and what of open rounds stands behind it.
func (p *Protocol) readNumbers(v *serverState, numbers *io.SectionReader, rest bool) error {
	var rounds []*round
	if v.Version == serverVersion {
		for _, number := range slices.Sorted(maps.Keys(v.Open)) {
			r := v.Open[number]
			if r == nil || r.Centre != nil || r.Sum != nil {
				return errors.New("the state cannot be read: it is of two versions")
			}
			rounds = append(rounds, r)
		}
	}
	centre := p.coordinates.CentreSize()
	behind := int64(wideSize * p.family.Size())
	if numbers.Size() != behind+int64(numberSize*len(rounds)*(centre+p.messageSize())) {
		return errors.New("the state cannot be read: it has not the length of one of this study")
	}
	if !rest {
		v.Lambda = make([]Wide, 0, p.family.Size())
		err := readEach(numbers, wideSize, p.family.Size(), func(b []byte) error {
			v.Lambda = append(v.Lambda, readWide(b))
			return nil
		})
		if err != nil {
			return err
		}
	} else if _, err := numbers.Seek(behind, io.SeekStart); err != nil {
		return err
	}
	for _, r := range rounds {
		var err error
		if r.Centre, err = p.readCentre(numbers, !rest); err != nil {
			return err
		}
		if r.Sum, err = p.readSum(numbers, len(r.Answered) > 0); err != nil {
			return err
		}
	}
	return nil
}

// readCentre reads a centre, and keeps it or not.
func (p *Protocol) readCentre(from io.Reader, keep bool) (list []int64, err error) {
	if keep && p.centred() {
		list = make([]int64, 0, p.coordinates.CentreSize())
	}
	i := 0
	err = readEach(from, numberSize, p.coordinates.CentreSize(), func(b []byte) error {
		n := int64(binary.LittleEndian.Uint64(b))
		if i++; n > lambda.MaxCentre || n < -lambda.MaxCentre {
			return fmt.Errorf("element %d of a centre is beyond its limit", i)
		}
		if keep {
			list = append(list, n)
		}
		return nil
	})
	return list, err
}

// readSum reads a sum, of which there is none before the first answer: it is all zeros then.
func (p *Protocol) readSum(from io.Reader, some bool) (list []int64, err error) {
	if some {
		list = make([]int64, 0, p.messageSize())
	}
	err = readEach(from, numberSize, p.messageSize(), func(b []byte) error {
		n := int64(binary.LittleEndian.Uint64(b))
		switch {
		case some:
			list = append(list, n)
		case n != 0:
			return errors.New("a round without answers has a sum")
		}
		return nil
	})
	return list, err
}

// readEach hands numbers of a size to f.
func readEach(from io.Reader, size, count int, f func(b []byte) error) error {
	raw := make([]byte, size*min(count, numbersAtOnce))
	for count > 0 {
		raw = raw[:size*min(count, numbersAtOnce)]
		if _, err := io.ReadFull(from, raw); err != nil {
			return fmt.Errorf("the state cannot be read: %w", err)
		}
		for b := range slices.Chunk(raw, size) {
			if err := f(b); err != nil {
				return err
			}
		}
		count -= len(raw) / size
	}
	return nil
}

// RestoreServer returns the server of p whose state MarshalBinary returned.
func RestoreServer(p *Protocol, state []byte) (*Server, error) {
	return p.restoreServer(io.NewSectionReader(bytes.NewReader(state), 0, int64(len(state))), false)
}

// RestoreResting is RestoreServer with λ where it is, as [Server.Rest] has it, if the server can do with that.
func RestoreResting(p *Protocol, state *io.SectionReader) (*Server, error) {
	version, _, err := head(state)
	return p.restoreServer(state, err == nil && version == serverVersion && p.canRest())
}

func (p *Protocol) restoreServer(state *io.SectionReader, rest bool) (*Server, error) {
	v, err := p.readServer(state, rest)
	if err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	s := NewResting(p)
	if !rest {
		s = NewServer(p)
	}
	if err := errors.Join(
		within("plans issued", v.Planned, 0, p.Plans()),
		within("outcomes", v.Sequence, 0, v.Planned),
		within("clients asked", len(v.Asked), len(p.roster), len(p.roster)),
		within("open rounds", len(v.Open), v.Planned-v.Sequence, v.Planned-v.Sequence),
		v.checkRounds(p, rest),
	); err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	s.planned, s.asked, s.sequence = v.Planned, v.Asked, v.Sequence
	if v.Open != nil {
		s.open = v.Open
	}
	if rest {
		err = s.resume(state, v.Descent)
	} else {
		err = s.q.restore(v.Lambda, v.Descent, v.Sequence == p.Plans())
	}
	if err != nil {
		return nil, fmt.Errorf("restoring server: %w", err)
	}
	return s, nil
}

// resume is restore with λ where it is.
func (s *Server) resume(state *io.SectionReader, descent []byte) error {
	if err := within("bytes of a descent", len(descent), 0, 0); err != nil {
		return err
	}
	if err := s.Rest(state); err != nil {
		return err
	}
	if s.q.proper() {
		return nil
	}
	if err := s.Wake(); err != nil { // it is at the edge, or damaged
		return err
	}
	return s.q.restore(s.q.lambda, nil, false)
}

func (v *serverState) checkRounds(p *Protocol, rest bool) error {
	for number, r := range v.Open {
		if err := within("number of an open round", number, 1, v.Planned); err != nil {
			return err
		}
		if r == nil || len(r.Participants) == 0 || !p.selection(r.Participants) || !inOrder(r.Answered, r.Participants) ||
			len(r.Sum) != p.messageSize() && (r.Sum != nil || len(r.Answered) > 0) {
			return fmt.Errorf("round %d is malformed", number)
		}
		if rest {
			continue // their centres were looked at as they were read
		}
		if err := p.checkCentre(r.Centre); err != nil {
			return fmt.Errorf("round %d: %w", number, err)
		}
	}
	return nil
}
