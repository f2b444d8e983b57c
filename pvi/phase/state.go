package phase

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// StateVersion is the version of the JSON encoding of the states of servers and sites.
const StateVersion = 1

// StateFields bounds the number of elements of a state without the lists whose length depends on
// the study. A digest counts as 32.
const StateFields = 256

// NamesElements bounds the number of commas in the JSON of client names, including those within
// names.
func NamesElements(names []ClientID) (n int) {
	for _, id := range names {
		n += 1 + strings.Count(string(id), ",")
	}
	return n
}

// DecodeState decodes the JSON of a state. It first refuses a state with too many elements, because
// a list of one-digit numbers takes several times as much memory as its JSON. It counts commas
// instead, of which there are at most as many, besides those in names.
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

// CheckState returns an error if a saved state has another version than [StateVersion], or another
// digest than want. machine is the word for the digest in the error: "protocol", "scaling" or "last
// round".
func CheckState(version int, machine string, digest, want Digest) error {
	if version != StateVersion {
		return fmt.Errorf("the state has version %d, this program reads version %d", version, StateVersion)
	}
	if digest != want {
		return fmt.Errorf("the state is of %s %.16s, this is %.16s: another study, or other clients or rounds", machine, digest, want)
	}
	return nil
}

// Within returns an error unless n is in [low, high]. name is the number's name in the error.
func Within(name string, n, low, high int) error {
	if n < low || n > high {
		return fmt.Errorf("%s: %d is not between %d and %d", name, n, low, high)
	}
	return nil
}
