// Package guard ends panics in computations on private records. If a panic ended the program, everybody
// who waits for its answer would see it, and the answer would cost nothing.
package guard

import (
	"fmt"
	"runtime"
	"strings"
)

// A Panic is the error for a computation that panicked.
type Panic struct{ calls []uintptr }

// Error names the functions that were active, with file and line, the innermost first. It has
// neither the value of the panic nor arguments, because both may come from a record.
func (p *Panic) Error() string {
	var at []string
	frames := runtime.CallersFrames(p.calls)
	for {
		frame, more := frames.Next()
		if frame.Function == "fedpvi/internal/guard.Run" || !more {
			return "a fault in the program: a panic at " + strings.Join(at, ", called by ")
		}
		if !strings.HasPrefix(frame.Function, "runtime.") {
			at = append(at, fmt.Sprintf("%s (%s:%d)", frame.Function, frame.File, frame.Line))
		}
	}
}

// Run calls f. It returns a [Panic] if f panics.
func Run(f func()) (err error) {
	defer func() {
		if recover() != nil {
			const depth, callers = 64, 2 // Callers and this function
			calls := make([]uintptr, depth)
			err = &Panic{calls[:runtime.Callers(callers, calls)]}
		}
	}()
	f()
	return nil
}

// Batch computes and uses the contributions of a batch of records. It calls compute, and then use,
// for all of them. If compute panics, Batch calls both for each record alone, and does not use the
// records for which compute panics again: they contribute nothing, whatever the other records are.
// compute must not change what use adds up. Batch returns the first error of use.
func Batch[T any](records []T, compute func([]T), use func([]T) error) error {
	if Run(func() { compute(records) }) == nil {
		return use(records)
	}
	if len(records) == 1 {
		return nil
	}
	for i := range records {
		if err := Batch(records[i:i+1], compute, use); err != nil {
			return err
		}
	}
	return nil
}
