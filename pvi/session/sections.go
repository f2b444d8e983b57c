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
	b, _ := s.append([]byte{stateVersion}, nil)
	return b
}

// append appends the sections to b. The section of the rounds is that of a server, if
// there is one: it is long, and is put where it belongs at once.
func (s *sections) append(b []byte, rounds *pvi.Server) ([]byte, error) {
	for i, part := range s {
		at := len(b)
		b = append(append(b, make([]byte, lengthSize)...), part...)
		if i == roundsSection && rounds != nil {
			var err error
			if b, err = rounds.AppendBinary(b); err != nil {
				return nil, err
			}
		}
		binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-lengthSize))
	}
	return b, nil
}

// lengthSize is the number of bytes of a section's length.
const lengthSize = 4

func (s *sections) unmarshal(b []byte) error {
	if len(b) == 0 {
		return errors.New("the state is empty")
	}
	if b[0] != stateVersion {
		return fmt.Errorf("the state has version %d, this program reads version %d", b[0], stateVersion)
	}
	b = b[1:]
	for i := range s {
		if len(b) < lengthSize {
			return errCut
		}
		n := uint64(binary.LittleEndian.Uint32(b))
		if b = b[lengthSize:]; n > uint64(len(b)) {
			return errCut
		}
		s[i], b = b[:n:n], b[n:]
	}
	if len(b) > 0 {
		return errors.New("the state cannot be read: something follows it")
	}
	return nil
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
