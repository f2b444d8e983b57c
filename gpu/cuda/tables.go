package cuda

import (
	"errors"
	"sync"
)

// Tables keeps records in the memory of devices between visits, so that they are copied only once.
// The zero value is ready for use. Its methods may be called from several goroutines at once.
type Tables struct {
	mutex sync.Mutex
	all   []*keptRecords
}

// keptRecords are records of Tables, with the table of the device that has them.
type keptRecords struct {
	Records
	of    *Tables
	table *Table
	users int // number of visits that use the table
}

// Keep returns records whose table stays on the device until Free, or until the device's memory is
// needed for other records of t. All calls of Put must be for the same device.
func (t *Tables) Keep(records Records) Records {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	k := &keptRecords{Records: records, of: t}
	t.all = append(t.all, k)
	return k
}

// Put returns the table that is already on the device, or copies the records there.
func (k *keptRecords) Put(d Device) (*Table, error) {
	k.of.mutex.Lock()
	defer k.of.mutex.Unlock()
	if k.table == nil {
		table, err := k.Records.Put(d)
		if err != nil {
			return nil, err
		}
		k.table, table.kept = table, k
	}
	k.users++
	return k.table, nil
}

// leave records that a visit no longer uses the table.
func (k *keptRecords) leave() {
	k.of.mutex.Lock()
	defer k.of.mutex.Unlock()
	k.users--
}

// Free frees the memory of all tables that no visit uses.
func (t *Tables) Free() error {
	_, err := t.free()
	return err
}

// free does the same as Free, and returns the number of tables whose memory it freed.
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

// makeRoom frees the tables that no visit uses, if records are those of Tables. It reports whether
// it freed one.
func makeRoom(records Records) bool {
	k, ok := records.(*keptRecords)
	if !ok {
		return false
	}
	freed, _ := k.of.free() // a device that cannot free memory fails at the next visit too
	return freed > 0
}
