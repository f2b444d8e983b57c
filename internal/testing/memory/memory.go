// Package memory checks in tests how much memory a parser allocates for a message. A sender must
// not be able to make a parser allocate more than in proportion to the size of the message.
package memory

import (
	"runtime/metrics"
	"testing"
)

const (
	// Factor is the largest allocation of a reader relative to the size of its message, garbage
	// and result together.
	Factor = 4
	// Room is the largest further allocation, in bytes. It covers errors, tables and keys.
	Room = 256 << 10
)

// Bound fails a test if f, which reads a message of the given size, allocates more than Factor
// times the size plus Room. Allocations of other goroutines count too, so f may be called again
// before the test fails.
func Bound(t testing.TB, message int, f func()) {
	t.Helper()
	Within(t, Factor*uint64(message)+Room, f)
}

// Beside is [Bound] for f that allocates up to a number of bytes independent of the message.
func Beside(t testing.TB, fixed uint64, message int, f func()) {
	t.Helper()
	Within(t, fixed+Factor*uint64(message)+Room, f)
}

// Document is [Bound] for f that reads TOML: the decoder allocates up to 256 bytes for each byte
// of the document, and package document refuses documents that need more than 16 MiB.
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

// Allocated returns the number of bytes that all goroutines allocate while f runs, to within some
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
