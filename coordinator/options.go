package coordinator

import (
	"log/slog"
	"time"

	"fedpvi/coordinator/store"
)

// Options say how a hub works. The zero value is ready for use.
type Options struct {
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Log is where the hub says what it does. Default nowhere.
	Log *slog.Logger
	// Events counts what happens. Default nothing.
	Events Events
	// Trace, if there is one, is told that something begins that this machine does alone, opening an
	// answer ("open") or writing to the store ("transaction"), and what it returns that it ended: "ok" or
	// "failed".
	Trace func(what string) (end func(outcome string))
	// RoundDeadline is how long a round stays open for clients that have not answered.
	// Default ten minutes.
	RoundDeadline time.Duration
	// Store changes how the store works.
	Store store.Options
}

const (
	defaultDeadline = 10 * time.Minute
	// presenceShare: a client counts as present for that part of a round's deadline after
	// it was last heard of. It polls several times as often.
	presenceShare = 4
	// openingBytes bounds the answers that are opened at once, and wait for the disk.
	openingBytes = 8 << 20
)

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Events == nil {
		o.Events = nothing{}
	}
	if o.Trace == nil {
		o.Trace = func(string) func(string) { return func(string) {} }
	}
	if o.RoundDeadline <= 0 {
		o.RoundDeadline = defaultDeadline
	}
	return o
}

// traced has something done that is traced.
func (o Options) traced(what string, do func() error) error {
	end := o.Trace(what)
	err := do()
	if err != nil {
		end("failed")
		return err
	}
	end("ok")
	return nil
}

// presence is how long a client counts as present after it was heard of.
func (o Options) presence() time.Duration { return o.RoundDeadline / presenceShare }

// openers is how many answers of a size may be opened at once. Of those that do not come whole, a chunk is
// in memory.
func openers(size int) int { return min(maxBatch, openingBytes/min(max(1, size), maxPiece)) }

// Events are told what happens, to count it. They are told nothing of what clients sent.
type Events interface {
	Began()                      // a study
	Ended()                      // a study, played to its end
	Aborted()                    // a study
	Opened()                     // a round
	Closed(whole bool)           // a round, with all answers or without some
	Took()                       // an answer
	Refused(method, why string)  // a call
	Stored(batch int, ok bool)   // commands in one transaction
	Waiting(study string, n int) // clients that a study waits for now
}

type nothing struct{}

func (nothing) Began()                 {}
func (nothing) Ended()                 {}
func (nothing) Aborted()               {}
func (nothing) Opened()                {}
func (nothing) Closed(bool)            {}
func (nothing) Took()                  {}
func (nothing) Refused(string, string) {}
func (nothing) Stored(int, bool)       {}
func (nothing) Waiting(string, int)    {}
