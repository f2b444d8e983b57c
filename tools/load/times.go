package main

import (
	"fmt"
	"slices"
	"time"
)

// times holds the times at which clients received each plan and its outcome.
type times struct {
	opened  map[uint64]time.Time // time at which the first client received the plan
	closed  map[uint64]time.Time // latest time at which a client received the outcome
	clients map[uint64]int       // number of clients that have received the outcome
	own     []time.Duration      // for every client and plan, the time from the plan to the outcome
}

func newTimes() times {
	return times{opened: map[uint64]time.Time{}, closed: map[uint64]time.Time{}, clients: map[uint64]int{}}
}

// asked records that a client received a plan.
func (t *times) asked(now time.Time, ask uint64) {
	if first, ok := t.opened[ask]; !ok || now.Before(first) {
		t.opened[ask] = now
	}
}

// told records that a client received the outcome of a plan, at the time took after the plan.
func (t *times) told(now time.Time, ask uint64, took time.Duration) {
	if now.After(t.closed[ask]) {
		t.closed[ask] = now
	}
	t.clients[ask]++
	t.own = append(t.own, took)
}

// whole returns the durations of the plans whose outcome the given number of clients has received.
// A duration begins when the first client receives the plan and ends when the last client receives
// the outcome.
func (t *times) whole(clients int) (all []time.Duration) {
	for ask := uint64(1); t.clients[ask] == clients; ask++ {
		all = append(all, t.closed[ask].Sub(t.opened[ask]))
	}
	return all
}

// periods returns the times between the outcomes of successive plans, each measured when the last
// client receives it.
func (t *times) periods(clients int) (all []time.Duration) {
	for ask := uint64(2); t.clients[ask] == clients; ask++ {
		all = append(all, t.closed[ask].Sub(t.closed[ask-1]))
	}
	return all
}

// spread formats the number of durations and their distribution.
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
