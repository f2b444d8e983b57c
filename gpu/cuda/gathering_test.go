//go:build emulator || cuda

package cuda

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"fedpvi/dpmech"
)

// A crowded is a device of limited size for tests. It fails if a launch has too many problems, or
// if too much memory is allocated at the same time. It counts launches and allocations.
type crowded struct {
	Device
	most int
	room int // maximum number of allocations at the same time; 0 means no limit

	mutex    sync.Mutex
	launches []int // number of problems in each launch
	held     int   // number of allocations that have not been freed
}

var errCrowded = errors.New("too many")

func (c *crowded) Alloc(bytes int) (uint64, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.held == c.room && c.room > 0 {
		return 0, errCrowded
	}
	c.held++
	return c.Device.Alloc(bytes)
}

func (c *crowded) Free(memory uint64) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.held--
	return c.Device.Free(memory)
}

func (c *crowded) Launch(kernel string, blocks, threads, shared int, arguments ...uint64) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if blocks > c.most {
		return errCrowded
	}
	c.launches = append(c.launches, blocks)
	return c.Device.Launch(kernel, blocks, threads, shared, arguments...)
}

// gatheringScene is a small test problem.
var gatheringScene = scene{Logistic, 200, 3, dpmech.Poisson{Rate: 0.1, Selection: dpmech.Feistel}, 8, 1, 1.5}

// gather makes n members compute one visit each, and idle more members leave without a visit. The
// visits go to the devices in turn. Visit i, counted from 0, has the plan with index i + 1. It is
// invalid if bad contains i.
func gather(t *testing.T, n, idle int, bad []int, on ...Device) (visits []*Visit, errs []error) {
	t.Helper()
	s := gatheringScene
	var g Gathering
	g.Join(n + idle)
	visits, errs = make([]*Visit, n), make([]error, n)
	for i := range n {
		visits[i] = s.visit(t, on[i%len(on)], nil, uint64(i+1))
		if slices.Contains(bad, i) {
			visits[i].Releases = make([]int64, 1)
		}
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			defer g.Leave()
			errs[i] = g.Descend(on[i%len(on)], s.data(), visits[i])
		})
	}
	for range idle {
		all.Go(g.Leave)
	}
	all.Wait()
	return visits, errs
}

// checkGathered checks the results of gather. The visits in bad must have failed. Any other visit
// must have the same result as if it were computed alone.
func checkGathered(t *testing.T, visits []*Visit, errs []error, bad []int) {
	t.Helper()
	for i, v := range visits {
		if slices.Contains(bad, i) {
			if errs[i] == nil || v.Taken || v.Run.Step() != 0 {
				t.Errorf("visit %d, which is bad: %v, taken: %t", i, errs[i], v.Taken)
			}
			continue
		}
		alone := gatheringScene.visit(t, devices[0], nil, uint64(i+1))
		if err := (*Gathering)(nil).Descend(devices[0], gatheringScene.data(), alone); err != nil {
			t.Fatal(err)
		}
		if errs[i] != nil || !v.Taken || !slices.Equal(v.Releases, alone.Releases) || !slices.Equal(v.Run.AppendState(nil), alone.Run.AppendState(nil)) {
			t.Errorf("visit %d: error %v, taken: %t, or its result differs from the result of the visit alone", i, errs[i], v.Taken)
		}
	}
}

// Each device must get one launch with the visits of all its members, and each visit must have the
// same result as if it were computed alone. Some members leave without a visit.
func TestGatheredVisits(t *testing.T) {
	for _, idle := range []int{0, 3} {
		a, b := &crowded{Device: devices[0], most: 100}, &crowded{Device: devices[1], most: 100}
		visits, errs := gather(t, 5, idle, nil, a, b)
		checkGathered(t, visits, errs, nil)
		if !slices.Equal(a.launches, []int{3}) || !slices.Equal(b.launches, []int{2}) || a.held != 0 || b.held != 0 {
			t.Errorf("%d members left: launches had %v and %v problems, and %d and %d allocations were not freed", idle, a.launches, b.launches, a.held, b.held)
		}
	}
}

// A launch that is too large must be split, and an invalid visit must not make other visits fail.
func TestGatheredVisitsThatFail(t *testing.T) {
	d := &crowded{Device: devices[0], most: 2}
	visits, errs := gather(t, 7, 0, nil, d)
	checkGathered(t, visits, errs, nil)
	if len(d.launches) != 4 || d.held != 0 {
		t.Errorf("launches of %v problems, %d pieces of memory kept", d.launches, d.held)
	}
	d = &crowded{Device: devices[0], most: 100}
	bad := []int{1, 4}
	visits, errs = gather(t, 6, 1, bad, d)
	checkGathered(t, visits, errs, bad)
	d = &crowded{Device: devices[0]}
	visits, errs = gather(t, 4, 0, nil, d)
	for i, v := range visits {
		if !errors.Is(errs[i], errCrowded) || v.Taken || v.Run.Step() != 0 || d.held != 0 {
			t.Errorf("visit %d of a device that takes none: %v, taken: %t, %d pieces of memory kept", i, errs[i], v.Taken, d.held)
		}
		v.Plan.Reclaim()
		run := gatheringScene.start(t, v.Options)
		if n := len(gatheringScene.here(t, v.Plan, gatheringScene.program(t, gatheringScene.data()), run)); n == 0 {
			t.Error("the processor cannot take the steps instead")
		}
	}
}

// A member must be able to bring several visits. A Gathering without members must compute a visit
// at once.
func TestMembersBringSeveralVisits(t *testing.T) {
	s := gatheringScene
	d := &crowded{Device: devices[0], most: 100}
	var g Gathering
	if err := g.Descend(d, s.data(), s.visit(t, d, nil, 1)); err != nil {
		t.Fatal(err)
	}
	visits := make([][]*Visit, 3)
	for i := range visits { // the three members have one, two and three visits
		for range i + 1 {
			visits[i] = append(visits[i], s.visit(t, d, nil, 1))
		}
	}
	var all sync.WaitGroup
	g.Join(len(visits))
	for _, mine := range visits {
		all.Go(func() {
			defer g.Leave()
			for _, v := range mine {
				if err := g.Descend(d, s.data(), v); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if !slices.Equal(d.launches, []int{1, 3, 2, 1}) {
		t.Errorf("launches of %v problems", d.launches)
	}
}

// Between visits, Tables must keep records on the device until Free is called. If the device has no
// memory left, it must make room. The visits must have the same results as if they were computed
// alone.
func TestTablesAreKept(t *testing.T) {
	d := &crowded{Device: devices[0], most: 100, room: 3}
	var tables Tables
	records := []Records{tables.Keep(gatheringScene.data()), tables.Keep(gatheringScene.data()), tables.Keep(gatheringScene.data())}
	var visits []*Visit
	for i, at := range []int{0, 0, 1, 2, 0} {
		v := gatheringScene.visit(t, d, nil, uint64(i+1))
		if err := (*Gathering)(nil).Descend(d, records[at], v); err != nil {
			t.Fatal(err)
		}
		visits = append(visits, v)
		// Each table takes one allocation; two tables and a visit fill the device.
		if want := []int{1, 1, 2, 1, 2}[i]; d.held != want {
			t.Errorf("after visit %d the device has %d tables, want %d", i, d.held, want)
		}
	}
	checkGathered(t, visits, make([]error, len(visits)), nil)
	if err := tables.Free(); err != nil || d.held != 0 {
		t.Errorf("%v, %d pieces of memory kept", err, d.held)
	}
}

// The device has memory for the records alone, but not for the records and the visit together. The
// visit must fail, even if other records have made room for it.
func TestTablesWithoutRoomForAVisit(t *testing.T) {
	d := &crowded{Device: devices[0], most: 100, room: 2}
	var tables Tables
	one, two := tables.Keep(gatheringScene.data()), tables.Keep(gatheringScene.data())
	if err := (*Gathering)(nil).Descend(d, one, gatheringScene.visit(t, d, nil, 1)); err != nil {
		t.Fatal(err)
	}
	d.room = 1
	v := gatheringScene.visit(t, d, nil, 2)
	if err := (*Gathering)(nil).Descend(d, two, v); !errors.Is(err, errCrowded) || v.Taken {
		t.Errorf("a visit without room: %v, taken: %t", err, v.Taken)
	}
	if err := tables.Free(); err != nil || d.held != 0 {
		t.Errorf("%v, %d pieces of memory kept", err, d.held)
	}
}

// The test uses two Tables in one room, on a device that has memory for only one table and one
// visit. If the second Tables keeps records, the table of the first must be freed. The method Free
// must remove a Tables from the room.
func TestTablesShareARoom(t *testing.T) {
	d := &crowded{Device: devices[0], most: 100, room: 2}
	var room Room
	var visits []*Visit
	all := []*Tables{{Room: &room}, {Room: &room}}
	for i, tables := range all {
		v := gatheringScene.visit(t, d, nil, uint64(i+1))
		if err := (*Gathering)(nil).Descend(d, tables.Keep(gatheringScene.data()), v); err != nil {
			t.Fatalf("visit %d: %v", i, err)
		}
		visits = append(visits, v)
		if d.held != 1 { // with two tables, no memory would be left for a visit
			t.Errorf("after visit %d the device has %d tables", i, d.held)
		}
	}
	checkGathered(t, visits, make([]error, len(visits)), nil)
	for _, tables := range all {
		if err := tables.Free(); err != nil {
			t.Error(err)
		}
	}
	if d.held != 0 || len(room.others(nil)) != 0 {
		t.Errorf("%d pieces of memory kept, %d Tables in the room", d.held, len(room.others(nil)))
	}
}
