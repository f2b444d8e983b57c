package dpmech_test

import (
	"math"
	"slices"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// The two streams of a round must be independent, and so must the streams of two rounds.
//
//abuse:case P15 streams of different purposes are independent
func TestStreamsAreSeparate(t *testing.T) {
	system := dpmech.NewStreams()
	other := seeded.Streams(1, "a", 2)
	seen := map[uint64]bool{}
	distinct := 0
	see := func(s *dpmech.Streams) {
		for _, stream := range []*dpmech.Stream{s.Sampling, s.Noise} {
			seen[stream.Uint64()] = true
			distinct++
		}
	}
	see(system)
	see(dpmech.NewStreams())
	see(seeded.Streams(1, "a", 1))
	see(other)
	if len(seen) != distinct {
		t.Errorf("%d of %d streams begin alike", distinct-len(seen), distinct)
	}
	again := seeded.Streams(1, "a", 2)
	again.Sampling.Uint64()
	again.Noise.Uint64()
	if again.Sampling.Uint64() != other.Sampling.Uint64() || again.Noise.Uint64() != other.Noise.Uint64() {
		t.Error("two streams with one seed differ")
	}
}

func TestWipedStreamsRefuse(t *testing.T) {
	s := dpmech.NewStreams()
	s.Wipe()
	for _, stream := range []*dpmech.Stream{s.Sampling, s.Noise} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a wiped stream returns bits")
				}
			}()
			stream.Uint64()
		}()
	}
}

// The test checks the uniform numbers in (0, 1] from which the normal tail is computed. It
// counts them in cells, and checks that they can be arbitrarily small.
func TestUniformFloat(t *testing.T) {
	const draws = 400_000
	src := seeded.Stream(8, "uniform")
	observed, expected := make([]float64, 40), make([]float64, 40)
	mantissa := make([]float64, 64)
	for range draws {
		u := dpmech.Uniform(src)
		if !(u > 0 && u <= 1) {
			t.Fatalf("uniform number %v", u)
		}
		fraction, exponent := math.Frexp(u)
		observed[min(39, -exponent)]++
		mantissa[int((fraction-0.5)*128)%64]++
	}
	for i := range expected {
		expected[i] = draws * math.Ldexp(1, -i-1)
	}
	if p := chiSquare(observed, expected); p < rejectBelow {
		t.Errorf("χ² rejects the exponents, p = %.2g", p)
	}
	even := slices.Repeat([]float64{draws / 64.0}, 64)
	if p := chiSquare(mantissa, even); p < rejectBelow {
		t.Errorf("χ² rejects the mantissas, p = %.2g", p)
	}
}

// The layers of the ziggurat must have equal areas and end at the mode.
func TestZigguratCloses(t *testing.T) {
	height, excess := dpmech.ZigguratEnd()
	if !(height < 1) || math.Abs(excess) > 1e-12 {
		t.Errorf("the highest layer begins at %v, and its area is off by %g", height, excess)
	}
}
