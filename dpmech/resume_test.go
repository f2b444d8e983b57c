package dpmech_test

import (
	"errors"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

func resumable(t *testing.T, sampling dpmech.Sampling) *dpmech.SampledSum {
	t.Helper()
	return newSampledSum(t, dpmech.SampledConfig{
		Sampling: sampling, Records: 8, Steps: 8, Dim: 1, Clip: 1, NoiseMultiplier: 1, Adjacency: accountant.ZeroOut,
	})
}

func TestResume(t *testing.T) {
	nothing := func([]uint32, *dpmech.Accumulator) error { return nil }
	for _, sampling := range []dpmech.Sampling{dpmech.FullBatch{}, dpmech.RandomAllocation{Steps: 4, Picks: 1}} {
		run, err := resumable(t, sampling).Resume(4)
		if err != nil || run.Remaining() != 4 {
			t.Fatalf("%T: %v", sampling, err)
		}
		streams := seeded.Streams(1, "resume")
		for range 4 {
			check(t, run.Next(make([]int64, 1), streams, nothing))
		}
		if err := run.Next(make([]int64, 1), streams, nothing); !errors.Is(err, dpmech.ErrNoSteps) {
			t.Errorf("%T: a step beyond the last: %v", sampling, err)
		}
	}
	for _, taken := range []int{-1, 9} {
		if _, err := resumable(t, dpmech.FullBatch{}).Resume(taken); err == nil {
			t.Errorf("no error for a run with %d of 8 steps taken", taken)
		}
	}
	if _, err := resumable(t, dpmech.RandomAllocation{Steps: 4, Picks: 1}).Resume(2); err == nil {
		t.Error("no error in the middle of an epoch")
	}
}

// A stream must have no word in common with the streams that are split from it. For independent
// streams, the probability of a common word is 2^-50.
func TestSplit(t *testing.T) {
	src := seeded.Stream(1, "split")
	seen := map[uint64]bool{}
	streams := []*dpmech.Stream{src, new(dpmech.Stream), new(dpmech.Stream), new(dpmech.Stream)}
	for _, s := range streams[1:] {
		dpmech.Split(s, src)
	}
	for i, s := range streams {
		for range 64 {
			w := s.Uint64()
			if seen[w] {
				t.Fatalf("stream %d repeats a word", i)
			}
			seen[w] = true
		}
	}
}
