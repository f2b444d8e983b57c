package shard

import (
	"fedpvi/internal/table"
	"fedpvi/pvi/study"
)

// ReadAtMost is ReadTable with the limit most instead of MaxRows.
func ReadAtMost(most int, file string, rows table.Reader, st *study.Study) (*Records, error) {
	d := newDecoder(file, rows, st)
	d.most = most
	if err := d.findColumns(); err != nil {
		return nil, err
	}
	return d.records, d.read(func() {})
}
