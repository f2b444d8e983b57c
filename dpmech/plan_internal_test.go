package dpmech

import (
	"math"
	"math/rand/v2"
	"testing"
)

// What is made at once of a word is what the sampler makes of it.
func TestAtOnceIsTheSample(t *testing.T) {
	z := zigguratOf(12_345_678, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	later, unread := 0, new(Stream) // panics if it is read
	for i := range 300_000 {
		w := rng.Uint64()
		if i%4 == 0 {
			w |= 1<<64 - 1<<20 // the end of a layer
		}
		got, enough := z.atOnce(w)
		if !enough {
			later++
			continue
		}
		want, kept := z.draw(w, unread)
		if !kept || got != want {
			t.Fatalf("word %#x is %d at once, and %d (kept: %t)", w, got, want, kept)
		}
	}
	if later < 1000 || later > 100_000 {
		t.Errorf("%d of 300000 words do not make a sample at once", later)
	}
}

// The portable functions against those of the library, in units of the last place.
func TestPortableFunctions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	off := func(got, want, unit float64) float64 { return math.Abs(got-want) / math.Max(math.Abs(unit), 0x1p-1022) }
	for i := range 200_000 {
		x := math.Ldexp(rng.Float64()+.5, -rng.IntN(54))
		if i%3 == 0 {
			x = 1 - math.Ldexp(rng.Float64(), -rng.IntN(50))
		}
		if e := off(portableLog(x), math.Log(x), math.Log(x)); x != 1 && e > 0x1p-51 {
			t.Fatalf("log %v is %v, want %v", x, portableLog(x), math.Log(x))
		}
		a := (2*rng.Float64() - 1) * math.Pi / 4
		sin, cos := portableSinCos(a)
		if off(sin, math.Sin(a), math.Sin(a)) > 0x1p-51 || off(cos, math.Cos(a), 1) > 0x1p-51 {
			t.Fatalf("at %v the sine is %v and the cosine %v, want %v and %v", a, sin, cos, math.Sin(a), math.Cos(a))
		}
	}
	if portableLog(1) != 0 {
		t.Errorf("log 1 is %v", portableLog(1))
	}
}

// The extremes of words: the smallest radius is 0, the largest is finite, and all four
// quarters of the circle are where they belong.
func TestNormalPairAtTheEnds(t *testing.T) {
	if x, y := normalPair(math.MaxUint64, 0); x != 0 || y != 0 {
		t.Errorf("the largest word makes %g and %g", x, y)
	}
	far := math.Sqrt(2 * 53 * math.Ln2)
	for quarter := range uint64(4) {
		x, y := normalPair(0, quarter<<62)
		angle := float64(quarter) * math.Pi / 2
		if math.Hypot(x-far*math.Cos(angle), y-far*math.Sin(angle)) > 1e-12 {
			t.Errorf("the smallest word makes %g and %g in quarter %d", x, y, quarter)
		}
	}
}

// Words that have to grow leave no keys where they were.
func TestWordsLeaveNoKeys(t *testing.T) {
	for _, sampling := range []Sampling{Poisson{Rate: 0.5, Selection: Feistel}, Poisson{Rate: 0.5}} {
		sampler, err := sampling.Sampler(1000)
		if err != nil {
			t.Fatal(err)
		}
		p := newPlanSteps(3, NewStreams(), NewStream())
		before := make([]uint64, planSizes)
		words := p.appendWords(before[:0], sampler, 1000, planGate{})
		if len(words) <= len(before) || words[planNoiseKey] == 0 {
			t.Fatalf("%d words, without a key", len(words))
		}
		for i, w := range before[planSamplingKey:planLayers] {
			if w != 0 {
				t.Errorf("%+v: a word of a key is left at %d", sampling, planSamplingKey+i)
			}
		}
	}
}
