package seal

import (
	"testing"

	"fedpvi/internal/testing/memory"
)

// FuzzRecipient also checks that Seal accepts any recipient that can be parsed.
func FuzzRecipient(f *testing.F) {
	k := newKey(f)
	f.Add(k.Recipient().String())
	f.Add("age1pq1")
	f.Fuzz(func(t *testing.T, text string) {
		var to Recipient
		var err error
		memory.Bound(t, len(text), func() { to, err = ParseRecipient(text) })
		if err != nil {
			return
		}
		if to.String() != text {
			t.Errorf("%q is parsed as %q", text, to)
		}
		if _, err := Seal(to, nil, []byte("x"), 1); err != nil {
			t.Errorf("sealing for a recipient that was read: %v", err)
		}
	})
}

func FuzzState(f *testing.F) {
	k := newKey(f)
	good, err := k.SealState("p", []byte("state"))
	check(f, err)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Fuzz(func(t *testing.T, sealed []byte) {
		var state []byte
		var err error
		memory.Bound(t, len(sealed), func() { state, err = k.OpenState("p", sealed) })
		if err == nil && string(state) != "state" {
			t.Errorf("%q was opened", state)
		}
	})
}
