package transport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// DefaultRoundDeadline is the time for a round where nobody says another.
const DefaultRoundDeadline = 10 * time.Minute

const (
	minRoundDeadline = time.Second
	maxRoundDeadline = 365 * 24 * time.Hour
	// gRPC pings no faster.
	fastestPing = 10 * time.Second
	slowestPing = 2 * time.Minute
)

// timing is every duration of a connection, derived from the one deadline of a round: all
// that can go wrong once on the way of an answer fits into a round.
type timing struct {
	call      time.Duration // one short call
	stall     time.Duration // of a long call without a byte moving
	patience  time.Duration // of trying again without any progress
	wait      time.Duration // for an entry, where the caller polls
	handshake time.Duration
	ping      time.Duration // of a silent connection
	pong      time.Duration // for the answer to a ping
	first     time.Duration // pause before the second try
	longest   time.Duration // pause between two tries
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

// pause is how long to wait before try number n, the second being 1: twice as long every
// time, and by chance up to half of it less, so that clients that lost one coordinator
// do not come back all at once.
func (t timing) pause(n int) time.Duration {
	d := t.longest
	if n < 30 && t.first<<(n-1) < t.longest {
		d = t.first << (n - 1)
	}
	return d/2 + rand.N(d/2+1)
}

// rest waits, or returns ctx's error.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
