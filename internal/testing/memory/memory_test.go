package memory

import (
	"testing"
)

var keep [][]byte

func TestAllocated(t *testing.T) {
	const size = 4 << 20
	for _, piece := range []int{16, 1 << 10, size} {
		took := Allocated(func() {
			keep = make([][]byte, 0, size/piece)
			for range size / piece {
				keep = append(keep, make([]byte, piece))
			}
		})
		if least := uint64(size) - 64<<10; took < least || took > 3*size {
			t.Errorf("%d bytes in pieces of %d were counted as %d", size, piece, took)
		}
	}
	keep = nil
}

func TestBound(t *testing.T) {
	for size, fails := range map[int]bool{Factor * 1000: false, Factor*1000 + 2*Room: true} {
		spy := &spy{TB: t}
		Bound(spy, 1000, func() { keep = [][]byte{make([]byte, size)} })
		if spy.failed != fails {
			t.Errorf("%d bytes for a message of 1000: failed is %v", size, spy.failed)
		}
	}
	keep = nil
}

type spy struct {
	testing.TB
	failed bool
}

func (s *spy) Errorf(string, ...any) { s.failed = true }
func (s *spy) Helper()               {}
