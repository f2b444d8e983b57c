package coordinator

import (
	"log/slog"
	"time"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/keyfile"
	"fedpvi/internal/audit"
)

// Options configure a [Hub]. The zero value is ready for use.
type Options struct {
	Now    func() time.Time // clock; nil for time.Now
	Log    *slog.Logger     // nil to discard the messages
	Events Events           // counts events; nil to count none
	Audit  *audit.Log       // nil to discard the lines
	// Trace, unless nil, is called before an answer is decrypted, with the name "open", and before
	// the store is written, with the name "transaction". The hub calls end afterwards, with "ok" or
	// "failed".
	Trace func(name string) (end func(outcome string))
	// RoundDeadline is the time after which a round ends without the clients that have not
	// answered. The default is ten minutes.
	RoundDeadline time.Duration
	Unlock        keyfile.Unlock // opens the key files if they are protected
	Store         store.Options
}

const (
	defaultDeadline = 10 * time.Minute
	// A client counts as present for 1/presenceShare of the round deadline after its last call. A
	// connected client calls more often than that.
	presenceShare = 4
	// openingBytes limits the total size of the decrypted answers in memory.
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

// traced calls do and reports the call to o.Trace.
func (o Options) traced(name string, do func() error) error {
	end := o.Trace(name)
	err := do()
	if err != nil {
		end("failed")
		return err
	}
	end("ok")
	return nil
}

// Events counts events for metrics. Its arguments do not depend on the contents of messages.
type Events interface {
	Began()                 // a study began
	Ended()                 // a study ended with a posterior
	Aborted()               // a study was aborted
	Opened()                // a plan was published
	Verdict(verdict string) // a round ended with the verdict accepted, rejected or void
	// Influence reports a client's influence: the norm of its answer divided by the median norm of
	// the other answers. It is called only if everybody may read the answers.
	Influence(client string, norm float64)
	Closed(whole bool)           // a round was closed; whole tells whether all clients had answered
	Took()                       // an answer was accepted
	Refused(method, why string)  // a call was refused
	Stored(batch int, ok bool)   // a transaction of batch commands was committed (ok) or failed
	Waiting(study string, n int) // a study is waiting for n clients
}

type nothing struct{}

func (nothing) Began()                    {}
func (nothing) Ended()                    {}
func (nothing) Aborted()                  {}
func (nothing) Opened()                   {}
func (nothing) Closed(bool)               {}
func (nothing) Verdict(string)            {}
func (nothing) Influence(string, float64) {}
func (nothing) Took()                     {}
func (nothing) Refused(string, string)    {}
func (nothing) Stored(int, bool)          {}
func (nothing) Waiting(string, int)       {}
