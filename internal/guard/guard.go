// Package guard recovers from panics in computations on private records. A panic would end the
// program, and the parties that wait for an answer would notice. They would then learn something
// about a record at no privacy cost.
package guard

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
)

// A Panic is the error of a computation that panicked.
type Panic struct{ calls []uintptr }

// Error lists the functions that were running, with file and line, innermost first. The value of
// the panic and the arguments are left out, because both may come from a record.
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

// Recovered is the number of panics from which Run has recovered. It can depend on records, so only
// tests may read it.
var Recovered atomic.Int64

// Run calls f. If f panics, Run returns a [Panic].
func Run(f func()) (err error) {
	defer func() {
		if recover() != nil {
			Recovered.Add(1)
			const depth, callers = 64, 2 // depth is the largest number of functions that are listed, and callers is the number of innermost functions that are left out
			calls := make([]uintptr, depth)
			err = &Panic{calls[:runtime.Callers(callers, calls)]}
		}
	}()
	f()
	return nil
}

// Batch processes a batch of records so that a record whose computation panics does not affect the
// others. It calls compute and then use for all records together. If compute panics, Batch calls
// both functions for each record alone, and leaves out each record for which compute panics again.
// Such a record contributes nothing, whatever the other records are. compute must not change the
// sums to which use adds. Batch returns the first error from use.
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
