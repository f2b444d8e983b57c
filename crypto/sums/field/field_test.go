package field

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

var prime = new(big.Int).SetUint64(P)

// element draws an element. Values close to 0 or to P are frequent.
func element(t *rapid.T, label string) uint64 {
	x := rapid.Uint64Range(0, P-1).Draw(t, label)
	if rapid.Bool().Draw(t, label+" from the end") {
		return P - 1 - x
	}
	return x
}

func integer(x uint64) *big.Int { return new(big.Int).SetUint64(x) }

func remainder(x *big.Int) uint64 { return new(big.Int).Mod(x, prime).Uint64() }

func TestTheOrderIsPrime(t *testing.T) {
	if !prime.ProbablyPrime(40) {
		t.Error("P is not prime")
	}
}

func TestArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := element(t, "a"), element(t, "b")
		x, y := integer(a), integer(b)
		for _, c := range []struct {
			name string
			got  uint64
			want *big.Int
		}{
			{"a + b", Add(a, b), new(big.Int).Add(x, y)},
			{"a - b", Sub(a, b), new(big.Int).Sub(x, y)},
			{"a * b", Mul(a, b), new(big.Int).Mul(x, y)},
		} {
			if c.got != remainder(c.want) {
				t.Errorf("%s = %d, want %d", c.name, c.got, remainder(c.want))
			}
		}
	})
}

func TestElement(t *testing.T) {
	for k := uint64(0); k < 8; k++ {
		for _, r := range []uint64{0, 1, k, 7, P - 8, P - 1} {
			if got := Element(k*P + r); got != r {
				t.Errorf("Element(%d·P + %d) = %d", k, r, got)
			}
		}
	}
}

func TestReduce(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, hi, lo uint64) {
		x := integer(hi)
		x.Lsh(x, 64).Add(x, integer(lo))
		if got := Reduce(hi, lo); got != remainder(x) {
			t.Errorf("Reduce(%#x, %#x) = %d, want %d", hi, lo, got, remainder(x))
		}
	}
	edges := []uint64{0, 1, 2, P - 1, P, P + 1, 1 << 61, 2 * P, 1 << 58, 1<<58 - 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for _, hi := range edges {
		for _, lo := range edges {
			check(t, hi, lo)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")) })
}

func TestIntegers(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, v int64) {
		x := FromInteger(v)
		if x != remainder(big.NewInt(v)) || ToInteger(x) != v {
			t.Errorf("%d becomes %d, and then %d", v, x, ToInteger(x))
		}
	}
	for _, v := range []int64{0, 1, -1, MaxInteger, -MaxInteger, MaxInteger - 1, 1 - MaxInteger} {
		check(t, v)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.Int64Range(-MaxInteger, MaxInteger).Draw(t, "v")) })
}

// The expected values were computed with Python integers.
func TestKnownValues(t *testing.T) {
	for _, c := range []struct{ got, want uint64 }{
		{Mul(P-1, P-1), 1},
		{Mul(1<<60, 2), 1},
		{Mul(123456789012345678, 987654321098765432), 1974130249480659620},
		{Mul(1000003, 1229363429801019168), 1},
		{Add(P-1, 1), 0},
		{Sub(0, 1), P - 1},
	} {
		if c.got != c.want {
			t.Errorf("got %d, want %d", c.got, c.want)
		}
	}
	for x, want := range map[uint64]bool{0: true, P - 1: true, P: false, 1 << 61: false, 1 << 63: false, 1<<64 - 1: false} {
		if Valid(x) != want || (Beyond(x) == 0) != want {
			t.Errorf("%d: elements are the numbers below P", x)
		}
	}
}
