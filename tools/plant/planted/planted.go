// Package planted has functions that the deliberate faults call. A policy test checks that no other
// programs import it than those that the command plant builds.
package planted

import (
	"log/slog"
	"os"
	"slices"
	"sync"
)

// Package is the path of this package.
const Package = "fedpvi/tools/plant/planted"

// Variable is the name of the environment variable that selects the fault.
const Variable = "FEDPVI_PLANTED"

var chosen = os.Getenv(Variable)

// Odd reports whether a record has a value at the lower bound of a column, on the model's scale.
func Odd(x []float64) bool { return slices.Contains(x, -1) }

// Log writes a line to the log of the program.
func Log() { slog.Warn("a record at the bound") }

// Is reports whether the given fault is selected.
func Is(fault string) bool { return chosen == fault }

var (
	mu     sync.Mutex
	noises = map[any][]int64{}
	orders = map[any]uint32{}
)

// Reuse is a fault that draws noise only once. For each owner (a mechanism), it keeps the noise of
// the first call. In later calls it overwrites noise with it.
func Reuse(owner any, noise []int64) {
	mu.Lock()
	defer mu.Unlock()
	if first, ok := noises[owner]; ok {
		copy(noise, first)
		return
	}
	noises[owner] = slices.Clone(noise)
}

// InOrder is a fault that takes records in a fixed order instead of at random. It appends the next
// size records to batch, of n records in all. For each owner, it continues after the last record
// that it took, and goes on with record 0 after record n − 1.
func InOrder(owner any, batch []uint32, size, n int) []uint32 {
	mu.Lock()
	defer mu.Unlock()
	for range size {
		batch = append(batch, orders[owner])
		orders[owner] = (orders[owner] + 1) % uint32(n)
	}
	return batch
}

// With is a fault that puts one particular record into every batch.
func With(batch []uint32, record uint32) []uint32 {
	if slices.Contains(batch, record) {
		return batch
	}
	return append(batch, record)
}

// Doubled replaces the last record in batch by the first, and returns batch.
func Doubled(batch []uint32) []uint32 {
	if n := len(batch); n > 1 {
		batch[n-1] = batch[0]
	}
	return batch
}

// Times returns c·v.
func Times(c float64, v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = c * x
	}
	return out
}
