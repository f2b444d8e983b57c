package pvi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"fedpvi/pvi/gaussian"
)

// Of a long λ most of a server's memory would be, although it looks at λ once a round and at an element after the
// other. It is in the server's state as well. A server at rest reads it from there, and remembers the moves since:
// what it needs for a round is then the sum alone.

// ErrState says that the λ of a server at rest could not be read. The server is good for nothing any more: its state
// has to be restored.
var ErrState = errors.New("λ could not be read from the state that it rests in")

// resting is the λ of a server at rest.
type resting struct {
	from  io.ReaderAt // wideSize bytes for each element
	moves []move      // since that was written
	fault error       // of the first read that failed
	raw   []byte
}

// A move is what an outcome adds to λ.
type move struct {
	change []int64
	alpha  int64
	centre []int64
}

// canRest reports whether a server looks at λ an element at a time.
func (p *Protocol) canRest() bool {
	return gaussian.Independent(p.family) && !p.Summed() && p.oneStep == nil
}

// Rest takes λ out of memory: from now on it is read from a state, which must be what the server's state is now and
// must not change before the next call. Where elements of λ are not independent, or more follows on the rounds than
// sums of changes, it stays in memory.
func (s *Server) Rest(state *io.SectionReader) error {
	if !s.protocol.canRest() {
		return nil
	}
	from, err := s.protocol.lambdaIn(state)
	if err != nil {
		return err
	}
	s.q.rest, s.q.lambda, s.q.now, s.q.then = &resting{from: from}, nil, moments{}, moments{}
	return nil
}

// Wake takes λ into memory again.
func (s *Server) Wake() error {
	if s.q.rest == nil {
		return nil
	}
	lambda := make([]Wide, 0, s.protocol.family.Size())
	err := s.EachLambda(func(block []Wide) error {
		lambda = append(lambda, block...)
		return nil
	})
	if err == nil {
		s.q.lambda, s.q.rest = lambda, nil
	}
	return err
}

// EachLambda hands λ − λ_prior to f, some elements after the others. They are f's until it returns.
func (s *Server) EachLambda(f func(block []Wide) error) error { return s.q.eachLambda(f) }

func (q *posterior) eachLambda(f func(block []Wide) error) error {
	if q.rest == nil {
		return f(q.lambda)
	}
	size := q.protocol.family.Size()
	block := make([]Wide, min(size, 4*blockSize))
	for first := 0; first < size; first += len(block) {
		block = block[:min(len(block), size-first)]
		if err := q.read(block, first); err != nil {
			return err
		}
		if err := f(block); err != nil {
			return err
		}
	}
	return nil
}

// read copies elements of λ, from one on.
func (q *posterior) read(dst []Wide, first int) error {
	r := q.rest
	if r == nil {
		copy(dst, q.lambda[first:])
		return nil
	}
	if r.fault != nil {
		return r.fault
	}
	if cap(r.raw) < wideSize*len(dst) {
		r.raw = make([]byte, wideSize*len(dst))
	}
	raw := r.raw[:wideSize*len(dst)]
	if _, err := r.from.ReadAt(raw, int64(wideSize*first)); err != nil {
		r.fault = fmt.Errorf("%w: %w", ErrState, err)
		return r.fault
	}
	for i := range dst {
		dst[i] = readWide(raw[wideSize*i:])
	}
	for _, m := range r.moves {
		q.protocol.moveBlock(dst, first, m)
	}
	return nil
}

// fault returns why λ could not be read, nil if it could.
func (q *posterior) fault() error {
	if q.rest == nil {
		return nil
	}
	return q.rest.fault
}

// moveBlock adds a move to some elements of λ, from one on, where they are independent: see [Protocol.move].
func (p *Protocol) moveBlock(dst []Wide, first int, m move) {
	d := p.family.Dim()
	for k := range dst {
		i := first + k
		if !p.centred() {
			dst[k] = dst[k].add(product(m.change[i], m.alpha))
			continue
		}
		dst[k] = dst[k].add(product(m.change[i], m.alpha<<centreBits))
		if i < d {
			dst[k] = dst[k].add(product(m.change[d+i], m.alpha*m.centre[i]))
		}
	}
}

func readWide(b []byte) Wide {
	return Wide{int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b)}
}
