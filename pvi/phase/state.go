package phase

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// StateVersion is the version of the JSON encoding of the states of machines.
const StateVersion = 1

// StateFields is larger than the number of elements of any state apart from its lists
// of the study's own length. A digest is a list of 32.
const StateFields = 256

// NamesElements returns a bound on the commas in the JSON of a list of names.
func NamesElements(names []ClientID) (n int) {
	for _, id := range names {
		n += 1 + strings.Count(string(id), ",")
	}
	return n
}

// DecodeState reads all of a state. It returns an error for a state with more elements
// than a bound: a list of numbers with one digit each becomes several times as long in
// memory as it is in JSON. It counts commas: there is at most one for each element, and
// each in a name.
func DecodeState(state []byte, into any, elements int) error {
	if n := bytes.Count(state, []byte(",")); n > elements {
		return fmt.Errorf("the state cannot be read: it has %d elements, and at most %d have a place in it", n, elements)
	}
	d := json.NewDecoder(bytes.NewReader(state))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the state cannot be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the state cannot be read: something follows it")
	}
	return nil
}

// CheckState returns an error for a state of another version, or with another digest
// than that of the machine that it is restored to: a protocol, a scaling, a last round.
func CheckState(version int, machine string, digest, want Digest) error {
	if version != StateVersion {
		return fmt.Errorf("the state has version %d, this program reads version %d", version, StateVersion)
	}
	if digest != want {
		return fmt.Errorf("the state is of %s %.16s, this is %.16s: another study, or other clients or rounds", machine, digest, want)
	}
	return nil
}

// Within returns an error for a number that is not between two others.
func Within(name string, n, low, high int) error {
	if n < low || n > high {
		return fmt.Errorf("%s: %d is not between %d and %d", name, n, low, high)
	}
	return nil
}
