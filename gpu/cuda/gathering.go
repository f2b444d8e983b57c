package cuda

import (
	"errors"
	"sync"
)

// A Gathering collects visits from several goroutines, its members, and computes them together,
// with one launch for each device and kind of model. It launches them as soon as every member waits
// in Descend or has left. A member may leave without a visit, and may bring several visits one
// after the other.
//
// The result of a visit does not depend on other visits in the launch. A nil Gathering, and a
// Gathering without members such as the zero value, computes each visit at once.
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
	again   bool // whether tables were freed for the visit
}

// Join adds n members. Leave must be called once for each of them.
func (g *Gathering) Join(n int) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.members += n
}

// Leave removes one member. If all remaining members are waiting in Descend, it launches their
// visits.
func (g *Gathering) Leave() {
	g.mutex.Lock()
	g.members--
	ready := g.ready()
	g.mutex.Unlock()
	if ready != nil {
		go launch(ready)
	}
}

// Descend computes a visit together with the visits of the other members, and returns the error of
// this visit. The records stay on the device only during the visit, unless they come from
// [Tables.Keep]. If a launch fails, Descend tries each half of its visits separately, and so on,
// down to single visits. So one faulty visit does not make others fail, and neither does too little
// memory on the device.
func (g *Gathering) Descend(d Device, records Records, v *Visit) error {
	done := make(chan error, 1)
	ready := []gathered{{device: d, records: records, visit: v, done: done}}
	if g != nil {
		g.mutex.Lock()
		g.waiting = append(g.waiting, ready...)
		ready = g.ready()
		g.mutex.Unlock()
	}
	launch(ready)
	return <-done
}

// ready returns the visits to launch. These are all waiting visits if every member waits in
// Descend, and none otherwise.
func (g *Gathering) ready() []gathered {
	if len(g.waiting) < g.members {
		return nil
	}
	ready := g.waiting
	g.waiting = nil
	return ready
}

// launch computes the visits on all their devices at the same time.
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

// takeOrHalve computes visits on one device, and sends each member that waits for a visit its
// error. If the launch fails, takeOrHalve tries each half of the visits separately. It tries a
// single visit once more if it can free tables that earlier visits have left on the device.
func takeOrHalve(d Device, group []gathered) {
	err := take(d, group)
	// A visit that was not computed has not changed and has released nothing, so it can be computed
	// again.
	var left []gathered
	for _, r := range group {
		alone := len(group) == 1
		if err == nil || r.visit.Taken || alone && (r.again || !makeRoom(r.records)) {
			r.done <- err
			continue
		}
		r.again = alone
		r.visit.Plan.Reclaim()
		left = append(left, r)
	}
	for _, half := range [][]gathered{left[:len(left)/2], left[len(left)/2:]} {
		if len(half) > 0 {
			takeOrHalve(d, half)
		}
	}
}

// take copies the visits' records to the device, computes the visits, and frees the device's memory
// again. Records kept by a [Tables] stay on the device.
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
