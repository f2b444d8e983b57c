package sim

import (
	"slices"
	"testing"

	"fedpvi/pvi/shard"
)

// A record more moves no other to the other side.
func TestRivalsSetRecordsAsideOneByOne(t *testing.T) {
	sides := func(records int) (kept, aside []float64) {
		st := regression(t, "logistic", records, 1)
		r, err := NewRivals(st, 0.3, Options{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		first := func(from *shard.Records) (values []float64) {
			for i := range from.Len() {
				values = append(values, from.Row(i)[0])
			}
			return values
		}
		return first(r.cast.holders[0].Records), first(r.Aside[0])
	}
	kept, aside := sides(400)
	if len(kept)+len(aside) != 400 || len(aside) < 80 || len(aside) > 160 { // 4.4 sds
		t.Fatalf("%d kept, %d aside", len(kept), len(aside))
	}
	more, moreAside := sides(401)
	if !slices.Equal(more[:len(kept)], kept) || !slices.Equal(moreAside[:len(aside)], aside) {
		t.Error("one record more, and others are set aside")
	}
}
