package coordinator

import (
	"bytes"
	"io"

	"fedpvi/coordinator/store"
)

// A long state is not in memory a second time: the server reads λ from where the state is in the store.

// rest has the server of a study read a long state from the store from now on, and keep a short one in memory. It is
// called when the state is on the disk and when it was read from there.
func (s *Study) rest(st *state) error {
	if st.server == nil {
		return nil
	}
	var slot, short []byte
	var size int64
	err := s.look(func(kept store.Study) error {
		if slot, size = kept.StateSlot(); slot == nil && st.server.Rests() {
			short = kept.State()
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case slot != nil:
		return st.server.Rest(stateIn(s.look, slot, size))
	case short == nil:
		return nil
	}
	// The long one before, in which it rests still, is gone.
	if err := st.server.Rest(io.NewSectionReader(bytes.NewReader(short), 0, int64(len(short)))); err != nil {
		return err
	}
	return st.server.Wake()
}

// stateIn returns a long state, which is read in transactions.
func stateIn(look func(func(store.Study) error) error, slot []byte, size int64) *io.SectionReader {
	return io.NewSectionReader(stateReader{look, slot}, 0, size)
}

type stateReader struct {
	look func(func(store.Study) error) error
	slot []byte
}

// ReadAt implements [io.ReaderAt].
func (r stateReader) ReadAt(b []byte, off int64) (int, error) {
	if err := r.look(func(kept store.Study) error { return kept.ReadState(r.slot, b, off) }); err != nil {
		return 0, err
	}
	return len(b), nil
}
