package accountant

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The encoding of an event for ledgers and messages is a byte for the version, then the event. An
// event is encoded as a byte for its kind, then its fields in the order of its type. A float64 is
// encoded as its bits, a count in eight bytes and an adjacency in one byte, all little-endian.
// Repeated is encoded as its count and then the event. Composed is encoded as the number of its
// events in four bytes and then the events. Every event that can be accounted has exactly one
// encoding. UnmarshalEvent refuses all other bytes.

// EventVersion is the version of the encoding of events.
const EventVersion = 1

const (
	// MaxEventSize is the maximum length in bytes of the encoding of an event.
	MaxEventSize = 64 << 10
	// maxEventDepth is the largest depth of nested events.
	maxEventDepth = 16
)

// These are the kinds of events in the encoding. The meaning of a number never changes.
const (
	kindGaussian byte = 1 + iota
	kindDiscreteGaussian
	kindPoisson
	kindWithoutReplacement
	kindRandomAllocation
	kindPermutation
	kindLaplace
	kindApproximate
	kindRepeated
	kindComposed
)

// ErrEventForm is returned for bytes that are not the encoding of an event.
var ErrEventForm = errors.New("not the encoding of an event: the bytes were changed, cut short, or written by another program")

// MarshalEvent returns the encoding of e. It returns an error for an event that cannot be
// accounted, is too large, or is nested too deeply.
func MarshalEvent(e Event) ([]byte, error) {
	if _, err := tallyOf(e); err != nil {
		return nil, fmt.Errorf("write event: %w", err)
	}
	w := &eventWriter{b: []byte{EventVersion}}
	w.event(e, 0)
	switch {
	case w.err != nil:
		return nil, fmt.Errorf("write event: %w", w.err)
	case len(w.b) > MaxEventSize:
		return nil, fmt.Errorf("write event: it takes %d bytes and the limit is %d: use Repeated for repeated events", len(w.b), MaxEventSize)
	}
	return w.b, nil
}

// UnmarshalEvent decodes the bytes that MarshalEvent returned. It returns an error for
// all other bytes.
func UnmarshalEvent(b []byte) (Event, error) {
	if len(b) == 0 || len(b) > MaxEventSize {
		return nil, ErrEventForm
	}
	if b[0] != EventVersion {
		return nil, fmt.Errorf("event of version %d, but this program knows only version %d: use the newer program that wrote it", b[0], EventVersion)
	}
	r := &eventReader{b: b[1:]}
	e := r.event(0)
	if r.failed || len(r.b) > 0 {
		return nil, ErrEventForm
	}
	if _, err := tallyOf(e); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	return e, nil
}

type eventWriter struct {
	b   []byte
	err error
}

// fields appends the kind, the fields and the adjacency of an event to the encoding.
func (w *eventWriter) fields(kind byte, a Adjacency, values ...any) {
	w.b = append(w.b, kind)
	for _, v := range values {
		switch v := v.(type) {
		case float64:
			w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(v+0)) // adding 0 turns −0 into 0
		case int:
			w.b = binary.LittleEndian.AppendUint64(w.b, uint64(v))
		}
	}
	if a != "" {
		w.b = append(w.b, adjacencyCode(a))
	}
}

func (w *eventWriter) event(e Event, depth int) {
	if depth > maxEventDepth {
		w.err = fmt.Errorf("events are nested more than %d deep: list them side by side in one Composed", maxEventDepth)
		return
	}
	switch e := e.(type) {
	case Gaussian:
		w.fields(kindGaussian, e.Adjacency, e.Sensitivity, e.Sigma)
	case DiscreteGaussian:
		w.fields(kindDiscreteGaussian, e.Adjacency, e.Sensitivity, e.Sigma, e.Shares, e.Dim)
	case Poisson:
		w.fields(kindPoisson, e.Adjacency, e.Rate, e.Sigma)
	case WithoutReplacement:
		w.fields(kindWithoutReplacement, e.Adjacency, e.Rate, e.Sigma)
	case RandomAllocation:
		w.fields(kindRandomAllocation, e.Adjacency, e.Steps, e.Picks, e.Sigma)
	case Permutation:
		w.fields(kindPermutation, e.Adjacency, e.Sigma)
	case Laplace:
		w.fields(kindLaplace, e.Adjacency, e.Sensitivity, e.Scale)
	case Approximate:
		w.fields(kindApproximate, e.Adjacency, e.Epsilon, e.Delta)
	case Repeated:
		w.fields(kindRepeated, "", e.Times)
		w.event(e.Event, depth+1)
	case Composed:
		w.b = append(w.b, kindComposed)
		w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(e)))
		for _, inner := range e {
			w.event(inner, depth+1)
		}
	default:
		w.err = fmt.Errorf("%T has no encoding", e)
	}
}

// An eventReader decodes an event. After the first error it reads no more bytes.
type eventReader struct {
	b      []byte
	failed bool
}

func (r *eventReader) take(n int) []byte {
	if r.failed || n > len(r.b) {
		r.failed = true
		return make([]byte, n) // zeros, because bytes are missing; n is at most 8
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

// float reads a number. It refuses −0, because MarshalEvent writes −0 as 0. UnmarshalEvent
// checks the range of the number later, with the whole event.
func (r *eventReader) float() float64 {
	x := math.Float64frombits(binary.LittleEndian.Uint64(r.take(8)))
	if x == 0 && math.Signbit(x) {
		r.failed = true
	}
	return x
}

func (r *eventReader) count() int {
	n := binary.LittleEndian.Uint64(r.take(8))
	if n > math.MaxInt64 {
		r.failed = true
		return 0
	}
	return int(n)
}

func (r *eventReader) adjacency() Adjacency {
	switch r.take(1)[0] {
	case 1:
		return AddRemove
	case 2:
		return ReplaceOne
	case 3:
		return ZeroOut
	}
	r.failed = true
	return ""
}

func adjacencyCode(a Adjacency) byte {
	switch a {
	case AddRemove:
		return 1
	case ReplaceOne:
		return 2
	case ZeroOut:
		return 3
	}
	return 0 // unreachable: every event that can be accounted has one of the three adjacencies
}

func (r *eventReader) event(depth int) Event {
	if depth > maxEventDepth {
		r.failed = true
	}
	kind := r.take(1)[0]
	if r.failed {
		return nil
	}
	switch kind {
	case kindGaussian:
		return Gaussian{r.float(), r.float(), r.adjacency()}
	case kindDiscreteGaussian:
		return DiscreteGaussian{r.float(), r.float(), r.count(), r.count(), r.adjacency()}
	case kindPoisson:
		return Poisson{r.float(), r.float(), r.adjacency()}
	case kindWithoutReplacement:
		return WithoutReplacement{r.float(), r.float(), r.adjacency()}
	case kindRandomAllocation:
		return RandomAllocation{r.count(), r.count(), r.float(), r.adjacency()}
	case kindPermutation:
		return Permutation{r.float(), r.adjacency()}
	case kindLaplace:
		return Laplace{r.float(), r.float(), r.adjacency()}
	case kindApproximate:
		return Approximate{r.float(), r.float(), r.adjacency()}
	case kindRepeated:
		times := r.count()
		return Repeated{Event: r.event(depth + 1), Times: times}
	case kindComposed:
		return r.composed(depth)
	}
	r.failed = true
	return nil
}

// composed reads a Composed event. The memory that it allocates is proportional to the number of
// remaining bytes, because every event takes at least one byte.
func (r *eventReader) composed(depth int) Event {
	n := int64(binary.LittleEndian.Uint32(r.take(4)))
	if n > int64(len(r.b)) {
		r.failed = true
		return nil
	}
	all := make(Composed, 0, n)
	for range n {
		e := r.event(depth + 1)
		if r.failed {
			return nil
		}
		all = append(all, e)
	}
	return all
}
