package dpmech_test

import (
	"errors"
	"fmt"
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

var layered = dpmech.LayeredConfig{
	Dim: 2, Clip: 3, NoiseMultiplier: 1.5, Clients: 5, Dropouts: 2, Colluders: 1, Adjacency: accountant.ReplaceOne,
}

func newLayered(t interface{ Fatal(...any) }, cfg dpmech.LayeredConfig) *dpmech.LayeredSum {
	m, err := dpmech.NewLayeredSum(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// asked is (σC)² in squared steps, exactly.
func asked(m *dpmech.LayeredSum, cfg dpmech.LayeredConfig) *big.Rat {
	exact := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	s := new(big.Rat).Mul(exact(cfg.NoiseMultiplier), exact(cfg.Clip))
	s.Quo(s, exact(m.Lattice().Step()))
	return s.Mul(s, s)
}

// finalVariance is that of the honest survivors' layers which nobody revealed,
// counted one by one.
func finalVariance(m *dpmech.LayeredSum, survives, colludes func(client int) bool, clients int) *big.Rat {
	missing := 0
	for c := range clients {
		if !survives(c) {
			missing++
		}
	}
	total := new(big.Int)
	for c := range clients {
		if !survives(c) || colludes(c) {
			continue
		}
		for j, sigma := range m.LayerSigmas() {
			if j <= missing {
				total.Add(total, new(big.Int).Mul(big.NewInt(sigma), big.NewInt(sigma)))
			}
		}
	}
	return new(big.Rat).SetInt(total)
}

func checkVariance(t interface{ Fatalf(string, ...any) }, got, want *big.Rat, most float64, what string) {
	ratio, _ := new(big.Rat).Quo(got, want).Float64()
	if got.Cmp(want) < 0 || ratio > most {
		t.Fatalf("%s: %.9g times the variance that was asked for, want 1 to %g", what, ratio, most)
	}
}

// Every n ≤ 7, T, t and set of survivors, with the colluders among them: the
// variance that they do not know is the target, at most 2 % over.
func TestLayersOfEverySurvivorSet(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for colluders := range n {
			for dropouts := range n - colluders {
				cfg := layered
				cfg.Clients, cfg.Dropouts, cfg.Colluders = n, dropouts, colluders
				m := newLayered(t, cfg)
				want := asked(m, cfg)
				least := math.Inf(1)
				for set := range 1 << n { // of those who drop out
					missing := bitCount(set)
					if missing > dropouts {
						continue
					}
					survives := func(c int) bool { return set>>c&1 == 0 }
					left := colluders // the first survivors collude
					colludes := func(c int) bool {
						if survives(c) && left > 0 {
							left--
							return true
						}
						return false
					}
					got := finalVariance(m, survives, colludes, n)
					checkVariance(t, got, want, 1.02, fmt.Sprintf("n = %d, T = %d, t = %d, missing %b", n, dropouts, colluders, set))
					v, _ := got.Float64()
					least = min(least, v)
					e, err := m.EventFor(n-missing-colluders, missing, cfg.Adjacency)
					if err != nil {
						t.Fatal(err)
					}
					if sd := e.(accountant.DiscreteGaussian).Sigma; sd*sd > v || sd*sd < v*(1-1e-14) {
						t.Fatalf("the event has variance %g, the noise %g", sd*sd, v)
					}
				}
				if sd := m.Event().(accountant.DiscreteGaussian).Sigma; sd*sd > least || sd*sd < least*(1-1e-14) {
					t.Fatalf("n = %d, T = %d, t = %d: the event has variance %g, the least noise %g", n, dropouts, colluders, sd*sd, least)
				}
			}
		}
	}
}

func bitCount(set int) (n int) {
	for ; set != 0; set &= set - 1 {
		n++
	}
	return n
}

func TestLayersOfManyClients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := layered
		cfg.Clip = math.Exp(rapid.Float64Range(-40, 40).Draw(t, "log clip"))
		cfg.NoiseMultiplier = math.Exp(rapid.Float64Range(-1, 5).Draw(t, "log multiplier"))
		cfg.Clients = rapid.IntRange(2, 300).Draw(t, "clients")
		cfg.Colluders = rapid.IntRange(0, cfg.Clients-1).Draw(t, "colluders")
		cfg.Dropouts = rapid.IntRange(0, cfg.Clients-cfg.Colluders-1).Draw(t, "dropouts")
		m := newLayered(t, cfg)
		missing := rapid.IntRange(0, cfg.Dropouts).Draw(t, "missing")
		order := rapid.Permutation(sequence(cfg.Clients)).Draw(t, "order")
		out, bad := order[:missing], order[missing:missing+cfg.Colluders]
		got := finalVariance(m, func(c int) bool { return !slices.Contains(out, c) }, func(c int) bool { return slices.Contains(bad, c) }, cfg.Clients)
		checkVariance(t, got, asked(m, cfg), 1.003, fmt.Sprintf("%+v, %d missing", cfg, missing))
		for _, sigma := range m.LayerSigmas() {
			if sigma < 1<<10 {
				t.Fatalf("a layer has σ = %d steps", sigma)
			}
		}
	})
}

func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// The published scaling by n/(n−t) leaves colluders too little noise once somebody
// drops out, which is why layers are calibrated otherwise here.
func TestPublishedScalingIsTooLittle(t *testing.T) {
	const n, colluders, missing = 10.0, 3.0, 2.0
	left := n / (n - colluders) * (n - missing - colluders) / (n - missing)
	if left >= .9 {
		t.Errorf("%g of the variance is left", left)
	}
}

// A run is a round of a LayeredSum with real draws.
type layeredRun struct {
	m         *dpmech.LayeredSum
	total     []int64 // of survivors' releases
	exact     []int64 // the same without noise
	survivors []dpmech.Survivor
	revealed  []dpmech.RevealedLayer
}

var round = dpmech.Round{1, 2, 3}

func runLayered(t interface{ Fatal(...any) }, m *dpmech.LayeredSum, clients int, missing []int, src *dpmech.Stream) layeredRun {
	r := layeredRun{m: m, total: make([]int64, m.Dim()), exact: make([]int64, m.Dim())}
	dst, sum, v := make([]int64, m.Dim()), make([]int64, m.Dim()), make([]float64, m.Dim())
	v[0] = 1
	for c := range clients {
		var layers dpmech.Layers
		if err := m.Draw(&layers, round, c, src); err != nil {
			t.Fatal(err)
		}
		if err := m.ReleaseOne(dst, sum, &layers, v); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(missing, c) {
			continue
		}
		for i := range dst {
			r.total[i] += dst[i]
			r.exact[i] += sum[i]
		}
		revealed, err := layers.Reveal(clients - len(missing))
		if err != nil {
			t.Fatal(err)
		}
		r.revealed = append(r.revealed, revealed...)
		r.survivors = append(r.survivors, dpmech.Survivor{Client: c, Commitments: layers.Commitments()})
	}
	return r
}

func (r layeredRun) remove() error { return r.m.Remove(r.total, round, r.survivors, r.revealed) }

// Of real draws, what is left after the removal has the variance that is stated,
// whoever drops out: within 5 standard errors (false rejections 6e-7 each).
func TestLayersEmpirically(t *testing.T) {
	cfg := layered
	cfg.Dim = 400
	m := newLayered(t, cfg)
	for _, missing := range [][]int{nil, {3}, {0, 4}} {
		var squares, n float64
		for repeat := range 10 {
			r := runLayered(t, m, cfg.Clients, missing, seeded.Stream(uint64(repeat), "layers", uint64(len(missing))))
			if err := r.remove(); err != nil {
				t.Fatal(err)
			}
			want, _ := new(big.Float).SetInt(m.Variance(cfg.Clients-len(missing), len(missing))).Float64()
			for i := range r.total {
				z := float64(r.total[i]-r.exact[i]) / math.Sqrt(want)
				squares += z * z
				n++
			}
		}
		if variance := squares / n; math.Abs(variance-1) > 5*math.Sqrt(2/n) {
			t.Errorf("missing %v: the noise has %.4g times the variance that is stated", missing, variance)
		}
	}
}

// With nobody missing, all upper layers go, and before that all are there.
func TestLayersAreAllInTheMessage(t *testing.T) {
	cfg := layered
	cfg.Dim = 4000
	m := newLayered(t, cfg)
	var layers dpmech.Layers
	if err := m.Draw(&layers, round, 1, seeded.Stream(3, "all")); err != nil {
		t.Fatal(err)
	}
	dst, sum := make([]int64, cfg.Dim), make([]int64, cfg.Dim)
	if err := m.ReleaseOne(dst, sum, &layers, make([]float64, cfg.Dim)); err != nil {
		t.Fatal(err)
	}
	want, _ := new(big.Float).SetInt(m.Variance(1, cfg.Dropouts)).Float64()
	var squares float64
	for _, x := range dst {
		squares += float64(x) * float64(x) / want / float64(cfg.Dim)
	}
	if math.Abs(squares-1) > 5*math.Sqrt(2/float64(cfg.Dim)) {
		t.Errorf("a message has %g times the variance of its layers", squares)
	}
}

// hostile changes what a coordinator is given.
var hostile = []struct {
	name   string
	change func(r *layeredRun)
	want   string
}{
	{"one too few", func(r *layeredRun) { r.revealed = r.revealed[1:] }, "3 layers were revealed, want 4"},
	{"one too many", func(r *layeredRun) { r.revealed = append(r.revealed, r.revealed[0]) }, "5 layers were revealed, want 4"},
	{"duplicate", func(r *layeredRun) { r.revealed[1] = r.revealed[0] }, "twice"},
	{"lower layer", func(r *layeredRun) { r.revealed[0].Layer = 1 }, "want layers 2 to 2"},
	{"layer zero", func(r *layeredRun) { r.revealed[0].Layer = 0 }, "want layers 2 to 2"},
	{"layer beyond", func(r *layeredRun) { r.revealed[0].Layer = 3 }, "want layers 2 to 2"},
	{"negative layer", func(r *layeredRun) { r.revealed[0].Layer = math.MinInt }, "want layers 2 to 2"},
	{"dropout", func(r *layeredRun) { r.revealed[0].Client = 3 }, "no survivor"},
	{"stranger", func(r *layeredRun) { r.revealed[0].Client = -1 }, "no survivor"},
	{"another's seed", func(r *layeredRun) { r.revealed[0].Seed = r.revealed[1].Seed }, "another seed"},
	{"flipped bit", func(r *layeredRun) { r.revealed[0].Seed[31] ^= 1 }, "another seed"},
	{"swapped clients", func(r *layeredRun) {
		r.revealed[0].Client, r.revealed[1].Client = r.revealed[1].Client, r.revealed[0].Client
	}, "another seed"},
	{"survivor twice", func(r *layeredRun) { r.survivors[1] = r.survivors[0] }, "listed twice"},
	{"survivor unknown", func(r *layeredRun) { r.survivors[1].Client = 5 }, "not one of 5"},
	{"too few survivors", func(r *layeredRun) { r.survivors = r.survivors[:2] }, "for 3 to 5 clients, not for 2"},
	{"too many survivors", func(r *layeredRun) { r.survivors = append(r.survivors, r.survivors...) }, "not for 8"},
	{"another number of dropouts", func(r *layeredRun) { r.survivors = r.survivors[:3] }, "want 0"},
	{"commitments cut", func(r *layeredRun) { r.survivors[0].Commitments = r.survivors[0].Commitments[:1] }, "committed to 1 layers, want 2"},
	{"wrong sum", func(r *layeredRun) { r.total = r.total[:1] }, "1 elements, want 2"},
}

func TestHostileLayers(t *testing.T) {
	m := newLayered(t, layered)
	for _, c := range hostile {
		r := runLayered(t, m, layered.Clients, []int{3}, seeded.Stream(1, "hostile"))
		c.change(&r)
		before := slices.Clone(r.total)
		if err := r.remove(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
		if !slices.Equal(r.total, before) {
			t.Errorf("%s: a refused removal changed the sum", c.name)
		}
	}
	r := runLayered(t, m, layered.Clients, []int{3}, seeded.Stream(1, "hostile"))
	if err := m.Remove(r.total, dpmech.Round{9}, r.survivors, r.revealed); err == nil {
		t.Error("seeds of another round are accepted")
	}
}

// A client that copies another's commitment and seed, or exchanges those of its own
// layers, would cancel noise that is not there.
func TestCommitmentsAreOfOneLayer(t *testing.T) {
	m := newLayered(t, layered)
	r := runLayered(t, m, layered.Clients, nil, seeded.Stream(1, "commitments"))
	r.survivors[0].Commitments = r.survivors[1].Commitments
	r.revealed[0].Seed, r.revealed[1].Seed = r.revealed[2].Seed, r.revealed[3].Seed
	if err := r.remove(); err == nil {
		t.Error("another client's seeds are accepted with its commitments")
	}
	r = runLayered(t, m, layered.Clients, nil, seeded.Stream(1, "commitments"))
	slices.Reverse(r.survivors[0].Commitments)
	r.revealed[0].Seed, r.revealed[1].Seed = r.revealed[1].Seed, r.revealed[0].Seed
	if err := r.remove(); err == nil {
		t.Error("seeds of exchanged layers are accepted with their commitments")
	}
}

// Whatever is done to the revealed seeds, either they are refused, or they are a
// permutation of the right ones and the removal is the right one.
func FuzzNoiseShares(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{1, 3, 200, 9, 2, 1, 7})
	m := newLayered(f, layered)
	right := runLayered(f, m, layered.Clients, []int{3}, seeded.Stream(1, "fuzz"))
	want := slices.Clone(right.total)
	if err := m.Remove(want, round, right.survivors, right.revealed); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		total, revealed := slices.Clone(right.total), slices.Clone(right.revealed)
		for ; len(raw) >= 3 && len(revealed) > 0; raw = raw[3:] {
			r := &revealed[int(raw[1])%len(revealed)]
			switch raw[0] % 6 {
			case 0:
				r.Client = int(int8(raw[2]))
			case 1:
				r.Layer = int(int8(raw[2]))
			case 2:
				r.Seed[raw[2]%32] ^= 1 << (raw[2] >> 5)
			case 3:
				o := &revealed[int(raw[2])%len(revealed)]
				*r, *o = *o, *r
			case 4:
				revealed = append(revealed, *r)
			case 5:
				revealed = revealed[:len(revealed)-1]
			}
		}
		if err := m.Remove(total, round, right.survivors, revealed); err != nil {
			if !slices.Equal(total, right.total) {
				t.Fatal("a refused removal changed the sum")
			}
		} else if !slices.Equal(total, want) {
			t.Fatalf("other seeds were removed: %v", revealed)
		}
	})
}

// Noise hides one release, layers are revealed once and only after it.
func TestLayersAreUsedOnce(t *testing.T) {
	m, other := newLayered(t, layered), newLayered(t, layered)
	dst, sum := make([]int64, 2), make([]int64, 2)
	src := seeded.Stream(1, "once")
	var layers dpmech.Layers
	if layers.Commitments() != nil {
		t.Error("no layers have commitments")
	}
	release := func(m *dpmech.LayeredSum, v ...float64) error { return m.ReleaseOne(dst, sum, &layers, v) }
	refused := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	reveal := func(survivors int) error {
		_, err := layers.Reveal(survivors)
		return err
	}
	draw := func() {
		t.Helper()
		if err := m.Draw(&layers, round, 2, src); err != nil {
			t.Fatal(err)
		}
	}
	refused("nothing drawn", release(m, 1, 1))
	refused("nothing to reveal", reveal(5))
	draw()
	refused("another mechanism's noise", release(other, 1, 1))
	refused("revealing before the release", reveal(5))
	if err := release(m, 1, 1); err != nil {
		t.Fatal(err)
	}
	refused("a second release", release(m, 1, 1))
	refused("too few survivors", reveal(2))
	refused("too many survivors", reveal(6))
	if revealed, err := layers.Reveal(4); err != nil || len(revealed) != 1 || revealed[0].Layer != 2 || revealed[0].Client != 2 {
		t.Errorf("revealed %v, %v", revealed, err)
	}
	refused("a second answer", reveal(5))
	draw()
	if err := release(m, math.NaN(), 0); !errors.Is(err, dpmech.ErrNotFinite) {
		t.Errorf("releasing NaN: %v", err)
	}
	if !slices.Equal(dst, []int64{0, 0}) || !slices.Equal(sum, []int64{0, 0}) {
		t.Errorf("a refused release wrote %v, %v", dst, sum)
	}
	refused("noise of a refused release", release(m, 1, 1))
	refused("layers of a refused release", reveal(5))
	draw()
	refused("one destination for both", m.ReleaseOne(dst, dst, &layers, []float64{1, 1}))
	for _, client := range []int{-1, 5} {
		refused("a stranger", m.Draw(&layers, round, client, src))
	}
}

// Every layer of every client in every round has noise of its own.
func TestLayersDiffer(t *testing.T) {
	cfg := layered
	cfg.Dim = 1
	m := newLayered(t, cfg)
	seen := map[dpmech.LayerSeed]bool{}
	src := seeded.Stream(1, "differ")
	for range 20 {
		for _, r := range runLayered(t, m, cfg.Clients, nil, src).revealed {
			if seen[r.Seed] {
				t.Fatal("two layers have one seed")
			}
			seen[r.Seed] = true
			for i := 0; i < 32; i += 8 { // a word is zero once in 2^64
				if [8]byte(r.Seed[i:]) == [8]byte{} {
					t.Fatalf("a seed has no entropy in bytes %d to %d", i, i+7)
				}
			}
		}
	}
}

func TestLayeredSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newLayered(t, layered)
		v := []float64{rapid.Float64().Draw(t, "x"), rapid.Float64().Draw(t, "y")}
		var layers dpmech.Layers
		if err := m.Draw(&layers, round, 0, seeded.Stream(1, "sensitivity")); err != nil {
			t.Fatal(err)
		}
		dst, sum := make([]int64, 2), make([]int64, 2)
		if err := m.ReleaseOne(dst, sum, &layers, v); err != nil {
			t.Fatal(err)
		}
		e := m.Event().(accountant.DiscreteGaussian)
		bound := new(big.Int).SetInt64(int64(e.Sensitivity / 2)) // replace-one
		if normSquared(sum).Cmp(bound.Mul(bound, bound)) > 0 {
			t.Fatalf("%v adds %v, whose norm is above the event's %g", v, sum, e.Sensitivity)
		}
		if want := math.Floor(m.Clip() / m.Lattice().Step()); e.Sensitivity != 2*want || e.Dim != 2 || e.Shares != 1 || e.Adjacency != accountant.ReplaceOne {
			t.Fatalf("the event is %+v, the bound %g steps", e, want)
		}
	})
}

func TestLayeredConfigErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*dpmech.LayeredConfig)
		want   string
	}{
		{"nobody honest", func(c *dpmech.LayeredConfig) { c.Colluders = 3 }, "at most 1 dropouts"},
		{"no clients", func(c *dpmech.LayeredConfig) { c.Clients = 0 }, "number of clients"},
		{"negative dropouts", func(c *dpmech.LayeredConfig) { c.Dropouts = -1 }, "must not be negative"},
		{"negative colluders", func(c *dpmech.LayeredConfig) { c.Colluders = -1 }, "must not be negative"},
		{"clip", func(c *dpmech.LayeredConfig) { c.Clip = math.NaN() }, "clip must be positive"},
		{"no noise", func(c *dpmech.LayeredConfig) { c.NoiseMultiplier = 1e-4 }, "smaller than the clip"},
		{"much noise", func(c *dpmech.LayeredConfig) { c.NoiseMultiplier = 1e9 }, "clip is below one lattice step"},
		{"overflowing noise", func(c *dpmech.LayeredConfig) { c.Clip = 1e308; c.NoiseMultiplier = 1e9 }, "out of range"},
		{"huge clip", func(c *dpmech.LayeredConfig) { c.Clip = 1e300 }, "out of range"},
		{"thin layers", func(c *dpmech.LayeredConfig) { c.Clients = 1 << 16; c.Colluders = 0; c.Dropouts = 1<<16 - 1 }, "thinner than 1024"},
		{"overflow", func(c *dpmech.LayeredConfig) { c.Clients = 200_000; c.Colluders = 0; c.Dropouts = 100_000 }, "could overflow: at most"},
	} {
		cfg := layered
		c.change(&cfg)
		if _, err := dpmech.NewLayeredSum(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
	m := newLayered(t, layered)
	for _, c := range [][2]int{{0, 0}, {6, 0}, {5, 1}, {1, 3}, {1, -1}} {
		if _, err := m.EventFor(c[0], c[1], layered.Adjacency); err == nil {
			t.Errorf("noise of %d clients with %d dropouts is accounted", c[0], c[1])
		}
	}
}

// What [dpmech.LayeredSum] rests its accounting on, where it can be seen: two
// discrete Gaussians of σ = 1 are within 5e^(−2π²c²) of one of σ² = 2, c² = ½.
func TestSumOfTwoIsOne(t *testing.T) {
	for _, c := range [][2]float64{{1, 1}, {1, 2}, {1, .7}} {
		a, b := newPMF(c[0]), newPMF(c[1])
		variance := c[0]*c[0] + c[1]*c[1]
		bound := 5 * math.Exp(-2*math.Pi*math.Pi*c[0]*c[0]*c[1]*c[1]/variance)
		one := newPMF(math.Sqrt(variance))
		var worst float64
		for k := -6; k <= 6; k++ {
			var p float64
			for x := max(-a.reach, k-b.reach); x <= min(a.reach, k+b.reach); x++ {
				p += a.at(x) * b.at(k-x)
			}
			worst = max(worst, math.Abs(math.Log(p/one.at(k))))
		}
		if worst > bound || worst < bound/10 {
			t.Errorf("σ = %v: max divergence %g, bound %g", c, worst, bound)
		}
	}
}
