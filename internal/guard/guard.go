// Package guard recovers from panics in computations on private records. If a panic ended the
// program, the parties that wait for its answer would notice, and would learn something about a
// record at no privacy cost.
package guard

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
)

// A Panic is the error that a panicking computation leaves.
type Panic struct{ calls []uintptr }

// Error lists the functions that were running, with file and line, innermost first. It leaves out
// the panic's value and the arguments, because they may come from a record.
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

// Recovered counts the panics from which Run has recovered. The number can depend on records, so
// only tests may read it.
var Recovered atomic.Int64

// Run calls f. If f panics, Run returns a [Panic].
func Run(f func()) (err error) {
	defer func() {
		if recover() != nil {
			Recovered.Add(1)
			const depth, callers = 64, 2 // at most depth functions are listed, beginning after the innermost callers
			calls := make([]uintptr, depth)
			err = &Panic{calls[:runtime.Callers(callers, calls)]}
		}
	}()
	f()
	return nil
}

// Batch processes a batch of records. If the computation for one record panics, the other records
// are not affected. Batch calls compute and then use for all records together. If compute panics,
// Batch calls both for each record alone, and leaves out the records for which compute panics
// again. compute must not change the sums to which use adds. Batch returns the first error from
// use.
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
