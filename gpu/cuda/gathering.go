package cuda

import (
	"errors"
	"sync"
)

// A Gathering has the visits of several goroutines, its members, taken together, by one launch on
// each device: when all members that have not left wait for their visits. A member that leaves
// without a visit keeps nobody waiting, and one may come with several, one after the other.
//
// What becomes of a visit does not depend on what is taken beside it. Without members, as in
// the zero value, a visit is taken at once, and on a nil Gathering by itself.
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

// Join adds n members, each of which has to leave.
func (g *Gathering) Join(n int) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.members += n
}

// Leave ends the part of one member. Where all others wait their visits are taken.
func (g *Gathering) Leave() {
	g.mutex.Lock()
	g.members--
	ready := g.ready()
	g.mutex.Unlock()
	if ready != nil {
		go launch(ready)
	}
}

// Descend is [Descend] of one visit, of records that the device has meanwhile, together with
// those that are gathered. What fails is tried again with fewer visits, down to one: a visit that
// cannot be taken, or too many for the memory of a device, spoil no others.
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

// ready takes what waits if nobody else is to come.
func (g *Gathering) ready() []gathered {
	if len(g.waiting) < g.members {
		return nil
	}
	ready := g.waiting
	g.waiting = nil
	return ready
}

// launch takes visits, those of different devices at the same time.
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

// takeOrHalve takes visits of a device and tells those who wait for them.
func takeOrHalve(d Device, group []gathered) {
	err := take(d, group)
	// What was not taken has not changed, and nobody has seen anything of it.
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

// take takes visits, with their records on the device meanwhile.
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
