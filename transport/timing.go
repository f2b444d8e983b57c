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
	// fastestPing is the shortest ping interval that gRPC allows.
	fastestPing = 10 * time.Second
	slowestPing = 2 * time.Minute
)

// timing has the time limits and intervals of a connection. All are fractions of the round
// deadline, and the ping intervals also have fixed bounds. The fractions are small enough for a
// round to end in time even if each kind of failure happens once.
type timing struct {
	call      time.Duration // time limit of a short call
	stall     time.Duration // time limit of a long call that makes no progress
	patience  time.Duration // time limit of a call that makes no progress, over all attempts
	wait      time.Duration // longest time that a polling client waits for an entry
	handshake time.Duration
	ping      time.Duration // if the other side sends nothing for this time, a ping is sent
	pong      time.Duration // time limit for answering a ping
	first     time.Duration // wait before the second attempt
	longest   time.Duration // longest wait between two attempts
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

// pause returns how long to wait before attempt n+1, for n ≥ 1. The time doubles with each attempt,
// up to t.longest. It is then shortened at random by up to a half, so that a coordinator's clients
// do not all try at the same time.
func (t timing) pause(n int) time.Duration {
	d := t.longest
	if n < 30 && t.first<<(n-1) < t.longest {
		d = t.first << (n - 1)
	}
	return d/2 + rand.N(d/2+1)
}

// rest waits for the time d. If ctx is done earlier, it returns the error of ctx.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
