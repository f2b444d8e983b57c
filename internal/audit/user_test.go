package audit

import "testing"

// Linux writes 2^32 − 1 if nobody has logged in.
func TestUserWhoLoggedIn(t *testing.T) {
	for text, want := range map[string]int{"1000": 1000, "0": 0, "1000\n": 1000, "4294967295": -1, "": -1, "root": -1} {
		if uid, ok := loggedIn(text); ok != (want >= 0) || ok && uid != want {
			t.Errorf("%q: %d, %v", text, uid, ok)
		}
	}
}
