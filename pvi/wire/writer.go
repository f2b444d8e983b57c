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

func (w *writer) ints(v pvi.List[int64]) {
	elements(w, v, 8, func(n int64) { w.b = binary.LittleEndian.AppendUint64(w.b, uint64(n)) })
}

func (w *writer) wides(v pvi.List[pvi.Wide]) {
	elements(w, v, 16, func(n pvi.Wide) {
		high, low := n.Hi, n.Lo
		w.b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(w.b, low), uint64(high))
	})
}

// elements puts a list of elements of a size.
func elements[T any](w *writer, v pvi.List[T], size int, put func(T)) {
	w.b = appendLength(w.b, v.Len())
	err := v.Each(func(block []T) error {
		for part := range slices.Chunk(block, atOnce) {
			w.b = slices.Grow(w.b, size*len(part))
			for _, n := range part {
				put(n)
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
