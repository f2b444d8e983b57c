package transport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// DefaultRoundDeadline is the default time for a round.
const DefaultRoundDeadline = 10 * time.Minute

const (
	minRoundDeadline = time.Second
	maxRoundDeadline = 365 * 24 * time.Hour
	// fastestPing is the shortest interval between pings that gRPC permits.
	fastestPing = 10 * time.Second
	slowestPing = 2 * time.Minute
)

// timing holds the time limits and intervals of a connection. They are derived from the deadline of
// a round, so that a round can end in time although each kind of failure happens once.
type timing struct {
	call      time.Duration // a short call
	stall     time.Duration // a long call without progress
	patience  time.Duration // retries without progress
	wait      time.Duration // for an entry, while polling
	handshake time.Duration
	ping      time.Duration // of a silent connection
	pong      time.Duration // for the answer to a ping
	first     time.Duration // before the second try
	longest   time.Duration // the longest between two tries
}

func deriveTiming(round time.Duration) (timing, error) {
	if round == 0 {
		round = DefaultRoundDeadline
	}
	if round < minRoundDeadline || round > maxRoundDeadline {
		return timing{}, fmt.Errorf("a round deadline of %v: give %v to %v", round, minRoundDeadline, maxRoundDeadline)
	}
	return timing{
		call:      round / 20,
		stall:     round / 10,
		patience:  round / 5,
		wait:      round / 20,
		handshake: round / 60,
		ping:      min(max(round/20, fastestPing), slowestPing),
		pong:      min(max(round/40, fastestPing/2), slowestPing),
		first:     round / 3000,
		longest:   round / 40,
	}, nil
}

// pause returns the wait before a further try. The second try has n = 1. The wait doubles with each
// try up to a maximum. A random part of up to a half is subtracted, so that the clients of one
// coordinator do not all try at the same time.
func (t timing) pause(n int) time.Duration {
	d := t.longest
	if n < 30 && t.first<<(n-1) < t.longest {
		d = t.first << (n - 1)
	}
	return d/2 + rand.N(d/2+1)
}

// rest waits for d. It returns the error of ctx if ctx is done earlier.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
