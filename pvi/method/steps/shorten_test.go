package steps

import (
	"math"
	"testing"

	"fedpvi/dpmech"
)

// If a coordinate does not fit into a message, it is shortened but keeps its direction. The others
// do not change.
func TestChangesBeyondAMessageAreShortened(t *testing.T) {
	lattice, err := dpmech.NewLattice(30)
	if err != nil {
		t.Fatal(err)
	}
	const d, limit = 2, 1 << 50
	room := lattice.Float(limit)
	change := []float64{3, -7 * room, 0.5, 14 * room}
	shorten(change, room, d, true)
	if change[0] != 3 || change[2] != 0.5 {
		t.Errorf("a coordinate with room changed: %v", change)
	}
	if math.Abs(change[1]/change[3]+0.5) > 1e-12 || change[3] > room || change[3] < 0.999*room {
		t.Errorf("(-7, 14) times the room became (%g, %g) times it", change[1]/room, change[3]/room)
	}
	for _, diagonal := range []bool{true, false} {
		for _, huge := range []float64{room, math.Nextafter(room, 0), math.MaxFloat64} {
			change := []float64{huge, 0, -huge, 1}
			shorten(change, room, d, diagonal)
			if err := lattice.Truncate(make([]int64, len(change)), change, limit); err != nil {
				t.Errorf("a change of %g: %v", huge, err)
			}
		}
	}
}
