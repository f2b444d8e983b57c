package session

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// A saved state is a version byte followed by sections. Each section is preceded by its length in
// four bytes. The first section has the fields of the server or site itself, and each of the others
// has the state machine of one phase. It is empty if the phase has not begun.

// stateVersion is the current version of this encoding.
const stateVersion = 1

// These are the indices of the sections in a state.
const (
	ownSection = iota
	scaleSection
	roundsSection
	lastSection
	sectionCount
)

type sections [sectionCount][]byte

type saver interface {
	// save returns the section of the phase. keep writes to k the fields that are saved in the first
	// section. restore sets a new state machine from both.
	keep(k *kept)
	save() (pvi.Encoding, error)
	restore(state []byte, k *kept) error
}

// encode returns the saved state. v becomes the first section. It must contain k, which encode
// fills before.
func (r *run[P]) encode(k *kept, v any) (e pvi.Encoding, err error) {
	var parts [sectionCount]pvi.Encoding
	for i, p := range r.phases {
		p.keep(k)
		if parts[r.course.phases[i].section()], err = p.save(); err != nil {
			return e, err
		}
	}
	own, err := json.Marshal(v)
	if err != nil {
		return e, err
	}
	parts[ownSection] = encoded(own)
	e.Size = 1
	for _, part := range parts {
		e.Size += lengthSize + part.Size
	}
	e.Write = func(w io.Writer) error {
		head := []byte{stateVersion}
		for _, part := range parts {
			if _, err := w.Write(binary.LittleEndian.AppendUint32(head, uint32(part.Size))); err != nil {
				return err
			}
			if part.Size > 0 {
				if err := part.Write(w); err != nil {
					return err
				}
			}
			head = nil
		}
		return nil
	}
	return e, nil
}

func encoded(b []byte) pvi.Encoding {
	return pvi.Encoding{Size: len(b), Write: func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}}
}

func saved(m encoding.BinaryMarshaler) (pvi.Encoding, error) {
	b, err := m.MarshalBinary()
	return encoded(b), err
}

// restorePhases restores the phases in order. It calls begin to start the next phase if every plan
// of the one before has an outcome.
func (r *run[P]) restorePhases(parts *sections, begin func(phase) (P, error), k *kept) error {
	done := 0
	for section := ownSection + 1; section < sectionCount; section++ {
		there := done < len(r.phases) && r.course.phases[done].section() == section
		if err := parts.checkBegun(section, there); err != nil {
			return err
		}
		if !there {
			continue
		}
		if err := r.phases[done].restore(parts[section], k); err != nil {
			return err
		}
		done++
		if err := r.advance(begin); err != nil {
			return err
		}
	}
	if k.Ending != nil {
		return errors.New("the last round has an outcome and was not begun")
	}
	return nil
}

// lengthSize is the number of bytes in which a section's length is encoded.
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

// checkBegun returns an error if a phase has begun but its section is empty, or the other way
// round.
func (s *sections) checkBegun(section int, begun bool) error {
	if (len(s[section]) > 0) == begun {
		return nil
	}
	return [sectionCount]error{
		scaleSection:  errors.New("the state is of a study that finds the scale of its columns another way"),
		roundsSection: errors.New("the rounds were begun before the scale was found, or not after it"),
		lastSection:   errors.New("the last round was begun before the end of all others, or not after it"),
	}[section]
}

// readOwn decodes the first section. It refuses one that has too many elements for the number of
// plans and clients, because decoding takes several times as much memory as the JSON.
func (s *sections) readOwn(into any, plans, clients int) error {
	const fields, ofEach = 256, 16
	if n := bytes.Count(s[ownSection], []byte(",")); n > fields+ofEach*(plans+clients) {
		return errors.New("the state cannot be read: it has more elements than the study has plans")
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
