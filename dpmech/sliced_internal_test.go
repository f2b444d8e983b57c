package dpmech

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var slicedSigmas = []uint64{leastSliced, 1 << 20, 1_571_234, 1 << 21, mostSliced}

// In float64, up to rounding, the rectangles must be under the curve f, and the wedges must reach
// above it. Each integer up to the bound must be in one slice. For each slice, the table must have
// as many slots as the rectangle has units of area, so that points are uniform under the curve.
func TestSlicedCoversTheCurve(t *testing.T) {
	for _, sigma := range slicedSigmas {
		g := newSliced(sigma)
		f := func(x int64) float64 {
			z := float64(x) / float64(sigma)
			return math.Ldexp(math.Exp(-z*z/2), heightBits)
		}
		var count [slicedColumns]uint64
		for c, e := range g.table {
			own := uint64(e >> columnBits)
			if own > 1<<thresholdBits {
				t.Fatalf("σ = %d: column %d is %#x", sigma, c, e)
			}
			count[c] += own
			count[e&(slicedColumns-1)] += 1<<thresholdBits - own
		}
		unit := g.all / count[notInTable] / (1 << placeBits)
		var end uint64
		for i, w := range g.wedges {
			first, last := w.first, w.first+int64(w.length)-1
			least, most := f(first), f(last)
			if least > most {
				least, most = most, least
			}
			if first <= 0 && last >= 0 {
				most = f(0)
			}
			if float64(w.foot) > least*(1+1e-15) || float64(w.foot+w.rise) < most*(1-1e-15) {
				t.Fatalf("σ = %d: the wedge from %d is from %d to %d, the curve between %.1f and %.1f", sigma, w.first, w.foot, w.foot+w.rise, least, most)
			}
			if slice := first>>placeBits + int64(g.origin); w.length == 1<<placeBits && i < 2*int(g.origin) {
				if count[slice]*unit != w.foot || slice == notInTable {
					t.Fatalf("σ = %d: slice %d has %d slots of height %d, and a foot of %d", sigma, slice, count[slice], unit, w.foot)
				}
				count[slice] = 0
			} else if w.foot != 0 {
				t.Fatalf("σ = %d: a wedge beyond the slices begins at %d", sigma, w.foot)
			}
			if end += w.length * w.rise; g.ends[i] != end {
				t.Fatalf("σ = %d: wedge %d ends at %d, the areas add up to %d", sigma, i, g.ends[i], end)
			}
		}
		if end > g.all || float64(count[notInTable]) > 0.03*slicedColumns*(1<<thresholdBits) {
			t.Errorf("σ = %d: wedges need %d of %d, %d slots", sigma, end, g.all, count[notInTable])
		}
		count[notInTable] = 0
		if slices.Max(count[:]) != 0 {
			t.Errorf("σ = %d: the table has slices that do not exist", sigma)
		}
		checkIntervals(t, g)
	}
}

// checkIntervals checks that the wedges cover the integers from −bound to bound without
// gaps.
func checkIntervals(t *testing.T, g *slicedGaussian) {
	t.Helper()
	type interval struct{ from, to int64 }
	var all []interval
	for _, w := range g.wedges {
		all = append(all, interval{w.first, w.first + int64(w.length) - 1})
	}
	slices.SortFunc(all, func(a, b interval) int { return int(min(1, max(-1, a.from-b.from))) })
	if all[0].from != -g.bound || all[len(all)-1].to != g.bound {
		t.Errorf("from %d to %d, bound %d", all[0].from, all[len(all)-1].to, g.bound)
	}
	for i := range all[1:] {
		if all[i].to+1 != all[i+1].from {
			t.Fatalf("%d is followed by %d", all[i].to, all[i+1].from)
		}
	}
}

// The test checks the search for the wedge of a place. The search goes upwards from the wedge in
// guide, so it must not begin after the wedge that it has to find.
func TestSlicedGuide(t *testing.T) {
	g := newSliced(1 << 20)
	for i, w := range g.wedges {
		for _, place := range []uint64{g.ends[i] - w.area(), g.ends[i] - 1} {
			if at := int(g.guide[place>>g.shift]); at > i {
				t.Fatalf("the search for place %d of wedge %d begins at wedge %d", place, i, at)
			}
		}
	}
}

func TestSlicedLanesAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, sigma := range slicedSigmas {
		g := newSliced(sigma)
		words := make([]uint64, 4*500)
		for i := range words {
			words[i] = rng.Uint64()
		}
		got, want := make([]int64, 2*len(words)), make([]int64, 2*len(words))
		gone, missing := make([]uint8, len(got)/8), make([]uint8, len(got)/8)
		g.fill(got, words, gone)
		g.fillPlain(want, words, missing)
		if !slices.Equal(got, want) || !slices.Equal(gone, missing) {
			t.Errorf("σ = %d: lanes have other samples", sigma)
		}
		if slices.Max(missing) == 0 {
			t.Errorf("σ = %d: all samples are in the table", sigma)
		}
	}
}

func TestHideLanesAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 20 {
		got, noise := make([]float32, n), make([]int64, n)
		for i := range got {
			got[i] = float32(rng.NormFloat64() * math.Exp(5*rng.NormFloat64()))
			noise[i] = rng.Int64N(1<<50) - 1<<49
			if i%3 == 0 {
				got[i], noise[i] = float32(rng.IntN(9)-4)/2, int64(rng.IntN(5)-2) // for these numbers, the sum is halfway between two lattice points
			}
		}
		want := slices.Clone(got)
		hide(got, noise, 1, 1)
		hidePlain(want, noise, 1, 1)
		if !slices.Equal(got, want) {
			t.Errorf("%d numbers: %v in lanes, %v one by one", n, got, want)
		}
	}
}

// The sampler must decide correctly for points above, below and at the edge of the curve. At the
// edge, it must use as many bits as it needs.
func TestSlicedDecides(t *testing.T) {
	g := newSliced(1 << 20)
	const x = 1<<20 + 77
	low, _ := g.curve.within(x, heightBits+64)
	word := low.Uint64()
	height := low.Rsh(low, 64).Uint64()
	if !g.under(x, height-1, &given{[]uint64{math.MaxUint64}}) || g.under(x, height+1, &given{[]uint64{0}}) {
		t.Error("a place a unit from the curve is on the wrong side")
	}
	if !g.under(x, height, &given{[]uint64{word - 9, 0, 0}}) || g.under(x, height, &given{[]uint64{word + 9, 0, 0}}) {
		t.Error("a place 2^-100 from the curve is on the wrong side")
	}
}
