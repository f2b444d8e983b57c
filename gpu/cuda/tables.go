package cuda

import (
	"errors"
	"maps"
	"slices"
	"sync"
)

// Tables keeps records in devices' memory between visits, so that they are copied only once. The
// zero value is ready for use. Several goroutines may call its methods at the same time.
type Tables struct {
	// Room, if not nil, has all Tables that use the same devices. When the memory of a device is
	// full, one of them can then free tables of the others.
	Room *Room

	mutex sync.Mutex
	all   []*keptRecords
}

// A Room lets several [Tables] share the memory of the same devices. When records do not fit,
// tables of any of them are freed, except tables that a visit is using. The zero value is ready for
// use.
type Room struct {
	mutex  sync.Mutex
	shared map[*Tables]bool
}

// add adds t to the room, which may be nil.
func (r *Room) add(t *Tables) {
	if r == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.shared == nil {
		r.shared = map[*Tables]bool{}
	}
	r.shared[t] = true
}

// remove removes t from the room, which may be nil.
func (r *Room) remove(t *Tables) {
	if r == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.shared, t)
}

// others returns all Tables in the room except t. The room may be nil.
func (r *Room) others(t *Tables) []*Tables {
	if r == nil {
		return nil
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Keys(r.shared)), func(o *Tables) bool { return o == t })
}

// keptRecords are records whose table stays on a device between visits.
type keptRecords struct {
	Records
	of    *Tables
	table *Table
	users int // number of visits that are using the table
}

// Keep returns records whose table stays on the device until Free is called, or until other records
// of t or of its room need the memory. All calls of Put must be for the same device.
func (t *Tables) Keep(records Records) Records {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	k := &keptRecords{Records: records, of: t}
	t.all = append(t.all, k)
	return k
}

// Put returns the table. If it is not yet on the device, Put first copies the records there.
func (k *keptRecords) Put(d Device) (*Table, error) {
	k.of.mutex.Lock()
	defer k.of.mutex.Unlock()
	if k.table == nil {
		table, err := k.Records.Put(d)
		if err != nil {
			return nil, err
		}
		k.table, table.kept = table, k
		k.of.Room.add(k.of)
	}
	k.users++
	return k.table, nil
}

// leave must be called when a visit has finished using the table.
func (k *keptRecords) leave() {
	k.of.mutex.Lock()
	defer k.of.mutex.Unlock()
	k.users--
}

// Free frees the memory of all tables that no visit is using.
func (t *Tables) Free() error {
	t.Room.remove(t)
	_, err := t.free()
	return err
}

// free is like Free, but t stays in its room. It returns the number of tables that it has freed.
func (t *Tables) free() (freed int, err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, k := range t.all {
		if k.table == nil || k.users > 0 {
			continue
		}
		failed := k.table.device.Free(k.table.memory)
		if failed == nil {
			freed++
		}
		k.table, err = nil, errors.Join(err, failed)
	}
	return freed, err
}

// makeRoom frees tables that no visit is using, to make room for records. If a Tables keeps the
// records, makeRoom frees tables of this Tables and of all others in the same room. Otherwise it
// frees nothing. It reports whether it has freed a table.
func makeRoom(records Records) bool {
	k, ok := records.(*keptRecords)
	if !ok {
		return false
	}
	freed := 0
	for _, t := range append(k.of.Room.others(k.of), k.of) {
		n, _ := t.free() // if the device cannot free memory, the next visit will fail too
		freed += n
	}
	return freed > 0
}
