package onestep

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// The packed outer product w·xxᵀ has the L2 norm |w|·‖x‖², its Frobenius norm, and unpack inverts
// it.
func TestPackedNormIsFrobenius(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-10, 10), 1, 7).Draw(rt, "x")
		w := rapid.Float64Range(-3, 3).Draw(rt, "w")
		d := len(x)
		index := make([]int32, d)
		var norm float64
		for i, v := range x {
			index[i] = int32(i)
			norm += v * v
		}
		packed := make([]float64, Size(d))
		AddOuter(packed, w, index, x, index, x)
		var squares float64
		for _, v := range packed {
			squares += v * v
		}
		if want := math.Abs(w) * norm; math.Abs(math.Sqrt(squares)-want) > 1e-12*(1+want) {
			rt.Fatalf("norm %g, want %g", math.Sqrt(squares), want)
		}
		m := unpack(packed, d)
		for i := range d {
			for j := range d {
				if want := w * x[i] * x[j]; math.Abs(m.At(i, j)-want) > 1e-12*(1+math.Abs(want)) {
					rt.Fatalf("element (%d, %d) is %g, want %g", i, j, m.At(i, j), want)
				}
			}
		}
	})
}

// For two different vectors, AddOuter adds the symmetric part of their outer product.
func TestAddOuterIsSymmetric(t *testing.T) {
	packed := make([]float64, Size(3))
	AddOuter(packed, 2, []int32{0, 2}, []float64{3, 5}, []int32{1, 2}, []float64{7, 11})
	AddOuter(packed, 2, []int32{1, 2}, []float64{7, 11}, []int32{0, 2}, []float64{3, 5})
	u, v := []float64{3, 0, 5}, []float64{0, 7, 11}
	m := unpack(packed, 3)
	for i := range 3 {
		for j := range 3 {
			if want := 2 * (u[i]*v[j] + v[i]*u[j]); math.Abs(m.At(i, j)-want) > 1e-12*want {
				t.Errorf("element (%d, %d) is %g, want %g", i, j, m.At(i, j), want)
			}
		}
	}
}

func evidence(d int, r *rand.Rand) *Evidence {
	e := &Evidence{GradientSD: 3, CurvatureSD: 2, PointSD: 5, Curvature: make([]float64, Size(d))}
	index := make([]int32, d)
	for i := range d {
		index[i] = int32(i)
		e.Point = append(e.Point, r.NormFloat64())
		e.Gradient = append(e.Gradient, 10*r.NormFloat64())
		e.PriorMean = append(e.PriorMean, r.NormFloat64())
		e.PriorPrecision = append(e.PriorPrecision, 0.5+r.Float64())
	}
	for range 30 {
		x := make([]float64, d)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		AddOuter(e.Curvature, 1, index, x, index, x)
	}
	return e
}

// Posterior agrees with a simple implementation with other random numbers, explicit products and
// inverses. It averages over 100 draws, and the simple one over 40,000. Variances may differ by six
// standard errors.
func TestPosteriorAgainstNaive(t *testing.T) {
	for _, d := range []int{1, 2, 4} {
		r := rand.New(rand.NewPCG(5, uint64(d)))
		e := evidence(d, r)
		mean, cov, err := e.Posterior([32]byte{1})
		if err != nil {
			t.Fatal(err)
		}
		released := naiveCurvature(e, nil)
		step, a := naiveStep(e, released)
		for i := range mean {
			if want := e.Point[i] + step[i]; math.Abs(mean[i]-want) > 1e-9 {
				t.Errorf("d = %d: mean %d is %g, want %g", d, i, mean[i], want)
			}
		}
		const n = 40000
		want, squares := make([]float64, d), make([]float64, d)
		for range n {
			for i, v := range naiveSpread(e, a, released, naiveCurvature(e, r)) {
				want[i] += v / n
				squares[i] += v * v / n
			}
		}
		for i := range d {
			se := math.Sqrt((squares[i] - want[i]*want[i]) / draws)
			if got := cov.At(i, i); math.Abs(got-want[i]) > 6*se {
				t.Errorf("d = %d: variance %d is %g, want %g ± %g", d, i, got, want[i], se)
			}
		}
	}
}

// naiveSpread returns the diagonal of (I − AH)V(I − AH)ᵀ + A(H + τ²I)A, with the symbols of the
// package comment, for positive definite curvatures above their noise. V comes from Ĥ(Ĥ + τ₁²)⁻¹Ĥ,
// without eigenvalues.
func naiveSpread(e *Evidence, a, released, curvature *mat.Dense) []float64 {
	d := len(e.Point)
	each := func(x float64) []float64 { return slices.Repeat([]float64{x}, d) }
	shifted := inverse(plusDiagonal(released, each(e.PointSD*e.PointSD)))
	precision := plusDiagonal(product(released, shifted, released), e.PriorPrecision)
	full := plusDiagonal(curvature, e.PriorPrecision)
	left := product(a, full)
	left.Scale(-1, left)
	left = plusDiagonal(left, each(1))
	point := product(left, inverse(precision), left.T())
	noise := product(a, plusDiagonal(full, each(e.GradientSD*e.GradientSD)), a)
	out := make([]float64, d)
	for i := range out {
		out[i] = point.At(i, i) + noise.At(i, i)
	}
	return out
}

func plusDiagonal(m mat.Matrix, x []float64) *mat.Dense {
	out := mat.DenseCopyOf(m)
	out.Add(out, mat.NewDiagDense(len(x), x))
	return out
}

func product(first mat.Matrix, others ...mat.Matrix) *mat.Dense {
	out := mat.DenseCopyOf(first)
	for _, m := range others {
		var next mat.Dense
		next.Mul(out, m)
		out = &next
	}
	return out
}

func naiveCurvature(e *Evidence, r *rand.Rand) *mat.Dense {
	d := len(e.Point)
	h := mat.NewDense(d, d, nil)
	k := 0
	for i := range d {
		for j := range i + 1 {
			x := e.Curvature[k]
			k++
			if i != j {
				x *= math.Sqrt(0.5)
			}
			if r != nil && i == j {
				x += e.CurvatureSD * r.NormFloat64()
			} else if r != nil {
				x += e.CurvatureSD * math.Sqrt(0.5) * r.NormFloat64()
			}
			h.Set(i, j, x)
			h.Set(j, i, x)
		}
	}
	return h
}

// naiveStep returns the Newton step and the inverse of the posterior's precision. The test's
// eigenvalues need not be raised.
func naiveStep(e *Evidence, h *mat.Dense) (step []float64, inv *mat.Dense) {
	d := len(e.Point)
	inv = inverse(plusDiagonal(h, e.PriorPrecision))
	gradient := make([]float64, d)
	for i, p := range e.PriorPrecision {
		gradient[i] = e.Gradient[i] + p*(e.PriorMean[i]-e.Point[i])
	}
	return product(inv, mat.NewVecDense(d, gradient)).RawMatrix().Data, inv
}

func inverse(m *mat.Dense) *mat.Dense {
	var inv mat.Dense
	if err := inv.Inverse(m); err != nil {
		panic(err)
	}
	return &inv
}

// Eigenvalues of the curvature below √2·CurvatureSD are raised before the prior's precision is
// added, which shortens the Newton step.
func TestSmallEigenvaluesAreRaised(t *testing.T) {
	e := &Evidence{
		Point: []float64{0, 0}, Gradient: []float64{7, 5}, PriorMean: []float64{0, 0}, PriorPrecision: []float64{1, 1},
		Curvature: []float64{-50, 0, 400}, CurvatureSD: 3,
	}
	mean, _, err := e.Posterior([32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1 + 3*math.Sqrt2, 401} {
		if math.Abs(mean[i]-e.Gradient[i]/want) > 1e-12 {
			t.Errorf("coordinate %d is at %g, want %g", i, mean[i], e.Gradient[i]/want)
		}
	}
}

// Where noise hides the curvature, the variance agrees with the mean square error of a simulated
// linear model. Without the error of the point, it would be less than half.
func TestHiddenDirectionsAreWide(t *testing.T) {
	const runs, truth, gradientSD, curvatureSD, pointSD = 4000, 40, 30, 60, 50
	r := rand.New(rand.NewPCG(8, 8))
	var squares, claimed, without float64
	for k := range runs {
		theta := r.NormFloat64()
		// sampling error, in the point and in the gradient
		chance := math.Sqrt(truth) * r.NormFloat64()
		point := (truth*theta + chance + pointSD*r.NormFloat64()) * truth / (truth + pointSD*pointSD) / (1 + truth*truth/(truth+pointSD*pointSD))
		e := &Evidence{
			Point: []float64{point}, Gradient: []float64{truth*(theta-point) + chance + gradientSD*r.NormFloat64()},
			Curvature: []float64{truth + curvatureSD*r.NormFloat64()}, PriorMean: []float64{0}, PriorPrecision: []float64{1},
			GradientSD: gradientSD, CurvatureSD: curvatureSD, PointSD: pointSD,
		}
		mean, cov, err := e.Posterior([32]byte{byte(k), byte(k >> 8)})
		if err != nil {
			t.Fatal(err)
		}
		squares += (mean[0] - theta) * (mean[0] - theta) / runs
		claimed += cov.At(0, 0) / runs
		full := math.Max(e.Curvature[0], leastCurvature*curvatureSD) + 1
		without += (1/full + gradientSD*gradientSD/(full*full)) / runs
	}
	if claimed < 0.8*squares || claimed > 1.6*squares {
		t.Errorf("mean square error is %g, but the mean variance is %g", squares, claimed)
	}
	if without > 0.5*squares {
		t.Errorf("mean square error %g, and %g without the error of the point", squares, without)
	}
}

// Calls with the same key return the same bits, and with different keys different bits.
func TestPosteriorFollowsFromTheKey(t *testing.T) {
	e := evidence(3, rand.New(rand.NewPCG(1, 1)))
	of := func(key byte) *mat.SymDense {
		_, cov, err := e.Posterior([32]byte{key})
		if err != nil {
			t.Fatal(err)
		}
		return cov
	}
	if !mat.Equal(of(1), of(1)) || mat.Equal(of(1), of(2)) {
		t.Error("the covariance does not follow from the key")
	}
}

// Moments of 10⁶ public normals agree with the normal distribution. With a random key, each
// comparison would fail with probability below 10⁻⁶.
func TestNormals(t *testing.T) {
	const n = 1_000_000
	z := make([]float64, n)
	newNormals([32]byte{7}).fill(z, 2)
	var moments [5]float64
	for i, x := range z {
		p := 1.0
		for k := range moments {
			moments[k] += p / n
			p *= x / 2
		}
		if i > 0 && x == z[i-1] {
			t.Fatal("the same number was drawn twice")
		}
	}
	for k, want := range []float64{1, 0, 1, 0, 3} {
		// variances of the powers 0 to 4 of a standard normal number
		se := math.Sqrt([]float64{0, 1, 2, 15, 96}[k] / n)
		if math.Abs(moments[k]-want) > 5*se+1e-9 {
			t.Errorf("moment %d is %g, want %g", k, moments[k], want)
		}
	}
}

func TestPosteriorRefuses(t *testing.T) {
	for name, edit := range map[string]func(*Evidence){
		"not a number":   func(e *Evidence) { e.Gradient[0] = math.NaN() },
		"infinite":       func(e *Evidence) { e.Curvature[1] = math.Inf(1) },
		"mis-shaped":     func(e *Evidence) { e.Curvature = e.Curvature[1:] },
		"no prior":       func(e *Evidence) { e.PriorPrecision[1] = 0 },
		"negative noise": func(e *Evidence) { e.GradientSD = -1 },
		"empty":          func(e *Evidence) { *e = Evidence{} },
	} {
		e := evidence(2, rand.New(rand.NewPCG(1, 1)))
		edit(e)
		if _, _, err := e.Posterior([32]byte{}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestClosed(t *testing.T) {
	if got, want := Closed(4, 3), 1./4+9./16; got != want {
		t.Errorf("%g, want %g", got, want)
	}
}

func BenchmarkPosterior(b *testing.B) {
	e := evidence(110, rand.New(rand.NewPCG(1, 1)))
	for b.Loop() {
		if _, _, err := e.Posterior([32]byte{}); err != nil {
			b.Fatal(err)
		}
	}
}
