package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A kind is a kind of fault.
type kind int

const (
	crashAtStep kind = iota // at a write, a sync, or after a commit
	crashAtTime
	failWrite
	failSync
	diskFull
	cutRequest
	cutAnswer
	repeat    // a call, repeated later
	delay     // of a call: a slow client, a slow network, messages that overtake others
	partition // of a client
	clockJump
	absent // a client, for a long time
	replay // an earlier entry instead of the requested one
	forge  // an entry that the coordinator shows to one client only
	kinds
)

var kindNames = [kinds]string{
	"killed at a write", "killed", "a write fails", "a sync fails", "the disk is full", "a request is lost", "an answer is lost",
	"a call is repeated", "a call is slow", "cut off", "the clock jumps", "absent", "an old entry is shown", "a forged entry is shown",
}

// A fault is one fault of a world. A fault with a positive Nth happens when its process reaches
// this step or call. A fault with an Nth of 0 happens at the time At.
type fault struct {
	Kind  kind
	Who   int           // 0 is the coordinator, m is client m
	Nth   int           // write and sync, or call, of that process, counted over all its lives
	At    time.Duration // time since the beginning
	For   time.Duration // duration of the fault, or of being down
	Power bool          // a power failure, not only the end of a process
	Salt  uint64
}

func (f fault) String() string {
	who := "coordinator"
	if f.Who > 0 {
		who = fmt.Sprintf("client-%d", f.Who)
	}
	when := fmt.Sprintf("number %d", f.Nth)
	if f.Nth == 0 {
		when = "after " + f.At.String()
	}
	s := fmt.Sprintf("%s: %s, %s, for %v", who, kindNames[f.Kind], when, f.For)
	if f.Power {
		s += ", with the power"
	}
	return s
}

// Faults start in the first part of a simulation. After the faults the study must recover and
// end before patience is over.
const (
	troubled = 40 * time.Minute
	patience = 12 * time.Hour
)

// drawFaults returns the faults of a world.
func drawFaults(rng *rand.Rand, clients int, latency time.Duration) []fault {
	all := make([]fault, 1+rng.IntN(8))
	for i := range all {
		all[i] = drawFault(rng, clients, 60*latency)
	}
	return all
}

// drawFault draws a fault of a world whose undisturbed duration is given.
func drawFault(rng *rand.Rand, clients int, lasts time.Duration) fault {
	f := fault{Kind: kind(rng.IntN(int(kinds))), Power: rng.IntN(2) == 0, Salt: rng.Uint64()}
	f.For = upTo(rng, 2*time.Minute)
	if rng.IntN(3) == 0 {
		f.For = upTo(rng, 25*time.Minute)
	}
	switch f.Kind {
	case crashAtStep, failWrite, failSync, diskFull:
		f.Who = rng.IntN(clients + 1)
		most := 70
		if f.Who == 0 {
			most = 220
		}
		f.Nth = 1 + rng.IntN(most)
	case crashAtTime, clockJump:
		f.Who, f.At = rng.IntN(clients+1), when(rng, lasts)
	case partition, absent:
		f.Who, f.At = 1+rng.IntN(clients), when(rng, lasts)
	default:
		f.Who, f.Nth = 1+rng.IntN(clients), 1+rng.IntN(40)
	}
	return f
}

// when draws the time of a fault. It lies within the duration of an undisturbed simulation or,
// with probability 1/3, within the time troubled, to which other faults may extend the
// simulation.
func when(rng *rand.Rand, lasts time.Duration) time.Duration {
	if rng.IntN(3) == 0 {
		return upTo(rng, troubled)
	}
	return time.Duration(rng.Float64() * float64(lasts))
}

// paces are the longest delays of a message. A simulation has one of them. A round takes seconds
// with the first, and most of its deadline with the last.
var paces = []time.Duration{40 * time.Millisecond, 2 * time.Second, 30 * time.Second}

// upTo draws a duration on a logarithmic scale.
func upTo(rng *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(rng.Float64() * rng.Float64() * float64(most))
}
