package audit

import "testing"

// The test checks that every case can be set up and run in both worlds, and that it yields
// observations.
func TestGradientCases(t *testing.T) {
	for _, g := range gradientCases {
		a, err := g.attack()
		check(t, err)
		for world := range 2 {
			seen, err := a.observe(1, world, 0)
			want := 4
			if g.last {
				want += 2
			}
			if err != nil || len(seen) != want {
				t.Errorf("%s, world %d: saw %v, %v", g.name(), world, seen, err)
			}
		}
	}
}
