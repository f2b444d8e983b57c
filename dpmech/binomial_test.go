package dpmech_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// dyadic returns two integers such that q = numerator/2^exponent.
func dyadic(q float64) (numerator *big.Int, exponent uint) {
	r := new(big.Rat).SetFloat64(q)
	return r.Num(), uint(r.Denom().BitLen() - 1)
}

// exactBinomial returns P(Binomial(n, q) = k) as numerator/2^bits. It evaluates the binomial
// formula with integers.
func exactBinomial(n, k int, q float64) (numerator *big.Int, bits uint) {
	success, m := dyadic(q)
	failure := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), m), success)
	p := new(big.Int).Binomial(int64(n), int64(k))
	p.Mul(p, new(big.Int).Exp(success, big.NewInt(int64(k)), nil))
	p.Mul(p, new(big.Int).Exp(failure, big.NewInt(int64(n-k)), nil))
	return p, m * uint(n)
}

// scaled returns numerator/2^bits times 2^256, truncated.
func scaled(numerator *big.Int, bits uint) *big.Int {
	s := new(big.Int).Lsh(numerator, 256)
	return s.Rsh(s, bits)
}

// The test compares a whole table with exact rational arithmetic. The statistical distance must be
// below 2^-200. It is half the sum of all absolute differences.
func TestBinomialIsExact(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 60, 200} {
		for _, q := range []float64{0x1p-60, 1e-9, 0.005, 0.1, 0.5, 0.7, 1 - 0x1p-53} {
			first, function := dpmech.NewBinomial(n, q).Table()
			distance := new(big.Int)
			before := new(big.Int)
			for k := range n + 1 {
				got := new(big.Int)
				if i := k - first; i >= 0 && i < len(function) {
					got.Sub(function[i], before)
					before = function[i]
				}
				got.Sub(got, scaled(exactBinomial(n, k, q)))
				distance.Add(distance, got.Abs(got))
			}
			if distance.BitLen() > 256-200 {
				t.Errorf("n = %d, q = %g: distance 2^%d, want at most 2^-200", n, q, distance.BitLen()-256)
			}
		}
	}
}

// The test compares single probabilities in large tables with exact products, which have millions
// of bits.
func TestLargeBinomialIsExact(t *testing.T) {
	for _, c := range []struct {
		n int
		q float64
		k []int
	}{
		{39_073, 0.005, []int{0, 195, 400}},
		{40_000, 0.5, []int{20_001}},
		{100_000, 0.999, []int{99_900}},
	} {
		first, function := dpmech.NewBinomial(c.n, c.q).Table()
		for _, k := range c.k {
			got := new(big.Int).Sub(function[k-first], function[max(0, k-first-1)])
			if k == first {
				got = function[0]
			}
			want := scaled(exactBinomial(c.n, k, c.q))
			if got.Sub(got, want); got.BitLen() > 256-220 {
				t.Errorf("n = %d, q = %g: the probability of %d is off by 2^%d", c.n, c.q, k, got.BitLen()-256)
			}
		}
	}
}

// A draw must give the first outcome whose distribution function is greater than the draw, even if
// the two numbers differ only in their last bit.
func TestBinomialDecidesByEveryBit(t *testing.T) {
	for _, c := range []struct {
		n int
		q float64
	}{{1, 0.5}, {40, 0.3}, {5000, 0.01}} {
		b := dpmech.NewBinomial(c.n, c.q)
		first, function := b.Table()
		for i, boundary := range function[:len(function)-1] {
			for _, off := range []int64{-1, 0, 1} {
				u := new(big.Int).Add(boundary, big.NewInt(off))
				if u.Sign() < 0 || u.BitLen() > 256 {
					continue
				}
				want := 0
				for want < len(function)-1 && function[want].Cmp(u) <= 0 {
					want++
				}
				var word [4]uint64
				for j := range word {
					word[3-j] = new(big.Int).Rsh(u, uint(64*j)).Uint64()
				}
				if got := b.Outcome(word); got != first+want {
					t.Fatalf("n = %d, q = %g: a draw at boundary %d%+d gives %d, want %d", c.n, c.q, i, off, got, first+want)
				}
			}
		}
		if got := b.Outcome([4]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}); got != first+len(function)-1 {
			t.Errorf("n = %d, q = %g: the largest draw gives %d", c.n, c.q, got)
		}
	}
}

func TestBinomialFrequencies(t *testing.T) {
	long(t)
	const draws = 150_000
	for _, n := range []int{1, 7, 200, 39_073, 1_000_000, 100_000_000} {
		for _, q := range []float64{1e-6, 0.005, 0.5, 0.93} {
			b := dpmech.NewBinomial(n, q)
			first, function := b.Table()
			expected, observed := make([]float64, len(function)), make([]float64, len(function))
			before := 0.0
			for i, f := range function {
				v, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(f), -256).Float64()
				expected[i], before = (v-before)*draws, v
			}
			src := seeded.Stream(3, "binomial", uint64(n), math.Float64bits(q))
			var sum float64
			for range draws {
				k := b.Draw(src)
				observed[k-first]++
				sum += float64(k)
			}
			if some := float64(n) * q * draws; some < 100 {
				continue // so few draws above zero are to be expected that a test would say nothing
			}
			if p := chiSquare(observed, expected); p < rejectBelow {
				t.Errorf("n = %d, q = %g: χ² rejects the binomial draws, p = %.2g", n, q, p)
			}
			// The reference for the mean is n·q, which does not come from the table.
			mean, sd := float64(n)*q, math.Sqrt(float64(n)*q*(1-q)/draws)
			if math.Abs(sum/draws-mean) > 5*sd {
				t.Errorf("n = %d, q = %g: mean %g, want %g ± %.2g", n, q, sum/draws, mean, 5*sd)
			}
		}
	}
}

func TestBinomialEnds(t *testing.T) {
	src := seeded.Stream(3, "ends")
	for _, c := range []struct {
		n    int
		q    float64
		want int
	}{{0, 0.5, 0}, {10, 0, 0}, {10, 1, 10}, {10, math.SmallestNonzeroFloat64, 0}} {
		if got := dpmech.NewBinomial(c.n, c.q).Draw(src); got != c.want {
			t.Errorf("Binomial(%d, %g) gives %d, want %d", c.n, c.q, got, c.want)
		}
	}
}

func BenchmarkBinomial(b *testing.B) {
	for _, n := range []int{39_073, 100_000_000} {
		b.Run(fmt.Sprintf("table/%d", n), func(b *testing.B) {
			for b.Loop() {
				dpmech.NewBinomial(n, 0.005)
			}
		})
		b.Run(fmt.Sprintf("draw/%d", n), func(b *testing.B) {
			sampler, src := dpmech.NewBinomial(n, 0.005), seeded.Stream(1, "bench")
			b.ReportAllocs()
			for b.Loop() {
				sampler.Draw(src)
			}
		})
	}
}
