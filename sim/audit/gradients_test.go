package audit

import "testing"

// Every case can be set up and yields observations in both worlds.
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
