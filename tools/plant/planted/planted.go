// Package planted has helpers for planted faults. Only builds of the command plant import it; a
// policy test checks that no other program does.
package planted

import (
	"os"
	"slices"
	"sync"
)

// Variable names the environment variable that chooses the fault.
const Variable = "FEDPVI_PLANTED"

var chosen = os.Getenv(Variable)

// Is reports whether a fault is the chosen one.
func Is(fault string) bool { return chosen == fault }

var (
	mu     sync.Mutex
	noises = map[any][]int64{}
	orders = map[any]uint32{}
)

// Reuse overwrites noise with the noise of the owner's first call.
func Reuse(owner any, noise []int64) {
	mu.Lock()
	defer mu.Unlock()
	if first, ok := noises[owner]; ok {
		copy(noise, first)
		return
	}
	noises[owner] = slices.Clone(noise)
}

// InOrder appends the next size of n records to batch, in order and cyclically.
func InOrder(owner any, batch []uint32, size, n int) []uint32 {
	mu.Lock()
	defer mu.Unlock()
	for range size {
		batch = append(batch, orders[owner])
		orders[owner] = (orders[owner] + 1) % uint32(n)
	}
	return batch
}

// With returns batch with record in it.
func With(batch []uint32, record uint32) []uint32 {
	if slices.Contains(batch, record) {
		return batch
	}
	return append(batch, record)
}

// Doubled returns batch with its first record in place of its last.
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
