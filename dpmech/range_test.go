package dpmech_test

import (
	"math"
	"slices"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// The bound must be as tight as the comment of [dpmech.GaussianSum.Range] says: the exact Gaussian
// tail beyond it, times the number of elements, must be between 2^-80 and 2^-64. Releases of the
// largest signal must stay within it.
func TestRangeIsTight(t *testing.T) {
	cfg := dpmech.Config{Clip: 2, NoiseMultiplier: 3, Shares: 1, Terms: 5, Releases: 100, Adjacency: "add-remove"}
	for _, dim := range []int{1, 2, 7, 64, 1000, 1 << 20} {
		cfg.Dim = dim
		m := newSum(t, cfg)
		r := m.Range()
		z := float64(r.Noise) / float64(m.ShareSigma())
		tail := math.Log2(math.Erfc(z/math.Sqrt2)) + math.Log2(float64(dim))
		if tail > -64 || tail < -80 {
			t.Errorf("%d elements: an honest release is refused with probability 2^%.1f", dim, tail)
		}
		if step := m.Lattice().Step(); math.Abs(float64(r.Signal)*step-10) > 5*step*2 {
			t.Errorf("a signal of up to %g, want 10", float64(r.Signal)*step)
		}
		for n := 1; n <= 100; n += 33 {
			want := float64(n)*float64(r.Signal) + math.Sqrt(float64(n))*float64(r.Noise)
			if got := float64(r.Of(n)); got < want*(1-1e-12) || got > want+1 {
				t.Errorf("the sum of %d releases is at most %g, want %g", n, got, want)
			}
			if r.Of(n) > m.MaxTotal() {
				t.Errorf("the sum of %d releases is bounded by %d, beyond what can occur, %d", n, r.Of(n), m.MaxTotal())
			}
		}
	}
	const dim = 3
	cfg.Dim = dim
	m := newSum(t, cfg)
	noisy, exact := make([]int64, dim), make([]int64, dim)
	vectors := slices.Repeat([][]float64{{0, 0, 9}}, 50) // ten times as many as the mechanism has room for
	var sum [dim]int64
	for n := 1; n <= 100; n++ {
		check(t, m.Release(noisy, exact, seeded.Stream(20_000, "range", uint64(n)), adding(vectors...)))
		for i, x := range noisy {
			sum[i] += x
			if x > m.Range().Of(1) || x < -m.Range().Of(1) || sum[i] > m.Range().Of(n) || sum[i] < -m.Range().Of(n) {
				t.Fatalf("an honest release or sum is out of range: %d, %d", x, sum[i])
			}
		}
	}
}
