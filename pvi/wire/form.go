package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// Version is the version of the binary form.
const Version = 1

// A Kind is a kind of message.
type Kind byte

// Kinds of messages.
const (
	Plan Kind = 1 + iota
	Release
	Outcome
	ScalePlan
	ScaleRelease
	ScaleOutcome
	OneStepPlan
	OneStepRelease
	OneStepOutcome
)

var names = map[Kind]string{
	Plan: "plan", Release: "release", Outcome: "outcome",
	ScalePlan: "plan of a pass", ScaleRelease: "release of a pass", ScaleOutcome: "outcome of a pass",
	OneStepPlan: "plan of the last round", OneStepRelease: "release of the last round", OneStepOutcome: "outcome of the last round",
}

// String returns the name of the kind in words.
func (k Kind) String() string { return names[k] }

// Limits are upper bounds on the sizes in a message.
type Limits struct {
	Elements int // largest length of a list of numbers
	Clients  int // largest length of a list of names
	Name     int // largest number of bytes of a name
}

const (
	headSize   = 2
	lengthSize = 4
	numberSize = 8
	wideSize   = 16
)

// verdicts maps bytes to verdicts. Byte 0 encodes none.
var verdicts = [...]pvi.Verdict{1: pvi.Accepted, 2: pvi.Rejected, 3: pvi.Void}

func begin(b []byte, k Kind) []byte { return append(b, Version, byte(k)) }

func appendInt(b []byte, n int) []byte { return binary.LittleEndian.AppendUint64(b, uint64(n)) }

func appendFloat(b []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
}

func appendLength(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

func appendInts(b []byte, v []int64) []byte {
	b = appendLength(slices.Grow(b, lengthSize+numberSize*len(v)), len(v))
	for _, n := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}

func appendWides(b []byte, v []pvi.Wide) []byte {
	b = appendLength(slices.Grow(b, lengthSize+wideSize*len(v)), len(v))
	for _, n := range v {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, n.Lo), uint64(n.Hi))
	}
	return b
}

func appendFloats(b []byte, v []float64) []byte {
	b = appendLength(slices.Grow(b, lengthSize+8*len(v)), len(v))
	for _, x := range v {
		b = appendFloat(b, x)
	}
	return b
}

func appendBounds(b []byte, v []study.Bounds) []byte {
	b = appendLength(b, len(v))
	for _, x := range v {
		b = appendFloat(appendFloat(b, x.Low), x.High)
	}
	return b
}

func appendName(b []byte, id pvi.ClientID) []byte { return append(appendLength(b, len(id)), id...) }

func appendNames(b []byte, v []pvi.ClientID) []byte {
	b = appendLength(b, len(v))
	for _, id := range v {
		b = appendName(b, id)
	}
	return b
}

// namesSize returns the encoded size of names, without their number.
func namesSize(v []pvi.ClientID) int {
	size := 0
	for _, id := range v {
		size += lengthSize + len(id)
	}
	return size
}

// appendVerdict appends the byte of v, or 0, which readers refuse.
func appendVerdict(b []byte, v pvi.Verdict) []byte {
	for n, known := range verdicts {
		if n > 0 && known == v {
			return append(b, byte(n))
		}
	}
	return append(b, 0)
}

// A reader decodes a message. After a failed read all later reads fail.
type reader struct {
	rest   []byte
	limits Limits
	why    string // reason of the first failure, or ""
}

// open checks the version and kind of a message, and returns a reader for its fields.
func open(b []byte, k Kind, l Limits) *reader {
	r := &reader{rest: b, limits: l}
	head := r.take(headSize)
	switch {
	case head == nil:
	case head[0] != Version:
		r.fail(fmt.Sprintf("it has version %d, this program reads version %d", head[0], Version))
	case Kind(head[1]) != k:
		r.fail("it is of another kind")
	}
	return r
}

// done ends the reading of a message of kind k. It returns [pvi.Refused] after a failed read, or if
// bytes are left.
func (r *reader) done(k Kind) error {
	if r.why == "" && len(r.rest) > 0 {
		r.fail("something follows it")
	}
	if r.why == "" {
		return nil
	}
	return &pvi.Refused{Reason: fmt.Sprintf("the %s cannot be read: %s", k, r.why)}
}

func (r *reader) fail(why string) {
	if r.why == "" {
		r.why = why
	}
}

// take returns the next n bytes, or nil after a failed read.
func (r *reader) take(n int) []byte {
	if r.why != "" || n > len(r.rest) {
		r.fail("it ends too early")
		return nil
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

// listOf reads a list with elements of size bytes. It returns nil for an empty list and after a
// failed read.
func listOf[E any](r *reader, size int, read func(b []byte) E) []E {
	n := r.length(r.limits.Elements)
	if n > len(r.rest)/size {
		r.fail("it ends too early")
		return nil
	}
	b := r.take(n * size)
	if n == 0 {
		return nil
	}
	v := make([]E, n)
	for i := range v {
		v[i] = read(b[size*i:])
	}
	return v
}

// length reads the length of a list, which must be at most most.
func (r *reader) length(most int) int {
	b := r.take(lengthSize)
	if b == nil {
		return 0
	}
	n := binary.LittleEndian.Uint32(b)
	if uint64(n) > uint64(most) {
		r.fail("it has a list or a name that is longer than the study allows")
		return 0
	}
	return int(n)
}

func (r *reader) digest() (d pvi.Digest) {
	copy(d[:], r.take(len(d)))
	return d
}

func (r *reader) int() int {
	b := r.take(8)
	if b == nil {
		return 0
	}
	n := int64(binary.LittleEndian.Uint64(b))
	if int64(int(n)) != n {
		r.fail("a number is out of range")
	}
	return int(n)
}

func (r *reader) ints() []int64 {
	return listOf(r, numberSize, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) })
}

func (r *reader) real(b []byte) float64 {
	x := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if math.IsNaN(x) || math.IsInf(x, 0) {
		r.fail("a number is not finite")
	}
	return x
}

func (r *reader) floats() []float64 { return listOf(r, numberSize, r.real) }

func (r *reader) wides() []pvi.Wide {
	return listOf(r, wideSize, func(b []byte) pvi.Wide {
		return pvi.Wide{Hi: int64(binary.LittleEndian.Uint64(b[8:])), Lo: binary.LittleEndian.Uint64(b)}
	})
}

func (r *reader) bounds() []study.Bounds {
	return listOf(r, 2*numberSize, func(b []byte) study.Bounds { return study.Bounds{Low: r.real(b), High: r.real(b[8:])} })
}

func appendReleases(b []byte, v []int64) []byte {
	if v == nil {
		return b
	}
	return appendInts(b, v)
}

// releases returns the releases at the end of a message, or nil if there are none.
func (r *reader) releases() []int64 {
	if len(r.rest) == 0 {
		return nil
	}
	r.limits.Elements *= 2 * max(1, r.limits.Clients) // a release may have two lists of numbers
	v := r.ints()
	if v == nil {
		r.fail("it has no releases where they should be")
	}
	return v
}

func (r *reader) name() pvi.ClientID { return pvi.ClientID(r.take(r.length(r.limits.Name))) }

func (r *reader) names() []pvi.ClientID {
	n := r.length(r.limits.Clients)
	if n > len(r.rest)/lengthSize {
		r.fail("it ends too early")
	}
	if n == 0 || r.why != "" {
		return nil
	}
	v := make([]pvi.ClientID, n)
	for i := range v {
		v[i] = r.name()
	}
	return v
}

func (r *reader) verdict() pvi.Verdict {
	b := r.take(1)
	if b == nil {
		return ""
	}
	if b[0] == 0 || int(b[0]) >= len(verdicts) {
		r.fail("it has no verdict")
		return ""
	}
	return verdicts[b[0]]
}
