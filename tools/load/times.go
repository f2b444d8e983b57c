package main

import (
	"fmt"
	"slices"
	"time"
)

// Times are when clients had what, by question. All clocks are one.
type times struct {
	opened  map[uint64]time.Time // when the first client had the question
	closed  map[uint64]time.Time // when the last one so far had the outcome
	clients map[uint64]int       // that have the outcome
	own     []time.Duration      // of every client and question, from the one until the other
}

func newTimes() times {
	return times{opened: map[uint64]time.Time{}, closed: map[uint64]time.Time{}, clients: map[uint64]int{}}
}

// asked is told that a client has a question.
func (t *times) asked(now time.Time, ask uint64) {
	if first, ok := t.opened[ask]; !ok || now.Before(first) {
		t.opened[ask] = now
	}
}

// told is told that a client has the outcome of a question that it has had for so long.
func (t *times) told(now time.Time, ask uint64, took time.Duration) {
	if now.After(t.closed[ask]) {
		t.closed[ask] = now
	}
	t.clients[ask]++
	t.own = append(t.own, took)
}

// whole is, of each question whose outcome so many clients have, in order, the time from when the first client had
// the question until the last had the outcome.
func (t *times) whole(clients int) (all []time.Duration) {
	for ask := uint64(1); t.clients[ask] == clients; ask++ {
		all = append(all, t.closed[ask].Sub(t.opened[ask]))
	}
	return all
}

// periods are the times between the outcomes of two questions at the client that had it last.
func (t *times) periods(clients int) (all []time.Duration) {
	for ask := uint64(2); t.clients[ask] == clients; ask++ {
		all = append(all, t.closed[ask].Sub(t.closed[ask-1]))
	}
	return all
}

// spread says how times are distributed, and of how many.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	all = slices.Sorted(slices.Values(all))
	return fmt.Sprintf("p50 %v, p99 %v, longest %v of %d", quantile(all, 0.5), quantile(all, 0.99), quantile(all, 1), len(all))
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Round(time.Millisecond)
}
