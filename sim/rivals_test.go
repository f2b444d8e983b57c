package sim

import (
	"slices"
	"testing"

	"fedpvi/pvi/shard"
)

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
	if len(kept)+len(aside) != 400 || len(aside) < 80 || len(aside) > 160 { // within 4.4 standard deviations of the mean 120
		t.Fatalf("%d kept, %d aside", len(kept), len(aside))
	}
	for _, records := range []int{401, 440} {
		more, moreAside := sides(records)
		if !slices.Equal(more[:len(kept)], kept) || !slices.Equal(moreAside[:len(aside)], aside) {
			t.Errorf("%d records more, and others are set aside", records-400)
		}
	}
}

func TestTrialsDoNotShareNoise(t *testing.T) {
	st := regression(t, "logistic", 60, 2, `unit = "none"`, "unit = \"record\"\nepsilon = 1.0\ndelta = 1e-5", "rounds = 40", "rounds = 2")
	r, err := NewRivals(st, 0.2, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	natural := func(trial int) []float64 {
		p, err := r.NewPlay(st, trial)
		if err != nil {
			t.Fatal(err)
		}
		return run(t, p).Natural
	}
	first := natural(0)
	if !slices.Equal(natural(0), first) {
		t.Error("the same trial again comes to something else")
	}
	if slices.Equal(natural(1), first) {
		t.Error("two trials have the same noise")
	}
	if r.ScoreNoise(0).Uint64() == r.ScoreNoise(1).Uint64() {
		t.Error("two clients' scores have the same noise")
	}
}
