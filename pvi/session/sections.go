package session

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// A saved state is a byte for its version and a number of sections, each behind its
// length in four bytes: what the stage itself remembers, and the states of the machines
// of the phases, empty for those that are not there.

// stateVersion is the version of the encoding of both sides' states.
const stateVersion = 1

// The sections of a state.
const (
	ownSection = iota
	scaleSection
	roundsSection
	lastSection
	sectionCount
)

type sections [sectionCount][]byte

func (s *sections) marshal() []byte {
	var b bytes.Buffer
	_ = s.write(&b, -1, nil) // a buffer takes everything
	return b.Bytes()
}

// write writes a state, with a section that a machine writes, of which there is no copy.
func (s *sections) write(w io.Writer, section int, m *pvi.Encoding) error {
	if _, err := w.Write([]byte{stateVersion}); err != nil {
		return err
	}
	for i, part := range s {
		n := len(part)
		if i == section {
			n = m.Size()
		}
		if _, err := w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), part...)); err != nil {
			return err
		}
		if i == section {
			if _, err := m.WriteTo(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns where the sections of a state are.
func find(state *io.SectionReader) (where [sectionCount]*io.SectionReader, err error) {
	var b [4]byte
	if state.Size() == 0 {
		return where, errors.New("the state is empty")
	}
	if _, err := state.ReadAt(b[:1], 0); err != nil {
		return where, err
	}
	if b[0] != stateVersion {
		return where, fmt.Errorf("the state has version %d, this program reads version %d", b[0], stateVersion)
	}
	at := int64(1)
	for i := range where {
		if state.Size()-at < int64(len(b)) {
			return where, errCut
		}
		if _, err := state.ReadAt(b[:], at); err != nil {
			return where, err
		}
		at += int64(len(b))
		n := int64(binary.LittleEndian.Uint32(b[:]))
		if n > state.Size()-at {
			return where, errCut
		}
		where[i] = io.NewSectionReader(state, at, n)
		at += n
	}
	if at < state.Size() {
		return where, errors.New("the state cannot be read: something follows it")
	}
	return where, nil
}

func (s *sections) unmarshal(b []byte) error {
	where, err := find(sectionOf(b))
	if err != nil {
		return err
	}
	for i, w := range where {
		_, at, n := w.Outer()
		s[i] = b[at : at+n : at+n]
	}
	return nil
}

func sectionOf(b []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b)))
}

// read reads all sections but that of the rounds, which is returned.
func (s *sections) read(state *io.SectionReader) (rounds *io.SectionReader, err error) {
	where, err := find(state)
	if err != nil {
		return nil, err
	}
	for i, w := range where {
		if i == roundsSection {
			continue
		}
		s[i] = make([]byte, w.Size())
		if _, err := io.ReadFull(w, s[i]); err != nil {
			return nil, err
		}
	}
	return where[roundsSection], nil
}

var errCut = errors.New("the state cannot be read: it ends too early")

// A machine is one of those of the phases.
type machine interface{ MarshalBinary() ([]byte, error) }

// put saves a machine that is there in a section.
func (s *sections) put(section int, m machine, there bool) error {
	if !there {
		return nil
	}
	var err error
	s[section], err = m.MarshalBinary()
	return err
}

// begun refuses a state with a machine that the phases before do not lead to, or without
// one to which they do.
func (s *sections) begun(section int, there bool) error {
	if (len(s[section]) > 0) == there {
		return nil
	}
	return [sectionCount]error{
		scaleSection:  errors.New("the state is of a study that finds the scale of its columns another way"),
		roundsSection: errors.New("the rounds were begun before the scale was found, or not after it"),
		lastSection:   errors.New("the last round was begun before the end of all others, or not after it"),
	}[section]
}

var errNoLast = errors.New("the last round has an outcome and was not begun")

// own saves what the stage itself remembers.
func (s *sections) own(v any) (err error) {
	s[ownSection], err = json.Marshal(v)
	return err
}

// readOwn reads that of a study of so many questions for so many clients. A list or a map of more than
// these could have any elements for takes several times its size in memory, and is not read.
func (s *sections) readOwn(into any, questions, clients int) error {
	const fields, ofEach = 256, 16
	if n := bytes.Count(s[ownSection], []byte(",")); n > fields+ofEach*(questions+clients) {
		return errors.New("the state cannot be read: it has more elements than the study has questions")
	}
	d := json.NewDecoder(bytes.NewReader(s[ownSection]))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the state cannot be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the state cannot be read: something follows it")
	}
	return nil
}

func checkStudy(digest study.Digest, st *study.Study) error {
	if digest != st.Digest {
		return fmt.Errorf("the state is of study %.16s, this is %.16s", digest, st.Digest)
	}
	return nil
}
