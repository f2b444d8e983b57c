package words_test

import (
	"strings"
	"testing"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

const summed = `
study = { version = 2, name = "sums" }
model = { family = "linear", outcome = "y", terms = ["x"], noise_sd = 0.5 }
inference = { rounds = 4, solver = "conjugate", intervals = "none" }
privacy = { unit = "client", epsilon = 4.0, delta = 1e-5, clip = 1.0 }
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "y"
type = "numeric"
bounds = [0, 1]
`

func protocol(t *testing.T, source string, clients int, overrides ...study.Override) *pvi.Protocol {
	t.Helper()
	st, err := study.Parse("s.toml", []byte(source), overrides...)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pvi.NewProtocol(st, []pvi.ClientID{"a", "b", "c"}[:clients])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// says checks that got contains each of the texts in want and, unless not is empty, does not
// contain not.
func says(t *testing.T, got string, want []string, not string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(got, text) {
			t.Errorf("%q is not in %q", text, got)
		}
	}
	if not != "" && strings.Contains(got, not) {
		t.Errorf("%q is in %q", not, got)
	}
}
