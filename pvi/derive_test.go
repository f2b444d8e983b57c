package pvi_test

import (
	"fmt"
	"strings"
	"testing"

	"fedpvi/internal/testing/memory"
	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// NewProtocol allocates at most 24 bytes per coefficient. Names and priors are computed on demand.
func TestManyCoefficientsTakeLittleMemory(t *testing.T) {
	const coefficients, each = 1_000_000, 24 // number of coefficients, and allowed bytes per coefficient
	levels := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%q, ", fmt.Sprint(i))
		}
		return b.String()
	}
	for _, model := range []string{
		`{ family = "softmax", outcome = "y", terms = ["a*b"] }`,
		`{ family = "neural-network", outcome = "z", terms = ["a*b"], hidden = 17 }`,
	} {
		st, err := study.Parse("wide.toml", fmt.Appendf(nil, `
study = { version = 1, name = "wide" }
inference = { rounds = 1, q = "diagonal" }
privacy = { unit = "client", noise_multiplier = 1.0, delta = 1e-5, clip = 60 }
model = %s
column = [
  { name = "a", type = "categorical", levels = [%s] },
  { name = "b", type = "categorical", levels = [%s] },
  { name = "y", type = "categorical", levels = [%s] },
  { name = "z", type = "numeric", bounds = [0, 1] },
]`, model, levels(243), levels(243), levels(18)))
		if err != nil {
			t.Fatal(err)
		}
		var p *pvi.Protocol
		memory.Within(t, each*coefficients, func() {
			if p, err = pvi.NewProtocol(st, []pvi.ClientID{"a", "b"}); err != nil {
				t.Fatal(err)
			}
		})
		if d := p.Model().Dim(); d < coefficients {
			t.Errorf("%s has %d coefficients", model, d)
		}
	}
}
