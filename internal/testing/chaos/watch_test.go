package chaos

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/coordinator"
)

const between = 5 * time.Minute

// watch looks at the study's status from time to time. It fails the test if the coordinator
// repeatedly does not say for which clients it waits, or if the study has not ended after the
// duration patience.
func (w *world) watch() {
	silent := 0
	for w.ctx.Err() == nil {
		rest(w.ctx, between+time.Millisecond)
		status, ok := w.status()
		w.mu.Lock()
		switch {
		case !ok:
		case status.Phase == coordinator.Running || status.Phase == coordinator.Gathering:
			if status.Waits == "" || len(status.For) == 0 && status.Reason == "" {
				silent++
			} else {
				silent = 0
			}
		}
		if silent > 3 {
			w.fail("the study stands still and does not say for whom it waits: %q %v", status.Waits, status.For)
		}
		if time.Since(w.begun) > patience {
			w.fail("the study never ends: %s, waiting for %q %v, plan %d of %d; %s", status.Phase, status.Waits, status.For, status.Asked, status.Of, w.absent())
		}
		w.mu.Unlock()
	}
}

// absent returns the names of the clients that have not reached the end of the study.
func (w *world) absent() string {
	var names []string
	for _, p := range w.parts[1:] {
		if !p.done {
			names = append(names, p.name)
		}
	}
	return strings.Join(names, " ") + " not done"
}

func (w *world) status() (coordinator.Status, bool) {
	w.mu.Lock()
	a := w.address
	if a == nil || a.life.dead {
		w.mu.Unlock()
		return coordinator.Status{}, false
	}
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(a.life.ctx, time.Minute)
	defer cancel()
	status, err := a.study.Status(ctx)
	return status, err == nil
}

// ended checks a client that has reached the end of the study. The client's ledger must be intact
// and cover its answers. All clients must have the same posterior.
func (m *model) ended(l *life, c *client.Client, e *client.Ending) {
	spent := m.spentBy(c, l.p.name)
	var exported bytes.Buffer
	err := c.Store().Export(&exported, l.p.now())
	if err == nil {
		_, err = ledger.Verify(&exported)
	}
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	if l.dead {
		return
	}
	spent()
	if err != nil {
		m.w.fail("the ledger of %s: %v", l.p.name, err)
	}
	for name, other := range m.endings {
		if other.Aborted != e.Aborted || other.Reason != e.Reason || !slices.Equal(other.Result, e.Result) {
			m.w.fail("%s and %s end with different posteriors", name, l.p.name)
		}
	}
	m.endings[l.p.name] = e
	l.p.done = true
	m.w.tell("%s has the end", l.p.name)
	m.w.endIfOver()
}

// endIfOver ends the simulation if each client has reached the end of the study, or has been
// refused because its keys are revoked. The caller holds the lock.
func (w *world) endIfOver() {
	for _, p := range w.parts[1:] {
		if !p.done {
			return
		}
	}
	w.end()
}
