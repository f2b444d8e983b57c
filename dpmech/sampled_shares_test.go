package dpmech_test

import (
	"math"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// The test takes each sampling and an observer who does not know n of the noise shares. The cost
// must be the same as for noise whose standard deviation is √n times that of a share.
func TestSampledShares(t *testing.T) {
	for name, sampling := range map[string]dpmech.Sampling{"full": dpmech.FullBatch{}, "poisson": dpmech.Poisson{Rate: 0.1}} {
		for _, adjacency := range []accountant.Adjacency{accountant.AddRemove, accountant.ReplaceOne} {
			cfg := sampled
			cfg.Sampling, cfg.Adjacency, cfg.Shares, cfg.Releases = sampling, adjacency, 16, 20
			s := newSampledSum(t, cfg)
			if promised, all := epsilonOf(t, s.Event(), 1e-5), epsilonOf(t, must(s.SharedEventFor(cfg.Steps, 16, adjacency)), 1e-5); promised != all {
				t.Errorf("%s, %s: the event costs ε = %g, and 16 shares cost %g", name, adjacency, promised, all)
			}
			for _, n := range []int{1, 7, 16, 20} {
				single := cfg
				single.Shares, single.Releases = 1, 1
				single.NoiseMultiplier = cfg.NoiseMultiplier * math.Sqrt(float64(n)/16)
				got, want := epsilonOf(t, must(s.SharedEventFor(cfg.Steps, n, adjacency)), 1e-5), epsilonOf(t, newSampledSum(t, single).Event(), 1e-5)
				if math.Abs(got/want-1) > 1e-3 {
					t.Errorf("%s, %s, %d shares: ε = %g, a single noise as large costs %g", name, adjacency, n, got, want)
				}
			}
		}
	}
	if _, err := newSampledSum(t, sampled).SharedEventFor(1, 0, accountant.AddRemove); err == nil {
		t.Error("no error for zero shares")
	}
}

func must(e accountant.Event, err error) accountant.Event {
	if err != nil {
		panic(err)
	}
	return e
}

// A share must have the standard deviation σC/√Shares, rounded up.
func TestSampledShareSize(t *testing.T) {
	cfg := sampled
	cfg.Shares, cfg.Releases = 9, 12
	s := newSampledSum(t, cfg)
	got, want := s.Lattice().Float(s.ShareSigma()), cfg.NoiseMultiplier*cfg.Clip/3
	if got < want || got > want*(1+0x1p-22) {
		t.Errorf("a share has sd %g, want %g", got, want)
	}
	if s.Shares() != 9 {
		t.Errorf("%d shares", s.Shares())
	}
	run, dst := s.Begin(), make([]int64, cfg.Dim)
	check(t, run.Next(dst, seeded.Streams(1, "shares"), each([]float64{1, 1, 1})))
	for _, n := range dst {
		if n > s.MaxTotal()/12 || n < -s.MaxTotal()/12 {
			t.Errorf("a release of %d is beyond its part of %d", n, s.MaxTotal())
		}
	}
}

func TestSampledSharesRefused(t *testing.T) {
	for _, c := range [][2]int{{0, 4}, {4, 0}, {-1, 1}, {1, math.MaxInt}} {
		cfg := sampled
		cfg.Shares, cfg.Releases = c[0], c[1]
		if _, err := dpmech.NewSampledSum(cfg); err == nil {
			t.Errorf("%d shares and %d releases are accepted", c[0], c[1])
		}
	}
}

// Public numbers must be reproducible, and must be different for another purpose, study or number.
// The test of FillNormal covers their distribution.
func TestPublicNormal(t *testing.T) {
	draw := func(purpose string, digest byte, number int) []float64 {
		dst := make([]float64, 300)
		dpmech.FillPublicNormal(dst, purpose, [32]byte{digest}, number)
		return dst
	}
	one := draw("a", 1, 1)
	if !slices.Equal(one, draw("a", 1, 1)) {
		t.Error("two equal draws differ")
	}
	for name, other := range map[string][]float64{"purpose": draw("b", 1, 1), "digest": draw("a", 2, 1), "number": draw("a", 1, 2)} {
		for i, x := range one {
			if x == other[i] {
				t.Errorf("another %s has the same number in place %d", name, i)
			}
		}
	}
	var sum, squares float64
	for _, x := range one {
		sum += x
		squares += x * x
	}
	if math.Abs(sum)/math.Sqrt(300) > 4 || math.Abs(squares-300)/math.Sqrt(600) > 4 {
		t.Errorf("300 numbers have sum %g and sum of squares %g", sum, squares)
	}
}
