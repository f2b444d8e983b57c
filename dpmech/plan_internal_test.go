package dpmech

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/accountant"
)

// Whenever atOnce makes a sample from a single word, draw must make the same one from this word.
func TestAtOnceIsTheSample(t *testing.T) {
	z := zigguratOf(12_345_678, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	later, unread := 0, new(Stream) // reading an empty stream panics, so the sampler cannot use it
	for i := range 300_000 {
		w := rng.Uint64()
		if i%4 == 0 {
			w |= 1<<64 - 1<<20 // moves the sample to the upper end of its layer
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

// The test compares the portable logarithm, sine and cosine with package math, in units in the last
// place.
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

// For extreme words, the normal numbers must have a smallest radius of 0 and a finite largest
// radius, and the right signs in each quarter of the circle.
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

// When Words grows its slice, it must not leave keys in the old memory.
func TestWordsLeaveNoKeys(t *testing.T) {
	for _, sampling := range []Sampling{Poisson{Rate: 0.5, Selection: Feistel}, Poisson{Rate: 0.5}} {
		sampler, err := sampling.Sampler(1000)
		check(t, err)
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

// For both kinds of plans, Decide must give a device the same noise sample that this machine makes
// at this position.
func TestDecidedSamplesAreThoseOfThePlan(t *testing.T) {
	sampled, err := NewSampledSum(SampledConfig{Sampling: FullBatch{}, Records: 1, Steps: 5, Dim: 1000, Clip: 1, NoiseMultiplier: 2, Adjacency: accountant.AddRemove})
	check(t, err)
	plan, err := sampled.Begin().Plan(5, NewStreams(), NewStream())
	check(t, err)
	products, err := NewProductSum(ProductConfig{
		Sampling: FullBatch{}, Records: 1, Steps: 5, Layers: []ProductLayer{{3, 5}, {7, 11}}, Clip: 1, NoiseMultiplier: 2, Together: 1, Adjacency: accountant.AddRemove,
	})
	check(t, err)
	run, err := products.Begin(NewStreams())
	check(t, err)
	product, err := run.Plan(5, NewStreams(), NewStream())
	check(t, err)
	const step = 3
	noise := make([]int64, 1000)
	plan.fillNoise(noise, step)
	for j, want := range noise {
		if got := plan.noiseAt(step, uint32(j)); got != want {
			t.Fatalf("sample %d is %d, want %d", j, got, want)
		}
	}
	product.begun = step + 1
	part := productPart{ProductPart: ProductPart{Layer: 1, From: 0, To: 6}}
	hidden := make([]int64, 6*16)
	product.fillNoise(hidden, &part, 0, 11)
	for row := range 6 {
		for column := range 11 {
			j := products.PlanStart(1) + row*16 + column
			if got, want := product.noiseAt(step, uint32(j)), hidden[row*16+column]; got != want {
				t.Fatalf("sample %d of layer 1 is %d, want %d", j, got, want)
			}
		}
	}
}

// Decide must give a device each undecided sample only once, and no sample outside the plan.
func TestDecide(t *testing.T) {
	m, err := NewSampledSum(SampledConfig{Sampling: Poisson{Rate: 0.5}, Records: 20, Steps: 4, Dim: 3, Clip: 1, NoiseMultiplier: 2, Adjacency: accountant.AddRemove})
	check(t, err)
	p, err := m.Begin().Plan(4, NewStreams(), NewStream())
	check(t, err)
	at := func(step, j uint64) uint64 { return (step+1)<<32 | j }
	if p.Decide(at(0, 0)) == nil {
		t.Error("a sample is decided although no device has the plan")
	}
	var w []uint64
	for i, open := range []uint64{at(3, 2), at(0, 1)} {
		if _, err := p.Words(nil); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []uint64{0, 1, at(4, 0), at(0, 3), at(3, 3), math.MaxUint64, at(3, 2)}[:6+i] {
			if p.Decide(bad) == nil {
				t.Errorf("sample %#x is decided", bad)
			}
		}
		check(t, p.Decide(open))
	}
	w, err = p.Words(nil)
	check(t, err)
	got := w[w[planDecided]:]
	want := []uint64{at(3, 2), uint64(p.noiseAt(3, 2)), at(0, 1), uint64(p.noiseAt(0, 1))}
	if w[planDecidedCount] != 2 || !slices.Equal(got, want) {
		t.Errorf("a device gets %d samples, %v, want %v", w[planDecidedCount], got, want)
	}
	decided := p.decided
	p.Wipe()
	if slices.ContainsFunc(decided, func(w uint64) bool { return w != 0 }) || p.Decide(at(0, 0)) == nil {
		t.Error("a wiped plan has noise")
	}
}
