package math32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// withoutLanes runs a test with vector instructions, if the CPU has them, and once more without
// them.
func withoutLanes(t *testing.T, f func(t *testing.T)) {
	t.Run("as it is", f)
	if saved := hasLanes; saved {
		hasLanes = false
		defer func() { hasLanes = saved }()
		t.Run("plain", f)
	}
}

func random(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// The sizes are close to multiples of the tile size. Where w is padded with zeros, the product must
// be zero.
func TestMultiply(t *testing.T) {
	withoutLanes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, size := range [][3]int{{1, 1, 1}, {6, 16, 1}, {5, 15, 3}, {7, 17, 2}, {13, 50, 401}, {128, 33, 785}, {12, 100, 800}} {
			rows, columns, terms := size[0], size[1], size[2]
			w := NewPanels(terms, columns)
			for i := range terms {
				for j := range columns {
					w.Data[w.At(i, j)] = float32(rng.NormFloat64())
				}
			}
			x := random(rng, Padded(rows, TileRows)*(terms+3))
			stride := Padded(columns, TileColumns) + 16
			dst := make([]float32, Padded(rows, TileRows)*stride)
			Multiply(dst, stride, x, terms+3, rows, terms, w)
			for r := range rows {
				for j := range Padded(columns, TileColumns) {
					var want, size float64
					for i := range terms {
						if j < columns {
							term := float64(x[r*(terms+3)+i]) * float64(w.Data[w.At(i, j)])
							want += term
							size += math.Abs(term)
						}
					}
					if got := float64(dst[r*stride+j]); !(math.Abs(got-want) <= SumError(terms)/float64(terms)*size) {
						t.Fatalf("%v: element (%d, %d) is %v, want %v", size, r, j, got, want)
					}
				}
			}
		}
	})
}

func TestRowDependsOnNoPlace(t *testing.T) {
	withoutLanes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		const terms, columns, rows = 785, 40, 18
		w := NewPanels(terms, columns)
		copy(w.Data, random(rng, len(w.Data)))
		row := random(rng, terms)
		var want []float32
		for place := range rows {
			x := random(rng, rows*terms)
			copy(x[place*terms:], row)
			dst := make([]float32, rows*48)
			Multiply(dst, 48, x, terms, rows, terms, w)
			got := dst[place*48:][:columns]
			if want == nil {
				want = append(want, got...)
			}
			for j := range got {
				if got[j] != want[j] {
					t.Fatalf("place %d: column %d is %v, elsewhere %v", place, j, got[j], want[j])
				}
			}
		}
	})
}

// Nothing beyond the end of the matrix may be written.
func TestTranspose(t *testing.T) {
	withoutLanes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for _, cuts := range [][]int{{0, 20, 50}, {0, 24, 48, 50}, {0, 3, 8, 41, 50}} {
			w, got := NewPanels(51, 37), NewPanels(37, 50)
			for i := range 51 {
				for j := range 37 {
					w.Data[w.At(i, j)] = rng.Float32()
				}
			}
			for i := range cuts[1:] {
				Transpose(got, w, cuts[i], cuts[i+1])
			}
			want := NewPanels(37, 50)
			for i := range 50 {
				for j := range 37 {
					want.Data[want.At(j, i)] = w.Data[w.At(i, j)]
				}
			}
			if !slices.Equal(got.Data, want.Data) {
				t.Fatalf("in pieces %v it is another matrix", cuts)
			}
		}
	})
}

// For each probability, the test tries the largest random number that must give 1 and the smallest
// that must give 0.
func TestBernoulli(t *testing.T) {
	withoutLanes(t, func(t *testing.T) {
		for n := range 35 {
			for value := range 256 {
				chances, words := make([]byte, n), make([]uint64, (n+3)/4)
				limit := value * 257 // a pixel is 1 if a 16-bit random number is below limit
				if value >= 128 {
					limit++
				}
				for j := range chances {
					chances[j] = byte(value)
					u := min(max(limit-1+j%2, 0), 65535)
					words[j/4] |= uint64(u) << (j % 4 * 16)
				}
				dst := make([]float32, n)
				Bernoulli(dst, chances, words)
				for j, got := range dst {
					want := float32(1 - j%2)
					if value == 0 {
						want = 0
					} else if value == 255 {
						want = 1
					}
					if got != want {
						t.Fatalf("%d of %d elements, a chance of %d: %v", j, n, value, got)
					}
				}
			}
		}
	})
}

// In sums of the form "growing", all rounding errors have the same sign. With 208 records, the
// error must be at least 1/416 of the bound. Otherwise the bound would be too easy to keep.
func TestSumError(t *testing.T) {
	withoutLanes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, form := range []string{"random", "equal", "growing"} {
			for _, records := range []int{0, 1, 2, 3, 128, 208} {
				const inputs, outputs = 13, 37
				o := NewOuter(inputs, outputs, 208)
				exact := make([]float64, inputs*outputs)
				// The sum covers only the first of these records, and the others must have no
				// effect.
				for i := range 208 {
					a, b := random(rng, inputs), random(rng, outputs)
					if form != "random" {
						for j := range a {
							a[j] = 1
						}
						for j := range b {
							b[j] = 1
							if form == "growing" && i > 0 {
								// 1 plus this number is rounded up to 1 + 2⁻²³.
								b[j] = 0x1p-24 + 0x1p-30
							}
						}
					}
					norm := math.Sqrt(SumSquares(a) * SumSquares(b))
					factor := float32(1 / norm * (1 - 0x1p-20))
					if form == "growing" {
						// The vectors have norm √(inputs·outputs) = 21.9. factor makes the norm
						// smaller than 1.
						factor = 1. / 32
					}
					o.Put(i, a, b, factor)
					if i < records {
						for r := range a {
							for c := range b {
								exact[r*outputs+c] += float64(a[r]) * float64(b[c]*factor)
							}
						}
					}
				}
				got := make([]float32, Padded(inputs, TileRows)*Padded(outputs, TileColumns))
				o.Sum(got, 0, Tiles(inputs, TileRows), records)
				var off float64
				for r := range inputs {
					for c := range outputs {
						d := float64(got[(c/TileColumns*Padded(inputs, TileRows)+r)*TileColumns+c%TileColumns]) - exact[r*outputs+c]
						off += d * d
					}
				}
				if off = math.Sqrt(off); !(off <= SumError(records)) {
					t.Errorf("%s, %d records: off by %g, promised %g", form, records, off, SumError(records))
				}
				// In a sum of the form "growing", all vectors except one are almost zero. The bound
				// does not make use of this, so it may be far above the error.
				if form == "growing" && records == 208 && off < SumError(208)/208/2 {
					t.Errorf("the hostile sum is off by %g only, of %g: it shows nothing", off, SumError(records))
				}
			}
		}
	})
}

func TestOuterPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const inputs, outputs, records = 50, 20, 9
	o := NewOuter(inputs, outputs, 12)
	for i := range records {
		o.Put(i, random(rng, inputs), random(rng, outputs), 0.5)
	}
	tiles, panels := Tiles(inputs, TileRows), Tiles(outputs, TileColumns)
	whole := make([]float32, tiles*TileRows*panels*TileColumns)
	o.Sum(whole, 0, tiles, records)
	piece := make([]float32, 2*TileRows*panels*TileColumns)
	for from := 0; from < tiles; from += 2 {
		to := min(from+2, tiles)
		height := (to - from) * TileRows
		o.Sum(piece, from, to, records)
		for p := range panels {
			for i, x := range piece[p*height*TileColumns:][:height*TileColumns] {
				if want := whole[(p*tiles*TileRows+from*TileRows)*TileColumns+i]; x != want {
					t.Fatalf("tiles from %d, panel %d: element %d is %v, in the whole %v", from, p, i, x, want)
				}
			}
		}
	}
	for i := range records {
		o.Clear(i)
	}
	o.Sum(whole, 0, tiles, records)
	for _, x := range whole {
		if x != 0 {
			t.Fatal("a sum of cleared places is not zero")
		}
	}
}

// apart returns the distance between got and want in units in the last place of a float32.
func apart(got float32, want float64) float64 {
	unit := math.Max(math.Abs(want)*0x1p-23, 0x1p-126*0x1p-23)
	return math.Abs(float64(got)-want) / unit
}

// Results must agree with float64 arithmetic to a few units in the last place. NaN must give NaN.
func TestSoftplus(t *testing.T) {
	withoutLanes(t, func(t *testing.T) {
		var x []float32
		for v := -86.0; v <= 86; v += 0.00731 {
			x = append(x, float32(v))
		}
		x = append(x, 0, float32(math.Copysign(0, -1)), 1e-30, -1e-30, 500, 1e30, float32(math.Inf(1)))
		dst, slope := make([]float32, len(x)), make([]float32, len(x))
		Softplus(dst, slope, x)
		for i, v := range x {
			e := math.Exp(-math.Abs(float64(v)))
			value, derivative := math.Max(float64(v), 0)+math.Log1p(e), 1/(1+e)
			if v < 0 {
				derivative = e / (1 + e)
			}
			if math.IsInf(value, 1) {
				if !math.IsInf(float64(dst[i]), 1) {
					t.Errorf("softplus(%g) = %g", v, dst[i])
				}
				continue
			}
			if a, b := apart(dst[i], value), apart(slope[i], derivative); a > 4 || b > 4 {
				t.Fatalf("at %g: %g and %g, want %g and %g (%.1f and %.1f units off)", v, dst[i], slope[i], value, derivative, a, b)
			}
		}
		bad := make([]float32, 16)
		bad[3] = float32(math.NaN())
		Softplus(dst[:16], slope[:16], bad)
		for i := range 16 {
			if nan := dst[i] != dst[i] && slope[i] != slope[i]; nan != (i == 3) {
				t.Errorf("element %d is %g and %g", i, dst[i], slope[i])
			}
		}
		// Far below zero, results must not exceed the smallest result in the accurate range.
		low := []float32{-100, -1e30, float32(math.Inf(-1)), -88, -100, -100, -100, -100}
		Softplus(dst[:8], slope[:8], low)
		for i := range low {
			if !(dst[i] >= 0 && dst[i] <= 2e-38 && slope[i] >= 0 && slope[i] <= 2e-38) {
				t.Errorf("softplus(%g) = %g, slope %g", low[i], dst[i], slope[i])
			}
		}
	})
}

func TestSumSquares(t *testing.T) {
	withoutLanes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		for n := range 70 {
			v := random(rng, n)
			var want float64
			for _, x := range v {
				want += float64(x) * float64(x)
			}
			if got := SumSquares(v); math.Abs(got-want) > 0x1p-40*want {
				t.Errorf("%d elements: %v, want %v", n, got, want)
			}
			for i := range v {
				saved := v[i]
				for _, x := range []float64{math.Inf(1), math.NaN()} {
					v[i] = float32(x)
					if s := SumSquares(v); s <= math.MaxFloat64 {
						t.Errorf("%d elements with %g at %d: %v", n, x, i, s)
					}
				}
				v[i] = saved
			}
		}
	})
}

// Steps of Adam must agree with the paper's formulas in float64, to within rounding.
func TestAdam(t *testing.T) {
	withoutLanes(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(13, 14))
		const n, scale, rate = 29, 0.25, 0.01
		a := Adam{Beta1: .9, Beta2: .999, Epsilon: 1e-8}
		w, first, second := random(rng, n), make([]float32, n), make([]float32, n)
		want, m, v := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range w {
			want[i] = float64(w[i])
		}
		for step := 1; step <= 50; step++ {
			g := random(rng, n)
			s := a.Next(rate, scale)
			s.Move(w, first, second, g)
			for i := range g {
				x := scale * float64(g[i])
				m[i] = .9*m[i] + .1*x
				v[i] = .999*v[i] + .001*x*x
				want[i] -= rate * m[i] / (1 - math.Pow(.9, float64(step))) / (math.Sqrt(v[i]/(1-math.Pow(.999, float64(step)))) + 1e-8)
			}
		}
		for i := range w {
			if math.Abs(float64(w[i])-want[i]) > 1e-5 {
				t.Errorf("element %d is %v, want %v", i, w[i], want[i])
			}
		}
	})
}

func TestNothingAllocates(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	o := NewOuter(50, 40, 16)
	w := NewPanels(50, 40)
	turned, chances, words := NewPanels(40, 49), make([]byte, 50), make([]uint64, 13)
	x, y, z := random(rng, 18*64), make([]float32, 18*64), make([]float32, 54*48)
	var a Adam
	allocations := testing.AllocsPerRun(10, func() {
		Multiply(y, 64, x, 64, 18, 50, w)
		Softplus(y, y, x)
		Bernoulli(y[:50], chances, words)
		Transpose(turned, w, 0, 49)
		o.Put(0, x[:50], y[:40], 1)
		o.Sum(z, 0, 9, 16)
		s := a.Next(1, 1)
		s.Move(z, z, z, z)
		SumSquares(z)
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func BenchmarkMultiply(b *testing.B) {
	for _, size := range [][3]int{{128, 785, 400}, {128, 401, 784}, {128, 784, 400}} {
		b.Run(fmt.Sprintf("%dx%dx%d", size[0], size[1], size[2]), func(b *testing.B) {
			rows, terms, columns := size[0], size[1], size[2]
			x, w := make([]float32, Padded(rows, TileRows)*terms), NewPanels(terms, columns)
			stride := Padded(columns, TileColumns)
			dst := make([]float32, Padded(rows, TileRows)*stride)
			for b.Loop() {
				Multiply(dst, stride, x, terms, rows, terms, w)
			}
			b.ReportMetric(2*float64(rows*terms*columns)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
		})
	}
	b.Run("outer", func(b *testing.B) {
		o := NewOuter(785, 400, 128)
		dst := make([]float32, Padded(785, TileRows)*400)
		for b.Loop() {
			o.Sum(dst, 0, Tiles(785, TileRows), 128)
		}
		b.ReportMetric(2*785*400*128*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
	})
}

func BenchmarkFunctions(b *testing.B) {
	const n = 1 << 14
	x, y, z, w := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	b.Run("softplus", func(b *testing.B) {
		for b.Loop() {
			Softplus(y, z, x)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
	})
	b.Run("adam", func(b *testing.B) {
		a := Adam{Beta1: .9, Beta2: .999, Epsilon: 1e-8}
		s := a.Next(1e-3, 1)
		for b.Loop() {
			s.Move(w, y, z, x)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
	})
}
