package wire

import (
	"encoding/binary"
	"io"
	"slices"

	"fedpvi/pvi"
)

// A writer puts a message together: in memory, or, if there is somebody to write to, a part after the other, so
// that of millions of numbers there is no copy.
type writer struct {
	to  io.Writer // nil to keep everything in b
	b   []byte
	err error
}

// atOnce is how many numbers are put together before they are written.
const atOnce = 4096

func (w *writer) ints(v []int64) {
	w.b = appendLength(w.b, len(v))
	for part := range slices.Chunk(v, atOnce) {
		w.b = slices.Grow(w.b, 8*len(part))
		for _, n := range part {
			w.b = binary.LittleEndian.AppendUint64(w.b, uint64(n))
		}
		w.flush()
	}
}

// wides puts a list of so many elements that come some after the others.
func (w *writer) wides(size int, each func(f func(block []pvi.Wide) error) error) {
	w.b = appendLength(w.b, size)
	err := each(func(block []pvi.Wide) error {
		for part := range slices.Chunk(block, atOnce) {
			w.b = slices.Grow(w.b, 16*len(part))
			for _, n := range part {
				high, low := n.Words()
				w.b = binary.LittleEndian.AppendUint64(w.b, low)
				w.b = binary.LittleEndian.AppendUint64(w.b, uint64(high))
			}
			w.flush()
		}
		return w.err
	})
	if w.err == nil {
		w.err = err
	}
}

// flush writes what there is, if it is to be written.
func (w *writer) flush() {
	if w.to == nil {
		return
	}
	if w.err == nil {
		_, w.err = w.to.Write(w.b)
	}
	w.b = w.b[:0]
}

func (w *writer) end() error {
	w.flush()
	return w.err
}
