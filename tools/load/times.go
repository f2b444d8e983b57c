package main

import (
	"fmt"
	"slices"
	"time"
)

// times holds the times at which clients received the plans and their outcomes.
type times struct {
	opened  map[uint64]time.Time // time at which the first client received the plan
	closed  map[uint64]time.Time // latest time at which a client received the outcome
	clients map[uint64]int       // number of clients that have received the outcome
	own     []time.Duration      // for every client and plan, the time between the plan and its outcome
}

func newTimes() times {
	return times{opened: map[uint64]time.Time{}, closed: map[uint64]time.Time{}, clients: map[uint64]int{}}
}

// asked records that a client has received a plan.
func (t *times) asked(now time.Time, ask uint64) {
	if first, ok := t.opened[ask]; !ok || now.Before(first) {
		t.opened[ask] = now
	}
}

// told records that a client has received a plan's outcome, at the time took after the plan.
func (t *times) told(now time.Time, ask uint64, took time.Duration) {
	if now.After(t.closed[ask]) {
		t.closed[ask] = now
	}
	t.clients[ask]++
	t.own = append(t.own, took)
}

// whole returns the durations of the plans whose outcome has reached the given number of clients. A
// duration lasts from the moment at which the first client receives the plan to the moment at which
// the last client receives the outcome.
func (t *times) whole(clients int) (all []time.Duration) {
	for ask := uint64(1); t.clients[ask] == clients; ask++ {
		all = append(all, t.closed[ask].Sub(t.opened[ask]))
	}
	return all
}

// periods returns the times between the outcomes of successive plans. An outcome counts when the
// last client receives it.
func (t *times) periods(clients int) (all []time.Duration) {
	for ask := uint64(2); t.clients[ask] == clients; ask++ {
		all = append(all, t.closed[ask].Sub(t.closed[ask-1]))
	}
	return all
}

// spread describes how many durations there are and how they are distributed.
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
