package extend_test

import (
	"gonum.org/v1/gonum/floats"

	"fedpvi/sim"
)

// This clip bounds the norm of a client's change: in a round, a client changes its factor by at
// most 20. If a study protects clients, its mechanism clips the change once more, so the privacy
// guarantee does not depend on this clip.
func init() {
	sim.RegisterClip("short", func(change []float64) {
		if norm := floats.Norm(change, 2); norm > 20 {
			floats.Scale(20/norm, change)
		}
	})
}

// After 20 short steps the intervals are still too wide.
func Example_clip() {
	show(posterior(`clip = "own:short"`))
	// Output:
	// intercept 0.99 ± 0.04
	// x 2.00 ± 0.08
	// 0.98 nats
}
