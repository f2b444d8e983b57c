package accountant

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// In ledgers and messages, the encoding begins with one byte for the version. The event follows:
// one byte for its kind, and its fields in the order of the struct. A float64 is its eight bytes, a
// count has eight bytes and an adjacency one byte, all little-endian. Repeated is its count, then
// the event. Composed is the number of its events in four bytes, then the events. The events inside
// have no version byte. Each event that can be accounted has exactly one encoding, and
// UnmarshalEvent refuses all other bytes.

// EventVersion is the version of the event encoding.
const EventVersion = 1

const (
	// MaxEventSize is the maximum length of an encoded event in bytes.
	MaxEventSize  = 64 << 10
	maxEventDepth = 16
)

// kinds lists the events that have an encoding. Their indices are part of the encoding and never
// change their meaning. All fields are float64, int and Adjacency, except in Repeated and Composed.
var kinds = [...]Event{
	1:  Gaussian{},
	2:  DiscreteGaussian{},
	3:  Poisson{},
	4:  WithoutReplacement{},
	5:  RandomAllocation{},
	6:  Permutation{},
	7:  Laplace{},
	8:  Approximate{},
	9:  Repeated{},
	10: Composed{},
}

// ErrEventForm is returned for bytes that are not an encoded event.
var ErrEventForm = errors.New("not the encoding of an event: the bytes were changed, cut short, or written by another program")

// MarshalEvent returns the encoding of e. If the accountant does not support e, or if e is too
// large or nested too deeply, it returns an error.
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

// UnmarshalEvent decodes the output of MarshalEvent. For all other bytes, it returns an error.
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

func (w *eventWriter) event(e Event, depth int) {
	if depth > maxEventDepth {
		w.err = fmt.Errorf("events are nested more than %d deep: list them side by side in one Composed", maxEventDepth)
		return
	}
	kind := slices.IndexFunc(kinds[1:], func(k Event) bool { return reflect.TypeOf(k) == reflect.TypeOf(e) }) + 1
	w.b = append(w.b, byte(kind))
	switch e := e.(type) {
	case Repeated:
		w.count(e.Times)
		w.event(e.Event, depth+1)
	case Composed:
		w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(e)))
		for _, inner := range e {
			w.event(inner, depth+1)
		}
	default:
		if kind == 0 {
			w.err = fmt.Errorf("%T has no encoding", e)
			return
		}
		w.fields(reflect.ValueOf(e))
	}
}

func (w *eventWriter) fields(event reflect.Value) {
	for _, field := range event.Fields() {
		switch x := field.Interface().(type) {
		case float64:
			w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(x+0)) // adding 0 turns −0 into 0
		case int:
			w.count(x)
		case Adjacency:
			w.b = append(w.b, byte(slices.Index(adjacencies[:], x)))
		}
	}
}

func (w *eventWriter) count(n int) { w.b = binary.LittleEndian.AppendUint64(w.b, uint64(n)) }

// An eventReader decodes an event. After the first error, it does not read any more bytes.
type eventReader struct {
	b      []byte
	failed bool
}

func (r *eventReader) take(n int) []byte {
	if r.failed || n > len(r.b) {
		r.failed = true
		return make([]byte, n) // zeros in place of the missing bytes; n is at most 8
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

// float reads a number. It refuses −0, because MarshalEvent writes this as 0. The range is checked
// later, with the whole event.
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

// adjacencies lists the adjacencies. Their indices are used in the encoding.
var adjacencies = [...]Adjacency{1: AddRemove, 2: ReplaceOne, 3: ZeroOut}

func (r *eventReader) adjacency() Adjacency {
	code := int(r.take(1)[0])
	if code == 0 || code >= len(adjacencies) {
		r.failed = true
		return ""
	}
	return adjacencies[code]
}

func (r *eventReader) event(depth int) Event {
	if depth > maxEventDepth {
		r.failed = true
	}
	kind := int(r.take(1)[0])
	if r.failed || kind == 0 || kind >= len(kinds) {
		r.failed = true
		return nil
	}
	switch kinds[kind].(type) {
	case Repeated:
		times := r.count()
		return Repeated{Event: r.event(depth + 1), Times: times}
	case Composed:
		return r.composed(depth)
	}
	event := reflect.New(reflect.TypeOf(kinds[kind])).Elem()
	for _, field := range event.Fields() {
		switch field.Interface().(type) {
		case float64:
			field.SetFloat(r.float())
		case int:
			field.SetInt(int64(r.count()))
		case Adjacency:
			field.SetString(string(r.adjacency()))
		}
	}
	return event.Interface().(Event)
}

// composed reads a Composed event. Each event takes at least one byte, so the memory that composed
// allocates is at most in proportion to the bytes that are left.
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
