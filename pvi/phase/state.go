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

// StateFields is an upper bound on the number of elements of a state outside its lists of the
// study's own length. A digest counts as 32 elements.
const StateFields = 256

// NamesElements returns an upper bound on the number of commas in the JSON of a list of names.
func NamesElements(names []ClientID) (n int) {
	for _, id := range names {
		n += 1 + strings.Count(string(id), ",")
	}
	return n
}

// DecodeState decodes a state. It returns an error for a state with more than the given number
// of elements, because a list of one-digit numbers takes several times as much memory as its
// JSON. It counts commas, since there is at most one for each element and each comma in a name.
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

// CheckState returns an error if the state has another version or another digest than the
// machine. machine is the kind of the digest: a protocol, a scaling or a last round.
func CheckState(version int, machine string, digest, want Digest) error {
	if version != StateVersion {
		return fmt.Errorf("the state has version %d, this program reads version %d", version, StateVersion)
	}
	if digest != want {
		return fmt.Errorf("the state is of %s %.16s, this is %.16s: another study, or other clients or rounds", machine, digest, want)
	}
	return nil
}

// Within returns an error that names n if n is not between low and high.
func Within(name string, n, low, high int) error {
	if n < low || n > high {
		return fmt.Errorf("%s: %d is not between %d and %d", name, n, low, high)
	}
	return nil
}
