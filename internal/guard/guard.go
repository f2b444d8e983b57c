// Package guard recovers from panics in computations on private records. The end of the program
// after a panic would be visible to the parties that wait for an answer, and tell them something
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

// Error lists the functions that were running, with file and line, innermost first. It leaves out
// the value of the panic and the arguments, because both may come from a record.
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
			const depth, callers = 64, 2 // at most depth functions are listed, without the innermost callers
			calls := make([]uintptr, depth)
			err = &Panic{calls[:runtime.Callers(callers, calls)]}
		}
	}()
	f()
	return nil
}

// Batch processes a batch of records so that a record whose computation panics does not affect the
// others. It calls compute and then use for all records together. If compute panics, it does so for
// each record alone, and leaves out those for which compute panics again. compute must not change
// the sums to which use adds. Batch returns the first error from use.
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
