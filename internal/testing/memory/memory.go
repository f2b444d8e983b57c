// Package memory measures what reading a message takes: a parser of bytes that others
// wrote must not be made to allocate more than in proportion to what they sent.
package memory

import (
	"runtime/metrics"
	"testing"
)

const (
	// Factor is how many times its own size a message may take to be read, garbage and
	// result together.
	Factor = 4
	// Room is what reading any message may take besides, in bytes: errors, tables, keys.
	Room = 256 << 10
)

// Bound fails a test if f, which reads a message of that many bytes, allocates more than
// Factor times as much and Room. What other goroutines allocate meanwhile counts along, so
// f may be called again before it is blamed.
func Bound(t testing.TB, message int, f func()) {
	t.Helper()
	Within(t, Factor*uint64(message)+Room, f)
}

// Beside is [Bound] for f that takes a number of bytes whatever the message is.
func Beside(t testing.TB, fixed uint64, message int, f func()) {
	t.Helper()
	Within(t, fixed+Factor*uint64(message)+Room, f)
}

// Document is [Bound] for f that reads TOML: the decoder takes up to 256 bytes for one, and
// package document reads no more than takes 16 MiB.
func Document(t testing.TB, message int, f func()) {
	t.Helper()
	Beside(t, min(256*uint64(message), 16<<20), message, f)
}

// Within fails a test if f allocates more than a number of bytes.
func Within(t testing.TB, limit uint64, f func()) {
	t.Helper()
	var took uint64
	for range 3 {
		if took = Allocated(f); took <= limit {
			return
		}
	}
	t.Errorf("%d bytes were allocated where %d are allowed", took, limit)
}

// Allocated returns how many bytes were allocated while f ran, by whomever, to some
// kilobytes: small objects are counted by the span.
func Allocated(f func()) uint64 {
	before := allocated()
	f()
	return allocated() - before
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
