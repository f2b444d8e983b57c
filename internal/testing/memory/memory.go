// Package memory lets tests check how much memory a parser allocates for a message. No sender may
// make it allocate more than a fixed multiple of the message's size.
package memory

import (
	"runtime/metrics"
	"testing"
)

const (
	// Factor is the maximum number of bytes that a parser may allocate per byte of a message.
	// Memory that is no longer in use counts too.
	Factor = 4
	// Room is the number of further bytes that a parser may allocate, for errors, tables and keys.
	Room = 256 << 10
)

// Bound fails the test if f, which reads a message of the given size in bytes, allocates more than
// Factor·message + Room bytes. Because allocations of other goroutines count too, Bound may call f
// several times.
func Bound(t testing.TB, message int, f func()) {
	t.Helper()
	Within(t, Factor*uint64(message)+Room, f)
}

// Beside is like [Bound], but allows fixed bytes more.
func Beside(t testing.TB, fixed uint64, message int, f func()) {
	t.Helper()
	Within(t, fixed+Factor*uint64(message)+Room, f)
}

// Document is like [Bound] for a function that reads TOML, but has a higher limit. The TOML decoder
// allocates up to 256 bytes per byte of the document. Package document refuses documents for which
// it would need more than 16 MiB.
func Document(t testing.TB, message int, f func()) {
	t.Helper()
	Beside(t, min(256*uint64(message), 16<<20), message, f)
}

// Within fails the test if f allocates more than limit bytes.
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

// Allocated returns the number of bytes that all goroutines allocate while f runs. It is accurate
// to a few kilobytes, because the runtime counts small objects in blocks.
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
