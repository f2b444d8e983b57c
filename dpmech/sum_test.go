package dpmech_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

func newSum(t rapid.TB, cfg dpmech.Config) *dpmech.GaussianSum {
	t.Helper()
	m, err := dpmech.NewGaussianSum(cfg)
	check(t, err)
	return m
}

var ordinary = dpmech.Config{
	Dim: 3, Clip: 2, NoiseMultiplier: 5, Shares: 16, Terms: 1000, Releases: 20, Adjacency: accountant.ZeroOut,
}

// exactSum returns the sum of vectors in a release, without its noise.
func exactSum(t rapid.TB, m *dpmech.GaussianSum, vectors ...[]float64) []int64 {
	t.Helper()
	sum, _ := summed(t, m, vectors)
	return sum
}

// releaseOne draws the noise of a release and releases one vector.
func releaseOne(m *dpmech.GaussianSum, dst, sum []int64, src *dpmech.Stream, v []float64) error {
	var noise dpmech.Noise
	m.Draw(&noise, src)
	return m.ReleaseOne(dst, sum, &noise, v)
}

// normSquared computes the squared norm of v with big integers, independently of the mechanism.
func normSquared(v []int64) *big.Int {
	total := new(big.Int)
	for _, n := range v {
		x := big.NewInt(n)
		total.Add(total, x.Mul(x, x))
	}
	return total
}

// clipSteps returns ⌊C/step⌋, the clip in lattice steps.
func clipSteps(m *dpmech.GaussianSum) *big.Int {
	steps, _ := big.NewFloat(m.Clip() / m.Lattice().Step()).Int(nil)
	return steps
}

// checkSensitivity fails the test if a vector contributes more than C to a sum. The privacy
// guarantee of every release depends on this bound.
func checkSensitivity(t rapid.TB, m *dpmech.GaussianSum, sum []int64, what any) {
	bound := clipSteps(m)
	if normSquared(sum).Cmp(bound.Mul(bound, bound)) > 0 {
		t.Fatalf("%v adds %v, whose norm is above C = %v steps", what, sum, clipSteps(m))
	}
}

func FuzzGaussianSum(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Inf(1))))
	f.Add(binary.LittleEndian.AppendUint64(nil, math.Float64bits(5e-324)))
	f.Add(binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.MaxFloat64)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		cfg := ordinary
		if len(raw) > 0 { // The first byte selects a clip from 2^-128 to 2^127.
			cfg.Clip = math.Ldexp(1, int(raw[0])-128)
			raw = raw[1:]
		}
		v := floatsOf(raw)
		if len(v) == 0 {
			t.Skip("the bytes are not a vector")
		}
		cfg.Dim = len(v)
		m := newSum(t, cfg)
		checkSensitivity(t, m, exactSum(t, m, v), v)
	})
}

func TestSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := ordinary
		cfg.Dim = rapid.IntRange(1, 20).Draw(t, "dim")
		cfg.Clip = math.Exp(rapid.Float64Range(-40, 40).Draw(t, "log clip"))
		cfg.NoiseMultiplier = math.Exp(rapid.Float64Range(-5, 5).Draw(t, "log multiplier"))
		m := newSum(t, cfg)
		v := make([]float64, cfg.Dim)
		for i := range v {
			v[i] = cfg.Clip * rapid.Float64Range(-3, 3).Draw(t, "element")
		}
		dst, sum := make([]int64, cfg.Dim), make([]int64, cfg.Dim)
		check(t, releaseOne(m, dst, sum, seeded.Stream(1, "sensitivity"), v))
		checkNaive(t, m, v, sum)
	})
}

// Clipping must terminate even if the clip is tiny compared with the vector.
//
//abuse:case P18 clipping ends, with a finite vector within the bound
func TestExtremeClipping(t *testing.T) {
	cfg := ordinary
	cfg.Dim, cfg.Clip = 2, 1e-12
	m := newSum(t, cfg)
	for _, v := range [][]float64{{1.33e308, 1.71e308}, {math.MaxFloat64, math.MaxFloat64}, {5e-324, 0}, {1e-12, 1e-12}} {
		checkSensitivity(t, m, exactSum(t, m, v), v)
	}
}

// The event of a mechanism must have the noise that the mechanism adds and the norm to which it
// clips.
func TestEventIsTheMechanism(t *testing.T) {
	m := newSum(t, ordinary)
	e := m.Event().(accountant.DiscreteGaussian)
	if bound, _ := clipSteps(m).Float64(); e.Sensitivity != bound {
		t.Errorf("the event's sensitivity is %g steps, the enforced norm %g", e.Sensitivity, bound)
	}
	if e.Dim != m.Dim() || e.Shares != 16 || e.Adjacency != accountant.ZeroOut || e.Sigma != float64(m.ShareSigma()) {
		t.Errorf("the event is %+v, the mechanism %+v", e, ordinary)
	}
	if replace := m.EventFor(16, accountant.ReplaceOne).(accountant.DiscreteGaussian); replace.Sensitivity != 2*e.Sensitivity {
		t.Errorf("replacing a vector costs %g steps, twice %g wanted", replace.Sensitivity, e.Sensitivity)
	}
	const draws = 60_000
	dst, sum := make([]int64, 3), make([]int64, 3)
	src := seeded.Stream(4, "variance")
	var squares float64
	for range draws / 3 {
		check(t, releaseOne(m, dst, sum, src, []float64{1, -1, .5}))
		for i := range dst {
			z := float64(dst[i]-sum[i]) / e.Sigma
			squares += z * z
		}
	}
	if variance := squares / draws; math.Abs(variance-1) > 5*math.Sqrt2/math.Sqrt(draws) {
		t.Errorf("the noise has %g times the variance that the event states", variance)
	}
	// All noise shares together must have a standard deviation of at least σ·C.
	total := m.Lattice().Float(m.ShareSigma()) * math.Sqrt(16)
	if want := 5 * 2.0; total < want || total > want*(1+0x1p-22) {
		t.Errorf("sixteen shares have sd %.12g, want %g or slightly more", total, want)
	}
}

// The noise must never be below the requested noise, and must exceed it only by a negligible
// amount.
func TestNoiseIsRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := ordinary
		cfg.Clip = math.Exp(rapid.Float64Range(-40, 40).Draw(t, "log clip"))
		cfg.NoiseMultiplier = math.Exp(rapid.Float64Range(-4, 8).Draw(t, "log multiplier"))
		cfg.Shares = rapid.IntRange(1, 200).Draw(t, "shares")
		m := newSum(t, cfg)
		// got and the reference are variances in squared lattice steps, computed without rounding.
		got := new(big.Int).Mul(big.NewInt(m.ShareSigma()), big.NewInt(m.ShareSigma()))
		got.Mul(got, big.NewInt(int64(cfg.Shares)))
		exact := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
		asked := new(big.Rat).Mul(exact(cfg.NoiseMultiplier), exact(cfg.Clip))
		asked.Quo(asked, exact(m.Lattice().Step()))
		asked.Mul(asked, asked)
		ratio, _ := new(big.Rat).Quo(new(big.Rat).SetInt(got), asked).Float64()
		if new(big.Rat).SetInt(got).Cmp(asked) < 0 || ratio > 1+0x1p-21 {
			t.Fatalf("%d shares have %.17g times the requested variance", cfg.Shares, ratio)
		}
	})
}

// Even if floating point rounds σ·C down to a whole number of steps, the noise must be rounded up.
func TestNoiseAboveAWholeNumberOfSteps(t *testing.T) {
	tried := 0
	for k := int64(1<<23 + 1); tried < 50; k += 12_345 {
		multiplier := 1 + float64(k%1000)/997
		clip := math.Ldexp(float64(k), -23) / multiplier
		product := new(big.Float).SetPrec(200).Mul(big.NewFloat(multiplier), big.NewFloat(clip))
		if rounded := multiplier * clip; product.Cmp(big.NewFloat(rounded)) <= 0 || rounded != math.Ldexp(float64(k), -23) {
			continue
		}
		tried++
		cfg := ordinary
		cfg.Clip, cfg.NoiseMultiplier, cfg.Shares = clip, multiplier, 1
		m := newSum(t, cfg)
		sum := new(big.Float).SetPrec(200).SetInt64(m.ShareSigma())
		if sum.Mul(sum, big.NewFloat(m.Lattice().Step())).Cmp(product) < 0 {
			t.Fatalf("σ = %g, C = %g: the noise is below the requested one", multiplier, clip)
		}
	}
}

// Noise may be used only once, and only for a release of the mechanism that drew it.
func TestNoiseIsUsedOnce(t *testing.T) {
	m, other := newSum(t, ordinary), newSum(t, ordinary)
	var noise dpmech.Noise
	dst, sum, v := make([]int64, 3), make([]int64, 3), []float64{1, 1, 1}
	refused := func(what string) {
		t.Helper()
		if err := m.ReleaseOne(dst, sum, &noise, v); err == nil || !strings.Contains(err.Error(), "no noise was drawn") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("nothing drawn")
	other.Draw(&noise, seeded.Stream(1, "once"))
	refused("drawn by another mechanism")
	m.Draw(&noise, seeded.Stream(1, "once"))
	if err := m.ReleaseOne(dst, sum, &noise, []float64{math.NaN(), 0, 0}); err == nil {
		t.Error("NaN was released")
	}
	refused("used by a release that failed")
	m.Draw(&noise, seeded.Stream(1, "once"))
	check(t, m.ReleaseOne(dst, sum, &noise, v))
	refused("used")
	want, exact := make([]int64, 3), make([]int64, 3)
	err := m.Release(want, exact, seeded.Stream(1, "once"), adding(v))
	if err != nil || !slices.Equal(dst, want) || !slices.Equal(sum, exact) {
		t.Errorf("released %v of %v, want %v of %v, %v", dst, sum, want, exact, err)
	}
}

//abuse:case A13 a record that is not finite counts as zero, without an error
//abuse:case P18 zero
func TestRecordsThatAreNotFinite(t *testing.T) {
	m := newSum(t, ordinary)
	good := []float64{1, 0, 0}
	want := exactSum(t, m, good)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		got := exactSum(t, m, []float64{0, bad, 1}, good)
		if !slices.Equal(got, want) {
			t.Errorf("a record with %g adds %v to the sum", bad, got)
		}
		for at := range 3 {
			dst, sum, v := make([]int64, 3), make([]int64, 3), make([]float64, 3)
			v[at] = bad
			if err := releaseOne(m, dst, sum, seeded.Stream(1, "bad"), v); !errors.Is(err, dpmech.ErrNotFinite) {
				t.Errorf("releasing %v: %v", v, err)
			}
			if !allZero(dst) || !allZero(sum) {
				t.Errorf("a refused release wrote %v, %v", dst, sum)
			}
		}
	}
}

func TestReleaseErrors(t *testing.T) {
	m := newSum(t, ordinary)
	one, short := adding([]float64{1, 1, 1}), adding([]float64{1})
	for _, c := range []struct {
		name     string
		dst, sum int
		query    dpmech.Query
		want     string
	}{
		{"short vector", 3, 3, short, "1 elements are not a whole number of vectors of 3"},
		{"short destination", 2, 3, one, "2 and 3 elements, want 3"},
		{"long sum", 3, 4, one, "3 and 4 elements, want 3"},
		{"failing query", 3, 3, func(func([]float64) error) error { return errors.New("disk") }, "disk"},
	} {
		dst, sum := make([]int64, c.dst), make([]int64, c.sum)
		err := m.Release(dst, sum, seeded.Stream(1, "errors"), c.query)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
		if !allZero(dst) || !allZero(sum) {
			t.Errorf("%s: a failed release wrote %v, %v", c.name, dst, sum)
		}
	}
}

func TestPanicReleasesNoise(t *testing.T) {
	m := newSum(t, ordinary)
	dst, want, sum := make([]int64, 3), make([]int64, 3), make([]int64, 3)
	err := m.Release(dst, sum, seeded.Stream(1, "panic"), func(add func([]float64) error) error {
		panic(add([]float64{1, 1, 1}))
	})
	if err != nil || !slices.Equal(sum, make([]int64, 3)) {
		t.Fatalf("%v: the sum is %v", err, sum)
	}
	if err := m.Release(want, sum, seeded.Stream(1, "panic"), adding()); err != nil || !slices.Equal(dst, want) {
		t.Errorf("%v: released %v, without data %v", err, dst, want)
	}
}

//abuse:case P17 a sum that could overflow is refused before anything is released
func TestConfigErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*dpmech.Config)
		want   string
	}{
		{"clip", func(c *dpmech.Config) { c.Clip = 0 }, "clip must be positive"},
		{"infinite clip", func(c *dpmech.Config) { c.Clip = math.Inf(1) }, "clip must be positive and finite"},
		{"noise", func(c *dpmech.Config) { c.NoiseMultiplier = math.NaN() }, "noise multiplier must be positive"},
		{"dimension", func(c *dpmech.Config) { c.Dim = 0 }, "dimension must be at least 1"},
		{"shares", func(c *dpmech.Config) { c.Shares = 0 }, "noise shares must be at least 1"},
		{"adjacency", func(c *dpmech.Config) { c.Adjacency = "" }, "unknown adjacency"},
		{"overflow", func(c *dpmech.Config) { c.Terms = 1 << 30; c.NoiseMultiplier = .1 }, "use at most 7 such releases, fewer vectors in each, or a noise multiplier larger than 0.1"},
		{"overflow of one", func(c *dpmech.Config) { c.Terms = 1 << 50; c.NoiseMultiplier = .1 }, "one release of 1125899906842624 vectors could overflow: use at most 8589908376 vectors"},
		{"many releases", func(c *dpmech.Config) { c.Releases = 1 << 40 }, "the noise alone of 1099511627776 releases could overflow: use at most 419110 releases"},
		{"next to no noise", func(c *dpmech.Config) { c.NoiseMultiplier = 1e-4 }, "at most 1024 times is supported: use a noise multiplier of at least 0.00391, or at most 0 noise shares"},
		{"many shares", func(c *dpmech.Config) { c.NoiseMultiplier = .01; c.Shares = 1000 }, "use a noise multiplier of at least 0.0309, or at most 104 noise shares"},
		{"huge noise", func(c *dpmech.Config) { c.NoiseMultiplier = 1e9 }, "clip is below one lattice step: use at most 3.36e+07 with 16"},
		{"overflowing noise", func(c *dpmech.Config) { c.Clip = 1e300; c.NoiseMultiplier = 1e20 }, "a noise share of +Inf is out of range"},
		{"huge dimension", func(c *dpmech.Config) { c.Dim = 1<<31 + 1 }, "dimension must be at most"},
		{"tiny clip", func(c *dpmech.Config) { c.Clip = 1e-300 }, "out of range"},
	} {
		cfg := ordinary
		c.change(&cfg)
		if _, err := dpmech.NewGaussianSum(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
}

// The settings that an error message recommends must work, and slightly smaller ones must not.
func TestConfigErrorsHelp(t *testing.T) {
	cfg := ordinary
	cfg.Terms, cfg.NoiseMultiplier, cfg.Releases = 1<<30, .1, 7
	newSum(t, cfg)
	cfg.Terms, cfg.Releases = 8_589_908_376, 1
	newSum(t, cfg)
	cfg = ordinary
	cfg.Releases = 419_110
	newSum(t, cfg)
	cfg = ordinary
	cfg.NoiseMultiplier = 0.00391
	newSum(t, cfg)
	cfg.NoiseMultiplier, cfg.Shares = .01, 104
	newSum(t, cfg)
	cfg.Shares = 105
	if _, err := dpmech.NewGaussianSum(cfg); err == nil {
		t.Error("105 shares are possible too")
	}
}

// No sum of releases may exceed the proven bound.
func TestMaxTotal(t *testing.T) {
	cfg := ordinary
	cfg.Releases, cfg.Terms = 3, 2
	m := newSum(t, cfg)
	if want := 3 * (2*clipSteps(m).Int64() + newGaussian(t, m.ShareSigma()).Bound()); m.MaxTotal() != want {
		t.Errorf("no sum is beyond %d, want %d", m.MaxTotal(), want)
	}
	total := make([]int64, 3)
	for i := range 3 {
		dst, sum := make([]int64, 3), make([]int64, 3)
		check(t, m.Release(dst, sum, seeded.Stream(uint64(i), "total"), adding([]float64{1e300, 0, 0}, []float64{1e300, 0, 0})))
		for j := range total {
			total[j] += dst[j]
			if total[j] > m.MaxTotal() || -total[j] > m.MaxTotal() {
				t.Fatalf("element %d of the sum is %d, beyond %d", j, total[j], m.MaxTotal())
			}
		}
	}
}

func TestTruncate(t *testing.T) {
	l, err := dpmech.NewLattice(3)
	check(t, err)
	dst := make([]int64, 4)
	check(t, l.Truncate(dst, []float64{1, -1.99 / 8, .124, -3.99}, 1<<20))
	for i, want := range []int64{8, -1, 0, -31} {
		if dst[i] != want {
			t.Errorf("element %d: %d steps, want %d", i, dst[i], want)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1e300, 1 << 17} {
		if err := l.Truncate(dst[:1], []float64{bad}, 1<<20); err == nil {
			t.Errorf("%g is accepted", bad)
		}
	}
	if err := l.Truncate(dst, []float64{1}, 1<<20); err == nil {
		t.Error("a vector of the wrong length is accepted")
	}
	for _, exponent := range []int{-901, 901} {
		if _, err := dpmech.NewLattice(exponent); err == nil {
			t.Errorf("exponent %d is accepted", exponent)
		}
	}
}

func BenchmarkReleaseOne(b *testing.B) {
	cfg := ordinary
	cfg.Dim = 2
	m := newSum(b, cfg)
	dst, sum, v := make([]int64, 2), make([]int64, 2), []float64{1, 5}
	src := seeded.Stream(1, "bench")
	var noise dpmech.Noise
	b.ReportAllocs()
	for b.Loop() {
		m.Draw(&noise, src)
		check(b, m.ReleaseOne(dst, sum, &noise, v))
	}
}
