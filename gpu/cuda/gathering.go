package cuda

import (
	"errors"
	"sync"
)

// A Gathering takes the visits of several goroutines, its members, together, with one launch on
// each device, once all members that have not left wait for their visits. A member that leaves
// without a visit makes nobody wait. A member may bring several visits, one after the other.
//
// The result of a visit does not depend on the visits beside it. Without members, as in the
// zero value, and on a nil Gathering, a visit is taken at once.
type Gathering struct {
	mutex   sync.Mutex
	members int
	waiting []gathered
}

type gathered struct {
	device  Device
	records Records
	visit   *Visit
	done    chan<- error
}

// Join adds n members. Each of them must leave.
func (g *Gathering) Join(n int) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.members += n
}

// Leave removes one member. If all others wait, their visits are taken.
func (g *Gathering) Leave() {
	g.mutex.Lock()
	g.members--
	ready := g.ready()
	g.mutex.Unlock()
	if ready != nil {
		go launch(ready)
	}
}

// Descend takes one visit, together with the gathered ones. The records are copied to the
// device for the duration of the visit. If a launch fails, it is repeated with fewer visits,
// down to one, so that a visit that cannot be taken, or a lack of memory on the device, fails
// no other visit.
func (g *Gathering) Descend(d Device, records Records, v *Visit) error {
	done := make(chan error, 1)
	ready := []gathered{{d, records, v, done}}
	if g != nil {
		g.mutex.Lock()
		g.waiting = append(g.waiting, ready...)
		ready = g.ready()
		g.mutex.Unlock()
	}
	launch(ready)
	return <-done
}

// ready returns the waiting visits if no other member is to come.
func (g *Gathering) ready() []gathered {
	if len(g.waiting) < g.members {
		return nil
	}
	ready := g.waiting
	g.waiting = nil
	return ready
}

// launch takes visits. Devices work at the same time.
func launch(ready []gathered) {
	var all sync.WaitGroup
	for len(ready) > 0 {
		d := ready[0].device
		var here, elsewhere []gathered
		for _, r := range ready {
			if r.device == d {
				here = append(here, r)
			} else {
				elsewhere = append(elsewhere, r)
			}
		}
		ready = elsewhere
		all.Go(func() { takeOrHalve(d, here) })
	}
	all.Wait()
}

// takeOrHalve takes visits of a device and wakes their members.
func takeOrHalve(d Device, group []gathered) {
	err := take(d, group)
	// A visit that was not taken is unchanged, and nothing of it was released.
	var left []gathered
	for _, r := range group {
		if err == nil || r.visit.Taken || len(group) == 1 {
			r.done <- err
			continue
		}
		r.visit.Plan.Reclaim()
		left = append(left, r)
	}
	for _, half := range [][]gathered{left[:len(left)/2], left[len(left)/2:]} {
		if len(half) > 0 {
			takeOrHalve(d, half)
		}
	}
}

// take takes visits. Their records are on the device for that time.
func take(d Device, group []gathered) (err error) {
	visits := make([]*Visit, len(group))
	for i, r := range group {
		v := r.visit
		if v.Table, err = r.records.Put(d); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, v.Table.Free()) }()
		visits[i] = v
	}
	return Descend(d, visits)
}
