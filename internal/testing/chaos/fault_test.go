package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A kind is the kind of a fault, such as a crash or a lost message.
type kind int

const (
	crashAtStep kind = iota // a process is killed at a write or a sync, or after a commit
	crashAtTime
	failWrite
	failSync
	diskFull
	cutRequest
	cutAnswer
	repeat    // a call is repeated later
	delay     // a call arrives late, because a client or the network is slow or because messages overtake each other
	partition // a process has no network connection
	clockJump
	absent  // a client is stopped for a long time
	replay  // the coordinator sends an earlier entry than the requested one
	forge   // the coordinator sends one client a false entry
	newKeys // an operator gives a party new keys
	revoke  // an operator revokes a client's keys
	months  // so much time passes that certificates expire
	kinds
)

var kindNames = [kinds]string{
	"killed at a write", "killed", "a write fails", "a sync fails", "the disk is full", "a request is lost", "an answer is lost",
	"a call is repeated", "a call is slow", "cut off", "the clock jumps", "absent", "an old entry is shown", "a forged entry is shown",
	"new keys", "its keys are revoked", "months pass",
}

// A fault happens to one process. If Nth is positive, it happens at the process's Nth step or call;
// otherwise, at the time At.
type fault struct {
	Kind  kind
	Who   int           // number of the process: 0 is the coordinator, m is client m
	Nth   int           // number of the process's step or call, counted over all restarts
	At    time.Duration // time of the fault, counted from the beginning of the simulation
	For   time.Duration // duration of the fault, or of the pause before the restart
	Power bool          // whether the whole machine loses power
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
	if f.Kind == months {
		s = fmt.Sprintf("%v pass, %s", f.For, when)
	}
	if f.Power {
		s += ", with the power"
	}
	return s
}

// These times are counted from the start of the simulation. Timed faults happen before the time
// troubled. The study must end before the time patience.
const (
	troubled = 40 * time.Minute
	patience = 12 * time.Hour
)

// drawFaults draws the faults of a simulation. In half of the simulations, keys or members change
// as well (see [drawChanges]). latency is the maximum delay of a message.
func drawFaults(rng *rand.Rand, clients int, latency time.Duration) []fault {
	all := make([]fault, 1+rng.IntN(8))
	for i := range all {
		all[i] = drawFault(rng, clients, 60*latency)
	}
	if rng.IntN(2) == 0 {
		all = append(all, drawChanges(rng, clients, 60*latency)...)
	}
	return all
}

// drawChanges draws changes of keys and clocks. Up to three times, a party gets new keys; the
// coordinator gets them at most once. With probability 1/3, one client's keys are revoked. With
// probability 1/3, all clocks are set forward by at least two months.
func drawChanges(rng *rand.Rand, clients int, lasts time.Duration) (all []fault) {
	hub := false
	for range rng.IntN(4) {
		f := fault{Kind: newKeys, Who: rng.IntN(clients + 1), At: when(rng, lasts)}
		if f.Who == 0 && hub {
			continue
		}
		hub = hub || f.Who == 0
		all = append(all, f)
	}
	if rng.IntN(3) == 0 {
		all = append(all, fault{Kind: revoke, Who: 1 + rng.IntN(clients), At: when(rng, lasts)})
	}
	if rng.IntN(3) == 0 {
		all = append(all, fault{Kind: months, At: when(rng, lasts), For: time.Duration(61+rng.IntN(400)) * 24 * time.Hour})
	}
	return all
}

// drawFault draws a fault that is not one of [drawChanges]. lasts is about how long the study takes
// without faults.
func drawFault(rng *rand.Rand, clients int, lasts time.Duration) fault {
	f := fault{Kind: kind(rng.IntN(int(newKeys))), Power: rng.IntN(2) == 0, Salt: rng.Uint64()}
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

// when draws the time of a fault. With probability 2/3, it is uniform between 0 and lasts, which is
// about how long the study takes without faults. Otherwise it is any time before troubled, because
// other faults may make the study take longer.
func when(rng *rand.Rand, lasts time.Duration) time.Duration {
	if rng.IntN(3) == 0 {
		return upTo(rng, troubled)
	}
	return time.Duration(rng.Float64() * float64(lasts))
}

// paces are maximum message delays. With the first, a round takes seconds. With the last, it takes
// most of the time before its deadline.
var paces = []time.Duration{40 * time.Millisecond, 2 * time.Second, 30 * time.Second}

// upTo draws a duration below most. It is a product of two uniform numbers, so that short durations
// are frequent.
func upTo(rng *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(rng.Float64() * rng.Float64() * float64(most))
}
