package pages

import (
	"encoding/binary"
	"io"
)

// windowSize is how many bytes are read at once, in most cases.
const windowSize = 4 << 10

// A window shows a part of a file.
type window struct {
	file  io.ReaderAt
	size  int64 // of the file
	from  int64
	shown []byte
}

// has reports whether the window shows n bytes from an offset on.
func (w *window) has(off int64, n int) bool {
	return off >= w.from && off+int64(n) <= w.from+int64(len(w.shown))
}

// at returns n bytes from an offset on, which are good until the next call.
func (w *window) at(off int64, n int) ([]byte, error) {
	if !w.has(off, n) {
		if err := w.move(off, n); err != nil {
			return nil, err
		}
	}
	return w.shown[off-w.from:][:n], nil
}

func (w *window) move(off int64, n int) error {
	need := max(int64(n), min(windowSize, w.size-off))
	if int64(cap(w.shown)) < need {
		w.shown = make([]byte, max(need, windowSize))
	}
	w.from, w.shown = off, w.shown[:need]
	got, err := w.file.ReadAt(w.shown, off)
	w.shown = w.shown[:got]
	if got >= n {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // it was cut while it was read
	}
	return err
}

func number(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }
func word(b []byte) uint32   { return binary.NativeEndian.Uint32(b) }
func half(b []byte) uint16   { return binary.NativeEndian.Uint16(b) }
