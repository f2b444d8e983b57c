package transport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// DefaultRoundDeadline is the default time limit for a round.
const DefaultRoundDeadline = 10 * time.Minute

const (
	minRoundDeadline = time.Second
	maxRoundDeadline = 365 * 24 * time.Hour
	// fastestPing is the shortest interval between pings that gRPC permits.
	fastestPing = 10 * time.Second
	slowestPing = 2 * time.Minute
)

// timing contains the time limits and intervals of a connection. All are fractions of the round
// deadline, and the intervals of pings also have fixed bounds. The fractions are so small that a
// round can end in time even if each kind of failure happens once.
type timing struct {
	call      time.Duration // time limit of a short call
	stall     time.Duration // time limit of a long call without progress
	patience  time.Duration // time limit of a call without progress, over all of its tries
	wait      time.Duration // longest time to wait for an entry when a client polls
	handshake time.Duration
	ping      time.Duration // time without data from the other side after which a ping is sent
	pong      time.Duration // time limit for the answer to a ping
	first     time.Duration // time to wait before the second try
	longest   time.Duration // longest time to wait between two tries
}

func deriveTiming(round time.Duration) (timing, error) {
	if round == 0 {
		round = DefaultRoundDeadline
	}
	if round < minRoundDeadline || round > maxRoundDeadline {
		return timing{}, fmt.Errorf("round deadline %v: give a time from %v to %v", round, minRoundDeadline, maxRoundDeadline)
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

// pause returns the time to wait before try n+1, for n ≥ 1. It doubles with each try, up to
// t.longest. A random part of up to half is subtracted, so that the clients of a coordinator do not
// all try at the same time.
func (t timing) pause(n int) time.Duration {
	d := t.longest
	if n < 30 && t.first<<(n-1) < t.longest {
		d = t.first << (n - 1)
	}
	return d/2 + rand.N(d/2+1)
}

// rest waits for the time d, or returns the error of ctx if ctx is done earlier.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
