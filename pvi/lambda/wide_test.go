package lambda

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func (w Wide) big() *big.Int {
	b := new(big.Int).Lsh(big.NewInt(w.Hi), 64)
	return b.Add(b, new(big.Int).SetUint64(w.Lo))
}

func TestWide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) int64 { return rapid.Int64().Draw(t, label) }
		a, b, c, d := draw("a"), draw("b"), draw("c")>>2, draw("d")>>2
		w := Product(a, b)
		if want := new(big.Int).Mul(big.NewInt(a), big.NewInt(b)); w.big().Cmp(want) != 0 {
			t.Fatalf("%d · %d = %v, want %v", a, b, w.big(), want)
		}
		v := Product(c, d)
		sum := Product(a>>2, b>>2).Add(v)
		want := new(big.Int).Mul(big.NewInt(a>>2), big.NewInt(b>>2))
		if want.Add(want, v.big()); sum.big().Cmp(want) != 0 {
			t.Fatalf("sum %v, want %v", sum.big(), want)
		}
		if sum.Add(v.Neg()).Add(v) != sum {
			t.Fatalf("taking %v from %v and adding it again changes it", v, sum)
		}
		exponent := rapid.IntRange(-100, 100).Draw(t, "exponent")
		exact, _ := new(big.Float).SetInt(sum.big()).Float64()
		if got, want := sum.Float(exponent), math.Ldexp(exact, -exponent); math.Abs(got-want) > 0x1p-51*math.Abs(want) {
			t.Fatalf("%v · 2^-%d = %g, want %g", sum.big(), exponent, got, want)
		}
		text, err := json.Marshal(sum)
		if err != nil {
			t.Fatal(err)
		}
		var back Wide
		if err := json.Unmarshal(text, &back); err != nil || back != sum {
			t.Fatalf("%s is read as %v, %v; want %v", text, back, err, sum)
		}
	})
	for _, bad := range []string{`""`, `"0"`, `"zz000000000000000000000000000000"`, `"000000000000000000000000000000000000"`, `3`} {
		var w Wide
		if err := json.Unmarshal([]byte(bad), &w); err == nil {
			t.Errorf("%s is read as %v", bad, w)
		}
	}
}
