package pvi

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/study"
)

// The test computes the median and the trimmed mean in floating point from their definitions.
func TestCombineIsTheMedianOrTheTrimmedMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(20_001, 1))
	for range 2000 {
		answers, size := 3+rng.IntN(9), 1+rng.IntN(4)
		releases := make([]int64, answers*size)
		for i := range releases {
			releases[i] = rng.Int64N(1<<40) - 1<<39
		}
		for _, how := range []study.Combination{study.ByMedian, study.ByTrimmed} {
			for i, got := range trimmed(how, answers, releases) {
				var x []float64
				for m := range answers {
					x = append(x, float64(releases[m*size+i]))
				}
				slices.Sort(x)
				kept := x[answers/4 : answers-answers/4]
				if how == study.ByMedian {
					kept = x[(answers-1)/2 : answers/2+1]
				}
				var want float64
				for _, v := range kept {
					want += v / float64(len(kept)) * float64(answers)
				}
				if math.Abs(float64(got)-want) > 2+math.Abs(want)*1e-12 {
					t.Fatalf("%s of %v: %d, want %g", how, x, got, want)
				}
			}
		}
	}
	extreme := []int64{1 << 58, 1 << 58, 1 << 58, -1 << 58}
	if got := trimmed(study.ByMedian, 4, extreme); got[0] != 1<<60 {
		t.Errorf("a median at the largest value: %d", got[0])
	}
}

// The variance of a robust combination of Gaussian releases is larger than that of their sum, by at
// most the documented factor. With many clients it comes close to that factor.
func TestLossOfCombinations(t *testing.T) {
	rng := rand.New(rand.NewPCG(20_002, 1))
	for _, how := range []study.Combination{study.ByMedian, study.ByTrimmed} {
		for _, answers := range []int{3, 4, 5, 8, 41} {
			var squares float64
			const draws = 20_000
			releases := make([]int64, answers)
			for range draws {
				for i := range releases {
					releases[i] = int64(rng.NormFloat64() * (1 << 30))
				}
				x := float64(trimmed(how, answers, releases)[0]) / (1 << 30)
				squares += x * x
			}
			ratio, sd := squares/draws/float64(answers), math.Sqrt(2./draws)
			if ratio > how.Loss()*(1+4*sd) || answers > 40 && ratio < how.Loss()*.94 {
				t.Errorf("%s of %d: %.3f times the variance, stated %.3f", how, answers, ratio, how.Loss())
			}
		}
	}
}

// combinedStudy returns a study in which five clients of equal size release statistics.
func combinedStudy(t *testing.T, how string) *study.Study {
	t.Helper()
	return lineStudy(t, linestudy.Parts{
		Version: 2, Privacy: "unit = \"record\"\nnoise_multiplier = 0.01\ndelta = 1e-5",
		Inference:  "rounds = 2\nsolver = \"clipped-analytical\"\nfactors = \"tied\"\nintervals = \"none\"",
		Federation: "combine = \"" + how + "\"",
	})
}

// One of five clients raises the precision of the slope as much as a release allows. This moves q
// far if releases are summed, but not if they are combined robustly.
//
//abuse:case A20 one of five clients pushes one element as far as it can: with a robust combination q stays near that of honest clients
func TestRobustCombinationHoldsAgainstOneClient(t *testing.T) {
	play := func(how string, evil bool) []float64 {
		h := newHouse(t, combinedStudy(t, how), 5, 3)
		again := NewServer(h.protocol)
		for {
			plan, ok := h.server.Next()
			if !ok {
				break
			}
			again.Next()
			var o *Outcome
			for m := range h.sites {
				r := h.propose(m, &plan)
				if evil && m == 2 {
					r.Change[1] = h.protocol.messages.Limit()
					h.sites[m].sent = HashOf(r.Change) // The client's site must believe that it sent the false release.
				}
				var err error
				o, err = h.server.Collect(r)
				check(t, err)
			}
			h.settle(o)
			_, err := again.Replay(o)
			check(t, err)
		}
		if !slices.Equal(again.Lambda(), h.server.Lambda()) || !slices.Equal(h.sites[0].Lambda(), h.server.Lambda()) {
			t.Errorf("%s: λ differs between machines", how)
		}
		return slices.Clone(h.server.q.mean())
	}
	honest := play("sum", false)
	for how, moved := range map[string]bool{"sum": true, "median": false, "trimmed": false} {
		with := play(how, true)
		if far := math.Abs(with[1] - honest[1]); (far > 1) != moved {
			t.Errorf("%s: the slope moves by %g to %g", how, far, with[1])
		}
	}
}
