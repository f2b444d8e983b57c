package pvi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/lambda"
)

// Of a million coefficients λ and the centres of clipping coordinates would be most of a server's memory, although it looks
// at them a few times a round, an element after the other. They are in the server's state as well. A server at rest reads them
// from there, and remembers how λ has moved since: what it has in memory is the sum of a round.

// ErrState says that what a server at rest has in its state could not be read. The server is good for nothing any
// more: its state has to be restored.
var ErrState = errors.New("λ could not be read from the state that it rests in")

// resting is the λ of a server at rest.
type resting struct {
	from  io.ReaderAt // wideSize bytes for each element; nil for λ of before any outcome, which is zero
	moves []move      // since that was written
	fault error       // of the first read that failed
	raw   []byte
}

// A move is what an outcome adds to λ.
type move struct {
	change []int64
	alpha  int64
	centre *centre // nil where coordinates are not centred
}

// A centre of clipping coordinates that is not in memory is in a state, or it is the mean of λ after so many of the moves.
type centre struct {
	from  io.ReaderAt // numberSize bytes for each element; nil for the mean
	moves int
}

// canRest reports whether a server looks at λ an element after the other.
func (p *Protocol) canRest() bool {
	return gaussian.Independent(p.family) && !p.Summed() && p.oneStep == nil
}

// NewResting is [NewServer] of a server at rest, as [Server.Rest] has it, before it has a state.
func NewResting(p *Protocol) *Server {
	if !p.canRest() {
		return NewServer(p)
	}
	return newServer(p, &posterior{protocol: p, meanOf: p.family.Means(), rest: &resting{}})
}

// Rest takes λ and centres out of memory: from now on they are read from a state, which must be what the server's
// state is now and must not change before the next call. Where elements of λ are not independent, or more follows on the
// rounds than sums of changes, they stay in memory. So does a λ that rounding alone has proper, until it moves.
func (s *Server) Rest(state *io.SectionReader) error {
	p := s.protocol
	if !p.canRest() || s.q.edge {
		return nil
	}
	lambda, behind, err := p.lambdaIn(state)
	if err != nil {
		return err
	}
	rounds := slices.Sorted(maps.Keys(s.open))
	centres := int64(numberSize * p.coordinates.CentreSize())
	each := centres + int64(numberSize*p.messageSize())
	if behind.Size() != each*int64(len(rounds)) {
		return errors.New("the state has other rounds than the server")
	}
	for i, number := range rounds {
		r := s.open[number]
		if r.Centre = nil; p.centred() {
			r.rests = &centre{from: io.NewSectionReader(behind, each*int64(i), centres)}
		}
	}
	s.q.rest, s.q.lambda, s.q.now, s.q.then, s.ended = &resting{from: lambda}, nil, moments{}, moments{}, nil
	return nil
}

// Rests reports whether the server is at rest.
func (s *Server) Rests() bool { return s.q.rest != nil }

// Wake takes λ and centres into memory again.
func (s *Server) Wake() error {
	if s.q.rest == nil {
		return nil
	}
	lambda, err := gather(s.LambdaList())
	if err != nil {
		return err
	}
	centres := map[int][]int64{}
	for number, r := range s.open {
		if centres[number], err = gather(s.q.centreList(r.Centre, r.rests)); err != nil {
			return err
		}
	}
	for number, r := range s.open {
		r.Centre, r.rests = centres[number], nil
	}
	s.q.lambda, s.q.rest, s.ended = lambda, nil, nil
	return nil
}

// LambdaList returns λ − λ_prior on the lattice, as it is until the next outcome.
func (s *Server) LambdaList() List[Wide] { return s.q.lambdaList() }

// PlanCentre returns the centre of an open plan, until its outcome.
func (s *Server) PlanCentre(number int) List[int64] {
	r := s.open[number]
	return s.q.centreList(r.Centre, r.rests)
}

// OutcomeCentre returns the centre of the last outcome, until the server is put to rest or woken or has another.
func (s *Server) OutcomeCentre(o *Outcome) List[int64] { return s.q.centreList(o.Centre, s.ended) }

func (q *posterior) lambdaList() List[Wide] {
	if q.rest == nil {
		return ListOf(q.lambda)
	}
	return blocks[Wide]{q.protocol.family.Size(), q.read}
}

func (q *posterior) centreList(list []int64, rests *centre) List[int64] {
	if rests == nil {
		return ListOf(list)
	}
	return blocks[int64]{q.protocol.coordinates.CentreSize(), func(dst []int64, first int) error { return q.readCentre(dst, first, rests) }}
}

// read copies elements of λ, from one on.
func (q *posterior) read(dst []Wide, first int) error {
	if q.rest == nil {
		copy(dst, q.lambda[first:])
		return nil
	}
	return q.readAfter(dst, first, len(q.rest.moves))
}

// readAfter copies elements of a λ at rest as it was after so many of the moves.
func (q *posterior) readAfter(dst []Wide, first, moves int) error {
	r := q.rest
	clear(dst)
	if r.from != nil {
		raw, err := r.bytes(r.from, wideSize, first, len(dst))
		if err != nil {
			return err
		}
		for i := range dst {
			dst[i] = readWide(raw[wideSize*i:])
		}
	}
	for i := range moves {
		if err := q.moveBlock(dst, first, &r.moves[i]); err != nil {
			return err
		}
	}
	return nil
}

// bytes returns elements of a size, from one on, until the next call.
func (r *resting) bytes(from io.ReaderAt, size, first, count int) ([]byte, error) {
	if r.fault != nil {
		return nil, r.fault
	}
	r.raw = slices.Grow(r.raw[:0], size*count)[:size*count]
	if _, err := from.ReadAt(r.raw, int64(size)*int64(first)); err != nil {
		r.fault = fmt.Errorf("%w: %w", ErrState, err)
	}
	return r.raw, r.fault
}

// readCentre copies elements of a centre that is not in memory, from one on: at most a block.
func (q *posterior) readCentre(dst []int64, first int, c *centre) error {
	if c.from == nil {
		return q.meanAfter(dst, first, c.moves)
	}
	raw, err := q.rest.bytes(c.from, numberSize, first, len(dst))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(raw[numberSize*i:]))
	}
	return nil
}

// meanAfter computes elements of the mean of λ after so many of the moves, as a centre.
func (q *posterior) meanAfter(dst []int64, first, moves int) error {
	nat, mean := make([]float64, 0, 2*blockSize), make([]float64, len(dst))
	nat, err := q.blockOf(nat, first, len(dst), func(dst []Wide, first int) error { return q.readAfter(dst, first, moves) })
	if err != nil {
		return err
	}
	if gaussian.Diagonal(len(dst)).Mean(mean, nat) != nil { // it was when it was committed
		q.rest.fault = fmt.Errorf("%w: it is no proper distribution", ErrState)
		return q.rest.fault
	}
	lambda.RoundCentre(dst, mean)
	return nil
}

// fault returns why λ could not be read, nil if it could.
func (q *posterior) fault() error {
	if q.rest == nil {
		return nil
	}
	return q.rest.fault
}

// moveBlock adds a move to elements of λ, from one on, at most a block of them: what [Protocol.move] does to all,
// where they are independent.
func (q *posterior) moveBlock(dst []Wide, first int, m *move) error {
	p := q.protocol
	change := m.change[first:][:len(dst)]
	if !p.centred() {
		for k, n := range change {
			dst[k] = dst[k].Add(lambda.Product(n, m.alpha))
		}
		return nil
	}
	for k, n := range change {
		dst[k] = dst[k].Add(lambda.Product(n, m.alpha<<lambda.CentreBits))
	}
	d := p.family.Dim()
	if first >= d {
		return nil
	}
	var block [blockSize]int64
	centre := block[:min(len(dst), d-first)]
	if err := q.readCentre(centre, first, m.centre); err != nil {
		return err
	}
	for k, c := range centre {
		dst[k] = dst[k].Add(lambda.Product(m.change[d+first+k], m.alpha*c))
	}
	return nil
}

func readWide(b []byte) Wide {
	return Wide{Hi: int64(binary.LittleEndian.Uint64(b[8:])), Lo: binary.LittleEndian.Uint64(b)}
}
