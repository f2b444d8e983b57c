package dpmech

import (
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const exactBits = 400

func bigFloat() *big.Float { return new(big.Float).SetPrec(exactBits) }

// density returns exp(−x²/2σ²) for σ = num/den, with a relative error of about 2^-350. Its method
// differs from the sampler's: it sums a series of positive terms, raises the sum to a power, and
// returns the reciprocal.
func density(x, num, den uint64) *big.Float {
	z := bigFloat().SetInt(new(big.Int).Mul(new(big.Int).SetUint64(x), new(big.Int).SetUint64(den)))
	z.Quo(z, bigFloat().SetUint64(num))
	z.Mul(z, z).Quo(z, bigFloat().SetInt64(2))
	halvings := max(z.MantExp(nil)+8, 0)
	if halvings > 40 {
		return bigFloat() // exp(−x²/2σ²) is below e^(−2^31)
	}
	z.SetMantExp(z, -halvings)
	sum, term := bigFloat().SetInt64(1), bigFloat().SetInt64(1)
	for n := int64(1); n < 80; n++ {
		term.Mul(term, z).Quo(term, bigFloat().SetInt64(n))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum.Quo(bigFloat().SetInt64(1), sum)
}

// heights returns the heights yᵢ of a table, with an error of about 2^-390.
func heights(z *discreteZiggurat) []*big.Float {
	area := bigFloat().SetMantExp(bigFloat().SetUint64(z.area), -areaBits)
	y := []*big.Float{bigFloat()}
	for i := range z.layers {
		step := bigFloat().Quo(area, bigFloat().SetUint64(z.layers[i].width))
		y = append(y, step.Add(step, y[i]))
	}
	return y
}

func inUnits(y *big.Float) *big.Float { return bigFloat().SetMantExp(y, unitBits) }

// checkZiggurat compares a table with heights and densities of 400 bits, and checks every condition
// in the proof of the sampler.
func checkZiggurat(t testing.TB, num, den uint64) {
	t.Helper()
	z := newDiscreteZiggurat(num, den)
	y := heights(z)
	bound := sampleBound(num, den)
	if got := z.layers[0].width; got != 2*bound+1 {
		t.Errorf("σ = %d/%d: the lowest layer has %d integers, want %d", num, den, got, 2*bound+1)
	}
	one := bigFloat().SetInt64(1)
	if y[zigguratLayers].Cmp(one) < 0 {
		t.Errorf("σ = %d/%d: the layers end at %g, below the mode", num, den, y[zigguratLayers])
	}
	for i := range z.layers {
		layer := &z.layers[i]
		half := layer.width / 2
		if layer.width%2 != 1 {
			t.Fatalf("σ = %d/%d: layer %d is not symmetric", num, den, i)
		}
		if i > 0 && y[i].Cmp(one) < 0 && density(half+1, num, den).Cmp(y[i]) > 0 {
			t.Errorf("σ = %d/%d: layer %d does not cover %d, where the density is above the layer's lower edge", num, den, i, half+1)
		}
		if layer.span > 0 {
			inside := layer.span/2 + 1
			if layer.span%2 != 1 || layer.from != half+1-inside || inside > half+1 {
				t.Fatalf("σ = %d/%d: layer %d accepts %d of %d integers from %d on, but these are not centred at zero", num, den, i, layer.span, layer.width, layer.from)
			}
			if density(inside-1, num, den).Cmp(y[i+1]) < 0 {
				t.Errorf("σ = %d/%d: layer %d accepts %d without a test, although the density there is below the layer's upper edge", num, den, i, inside-1)
			}
		}
		foot, rise := bigFloat().SetUint64(layer.foot), bigFloat().SetUint64(layer.rise)
		gap := bigFloat().Sub(inUnits(y[i]), foot)
		if slack, _ := gap.Float64(); slack < -1e-9 || slack > float64(i) {
			t.Errorf("σ = %d/%d: the foot of layer %d is %g units below the truth", num, den, i, slack)
		}
		gap.Sub(inUnits(bigFloat().Sub(y[i+1], y[i])), rise)
		if slack, _ := gap.Float64(); slack < -1e-9 || slack >= 1+1e-9 {
			t.Errorf("σ = %d/%d: the rise of layer %d is %g units below the truth", num, den, i, slack)
		}
	}
}

// Sigmas lists values of σ = num/den over the range of the sampler.
var Sigmas = [][2]uint64{
	{3, 10},
	{1, 2},
	{7, 10},
	{1, 1},
	{3, 2},
	{2, 1},
	{10, 3},
	{10, 1},
	{1000, 7},
	{12289, 3},
	{1 << 20, 1},
	{24_691_357, 2},
	{1 << 25, 1},
	{1<<31 - 1, 33},
	{MaxSigma, 1},
}

// ratios lists values of σ that are far below one, and then Sigmas.
var ratios = append([][2]uint64{{1, 1 << 31}, {1, 1000}}, Sigmas...)

func TestZigguratCoversTheCurve(t *testing.T) {
	for _, r := range ratios {
		t.Run(fmt.Sprintf("%d over %d", r[0], r[1]), func(t *testing.T) { checkZiggurat(t, r[0], r[1]) })
	}
}

// The fuzzer makes tables for any σ, and checks the conditions under which the sampler is proven to
// be exact.
func FuzzZiggurat(f *testing.F) {
	f.Add(uint64(3), uint64(10))
	f.Add(uint64(12_345_679), uint64(1))
	f.Add(uint64(1)<<31, uint64(1)<<31-1)
	f.Fuzz(func(t *testing.T, num, den uint64) {
		g, err := NewDiscreteGaussianRatio(int64(num%(1<<32)), int64(den%(1<<32)))
		if err != nil {
			return
		}
		checkZiggurat(t, g.num, g.den)
	})
}

// Nearly all samples must take one word and one access to the table.
func TestZigguratIsSparing(t *testing.T) {
	for _, sigma := range []uint64{1, 2, 10, 1000, 1 << 23, MaxSigma} {
		z := zigguratOf(sigma, 1)
		unseen := 0.0
		for i := range z.layers {
			unseen += float64(z.layers[i].span) / float64(z.layers[i].width) / zigguratLayers
		}
		if unseen < 0.975 {
			t.Errorf("σ = %d: %.4f of all draws are kept at once, want .975", sigma, unseen)
		}
	}
}

// The lower and upper bounds on f must hold, and must be close to each other.
func TestCurveIsWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ratio := rapid.SampledFrom(ratios).Draw(r, "σ")
		num, den := ratio[0], ratio[1]
		c := newCurve(num, den)
		most := min(sampleBound(num, den)+1, rapid.SampledFrom([]uint64{num/den + 1, 7*(num/den) + 7, 1 << 47}).Draw(r, "most"))
		x := rapid.Uint64Range(0, most).Draw(r, "x")
		want := density(x, num, den)
		low, high := c.at(x)
		if bigFloat().SetUint64(low).Cmp(inUnits(want)) > 0 || bigFloat().SetUint64(high).Cmp(inUnits(want)) < 0 || high-low > 2*slack {
			r.Fatalf("σ = %d/%d: f(%d) is not in [%d, %d], it is %g", num, den, x, low, high, inUnits(want))
		}
		precision := uint(rapid.IntRange(70, 300).Draw(r, "precision"))
		least, most2 := c.within(x, precision)
		want.SetMantExp(want, int(precision))
		if bigFloat().SetInt(least).Cmp(want) > 0 || bigFloat().SetInt(most2).Cmp(want) < 0 || new(big.Int).Sub(most2, least).Int64() > 3 {
			r.Fatalf("σ = %d/%d: 2^%d f(%d) is not in [%d, %d], it is %g", num, den, precision, x, least, most2, want)
		}
	})
}

func someWords(r *rapid.T) []uint64 {
	return rapid.SliceOfN(rapid.Uint64(), 5, 5).Draw(r, "words")
}

// besides considers the positions of a layer at which the sampler must draw a height. It returns |x|
// for the first of them, the middle one and the last, without duplicates, or nil if there are none.
func besides(layer *zigguratLayer) []uint64 {
	first, last := (layer.span+1)/2, layer.width/2
	if first > last {
		return nil
	}
	return slices.Compact([]uint64{first, (first + last) / 2, last})
}

// If y is next to the curve, the decision must still be right, and must use as many bits as it
// needs. For tables with few places, the test tries each layer, and for other tables every 37th.
func TestZigguratDecidesNextToTheCurve(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, ratio := range Sigmas {
		num, den := ratio[0], ratio[1]
		z := zigguratOf(num, den)
		y := heights(z)
		decided, stride := 0, 37
		if num < 20*den {
			stride = 1
		}
		for i := 0; i < zigguratLayers; i += stride {
			for _, x := range besides(&z.layers[i]) {
				// v is the height of the curve within the layer. It is in (0, 1) for x in the
				// wedge.
				v := bigFloat().Sub(density(x, num, den), y[i])
				v.Quo(v, bigFloat().Sub(y[i+1], y[i]))
				if v.Sign() <= 0 || v.Cmp(bigFloat().SetInt64(1)) >= 0 {
					continue
				}
				decided++
				checkDecision(t, z, i, x, v, rng)
			}
		}
		if decided < 3 {
			t.Errorf("σ = %d/%d: %d draws were next to the curve, want at least 3", num, den, decided)
		}
	}
}

// checkDecision fails the test unless the sampler decides correctly whether a height y is below the
// curve. v is the height of the curve as a fraction of layer i. The tested heights agree with v in
// their first words.
func checkDecision(t *testing.T, z *discreteZiggurat, i int, x uint64, v *big.Float, rng *rand.Rand) {
	t.Helper()
	// curve holds the words of v.
	curve := make([]uint64, 3)
	rest := bigFloat().Set(v)
	for n := range curve {
		rest.SetMantExp(rest, 64)
		curve[n], _ = rest.Uint64()
		rest.Sub(rest, bigFloat().SetUint64(curve[n]))
	}
	for same := range curve { // number of leading words that y shares with the height of the curve
		for _, off := range []uint64{0, 1, ^uint64(0), 1 << 20, ^uint64(1 << 20), 1 << 60} {
			words := []uint64{rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64()}
			copy(words, curve[:same+1])
			words[same] += off
			drawn := bigFloat()
			for n, w := range words {
				drawn.Add(drawn, bigFloat().SetMantExp(bigFloat().SetUint64(w), -64*(n+1)))
			}
			if got, want := z.decide(i, x, words[0], &given{words[1:]}), drawn.Cmp(v) < 0; got != want {
				t.Errorf("layer %d, x = %d, %d words of the curve and %d: kept %v, want %v", i, x, same, off, got, want)
			}
		}
	}
}

// If y is closer to the curve than the rounding error, a sample must take more than one word.
func TestZigguratAsksForMoreNextToTheCurve(t *testing.T) {
	for _, ratio := range Sigmas {
		z := zigguratOf(ratio[0], ratio[1])
		asked := 0
		for i := range z.layers {
			layer := &z.layers[i]
			for _, x := range besides(layer) {
				low, high := z.curve.at(x)
				for _, y := range []uint64{low - uint64(i) - 2, low, high - 1} {
					if y <= layer.foot || y >= layer.foot+layer.rise-1 {
						continue
					}
					asked++
					word, _ := bits.Div64(y-layer.foot, layer.rise-1, layer.rise) // smallest word for which the height is at least y
					words := &given{[]uint64{word, 0, 0, 0, 0}}
					z.keeps(i, x+layer.width/2, words)
					if len(words.words) == 4 {
						t.Errorf("σ = %d/%d, layer %d, x = %d: y = %d is decided by one word, f is in [%d, %d]", ratio[0], ratio[1], i, x, y, low, high)
					}
				}
			}
		}
		if asked < 9 {
			t.Errorf("σ = %d/%d: %d such y, want at least 9", ratio[0], ratio[1], asked)
		}
	}
}

// The test checks how a 56-bit number selects a position in a layer of the ziggurat. Some positions
// are selected by one number more than others. Fill and Sample must reject these surplus numbers and
// draw again. The test's stream has no key, so drawing again panics.
func TestZigguratDrawsUnevenPlacesAgain(t *testing.T) {
	uneven := 0
	for _, ratio := range ratios {
		z := zigguratOf(ratio[0], ratio[1])
		taken := 0
		for i := range z.layers {
			layer := &z.layers[i]
			for _, place := range []uint64{layer.from, layer.width / 2, layer.from + layer.span - 1} {
				if layer.span == 0 {
					continue
				}
				// first is the least 56-bit number that chooses this place.
				hi, lo := place>>8, place<<56
				first, left := bits.Div64(hi%layer.width, lo, layer.width)
				if left > 0 {
					first++
				}
				for n, number := range []uint64{first, first + 1} {
					w := number<<8 | uint64(i)
					got, rest := layer.place(w)
					if got != place {
						continue // the place has no surplus number
					}
					want := rest/zigguratLayers < 1<<56%layer.width
					if want {
						uneven++
					} else {
						taken++
					}
					if want && n > 0 {
						t.Fatalf("the second number of a place is not taken")
					}
					filled := panics(func() { z.fill(make([]int64, 1), []uint64{w}, new(Stream)) })
					drawn := panics(func() { z.draw(w, new(Stream)) })
					if filled != want || drawn != want {
						t.Errorf("σ = %d/%d, layer %d, place %d: drawn again by fill: %t, by draw: %t, want %t", ratio[0], ratio[1], i, place, filled, drawn, want)
					}
				}
			}
		}
		if taken == 0 {
			t.Errorf("σ = %d/%d: no number is taken", ratio[0], ratio[1])
		}
	}
	if uneven < 100 {
		t.Errorf("%d numbers were drawn again, want at least 100", uneven)
	}
}

func TestZigguratKeepsDecidesRight(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ratio := rapid.SampledFrom(Sigmas).Draw(r, "σ")
		z := zigguratOf(ratio[0], ratio[1])
		i := rapid.IntRange(0, zigguratLayers-1).Draw(r, "layer")
		layer := &z.layers[i]
		place := rapid.Uint64Range(0, layer.width-1).Draw(r, "place")
		if i > 0 && layer.from > 0 && rapid.Bool().Draw(r, "wedge") {
			place %= layer.from
		}
		words := someWords(r)
		got := z.keeps(i, place, &given{words})
		x := max(place, layer.width/2) - min(place, layer.width/2)
		if want := z.decide(i, x, words[0], &given{words[1:]}); got != want {
			r.Fatalf("σ = %d/%d, layer %d, x = %d: kept %v, want %v", ratio[0], ratio[1], i, x, got, want)
		}
		if got && density(x, ratio[0], ratio[1]).Cmp(heights(z)[i]) < 0 {
			r.Fatalf("σ = %d/%d: layer %d accepts %d, where the density is below the layer's lower edge", ratio[0], ratio[1], i, x)
		}
	})
}

// Once surplus numbers are rejected, each place must result from the same number of 56-bit numbers.
func TestZigguratPlacesAreEven(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		layer := &zigguratLayer{width: rapid.Uint64Range(1, 1<<48).Draw(r, "width")}
		place := rapid.Uint64Range(0, layer.width-1).Draw(r, "place")
		// start returns ⌈p·2^56/width⌉, the least number that chooses place p.
		start := func(p uint64) uint64 {
			n := new(big.Int).Lsh(new(big.Int).SetUint64(p), 56)
			n.Add(n, new(big.Int).SetUint64(layer.width-1))
			return n.Quo(n, new(big.Int).SetUint64(layer.width)).Uint64()
		}
		from, to := start(place), start(place+1)
		counts := to - from
		for _, n := range []uint64{from, from + 1, to - 1} { // Fill and Sample can reject only the least number of a place
			if n >= to {
				continue
			}
			got, rest := layer.place(n << 8)
			if got != place {
				r.Fatalf("%d of 2^56 is place %d of %d, want %d", n, got, layer.width, place)
			}
			refused := false
			if rest < layer.width*zigguratLayers {
				refused = panics(func() { again(got, rest, layer.width, new(Stream)) })
			}
			if refused && n > from {
				r.Fatalf("%d of 2^56 is refused, and is not the first of its place", n)
			}
			if refused {
				counts--
			}
		}
		if counts != 1<<56/layer.width {
			r.Fatalf("%d numbers count for place %d of %d, want %d", counts, place, layer.width, uint64(1<<56)/layer.width)
		}
	})
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
