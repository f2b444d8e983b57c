package population

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func normalMatrix(rng *rand.Rand, d int) *mat.Dense {
	m := mat.NewDense(d, d, nil)
	m.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, m)
	return m
}

// randomQuery returns a query, and a function that draws gradients and informations. Their norms
// range from far below to far above the query's clipping bounds.
func randomQuery(rng *rand.Rand) (*Query, func() ([]float64, *mat.SymDense)) {
	d := 1 + rng.IntN(4)
	size := func() float64 { return math.Exp(6 * rng.NormFloat64()) }
	matrix := func(scale float64) *mat.SymDense {
		s := mat.NewSymDense(d, nil)
		s.SymOuterK(scale, normalMatrix(rng, d))
		return s
	}
	q := &Query{Point: make([]float64, d), Clip: size(), Curvature: matrix(size()), CurvatureClip: size(), Kappa: size(), Units: public(d)}
	if rng.IntN(4) == 0 {
		q.Kappa = math.Inf(1)
	}
	return q, func() ([]float64, *mat.SymDense) {
		g := make([]float64, d)
		for i := range g {
			g[i] = q.Clip * size() * rng.NormFloat64()
		}
		return g, matrix(size())
	}
}

func TestVectorsHaveNormAtMostOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var largest, farthest float64
	for range 20_000 {
		q, client := randomQuery(rng)
		var vectors [2][]float64
		for k := range vectors {
			g, information := client()
			vectors[k] = make([]float64, Size(len(g), nil))
			q.Vector(vectors[k], g, information)
			largest = math.Max(largest, floats.Norm(vectors[k], 2))
		}
		farthest = math.Max(farthest, floats.Distance(vectors[0], vectors[1], 2))
	}
	if largest > 1+1e-12 || largest < .95 {
		t.Errorf("the largest norm is %.15g, want about 1 and no more", largest)
	}
	if farthest > 1.91 {
		t.Errorf("two clients' vectors differ by %.3f, want at most 1.91", farthest)
	}
}

// Two vectors can differ by at most 1.91. A random search comes close to this distance, with
// gradients and deviations of curvature that are opposite.
func TestDistanceIsReached(t *testing.T) {
	most := math.Sqrt(4*shares.gradient + 4*shares.curvature + 2*shares.outer + shares.size + shares.slope)
	if most > 1.91 {
		t.Errorf("two vectors may differ by %.4f, want at most 1.91", most)
	}
	const d = 2
	q := &Query{Point: make([]float64, d), Clip: 1, Curvature: scaledUnit(d, 10), CurvatureClip: 1, Kappa: math.Inf(1), Units: public(d)}
	rng := rand.New(rand.NewPCG(3, 4))
	var farthest float64
	a, b := make([]float64, Size(d, nil)), make([]float64, Size(d, nil))
	for range 20_000 {
		q.Vector(a, []float64{2 * rng.NormFloat64(), 2 * rng.NormFloat64()}, scaledUnit(d, 100*rng.Float64()))
		q.Vector(b, []float64{2 * rng.NormFloat64(), 2 * rng.NormFloat64()}, scaledUnit(d, 0))
		farthest = math.Max(farthest, floats.Distance(a, b, 2))
	}
	// Opposite gradients have the same outer product. Orthogonal gradients differ by √2, and so do
	// their outer products.
	if want := math.Sqrt(4*shares.gradient + 4*shares.curvature); math.Abs(farthest-want) > .01 {
		t.Errorf("the search finds a distance of %.3f, want %.3f", farthest, want)
	}
}

func TestVectorOfNumbersThatAreNotFinite(t *testing.T) {
	const d = 2
	q := &Query{Point: make([]float64, d), Clip: 1, Curvature: scaledUnit(d, 1), CurvatureClip: 1, Kappa: 3, Units: public(d)}
	for name, client := range map[string]struct{ gradient, information []float64 }{
		"gradient NaN":             {[]float64{1, math.NaN()}, []float64{1, 0, 0, 1}},
		"gradient infinite":        {[]float64{1, math.Inf(1)}, []float64{1, 0, 0, 1}},
		"information NaN":          {[]float64{1, 1}, []float64{1, math.NaN(), 0, 1}},
		"information infinite":     {[]float64{1, 1}, []float64{math.Inf(1), 0, 0, 1}},
		"information not positive": {[]float64{1, 1}, []float64{-100, 0, 0, 1}},
	} {
		for _, kappa := range []float64{3, math.Inf(1)} {
			if q.Kappa = kappa; name == "information not positive" && math.IsInf(kappa, 1) {
				continue // if κ is infinite, Vector does not check the information
			}
			v := []float64{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}
			q.Vector(v, client.gradient, mat.NewSymDense(d, client.information))
			if floats.Norm(v, 1) != 0 {
				t.Errorf("%s, κ = %g: the vector is %v, want zeros", name, kappa, v)
			}
		}
	}
}

// If b ~ N(0, 1/κ) is integrated out of y ~ N(θ + b, 1/Λ), the result is y ~ N(θ, 1/Λ + 1/κ). Then
// g and W are the gradient and the curvature of that likelihood in θ.
func TestShrinkIntegratesAnEffectOut(t *testing.T) {
	const kappa, precision, residual = 3., 5., 2.
	q := &Query{Kappa: kappa}
	g, w := q.shrink([]float64{precision * residual}, scaledUnit(1, precision))
	marginal := 1 / (1/precision + 1/kappa)
	if math.Abs(g[0]-marginal*residual) > 1e-12 || math.Abs(w.At(0, 0)-marginal) > 1e-12 {
		t.Errorf("gradient %g and curvature %g, want %g and %g", g[0], w.At(0, 0), marginal*residual, marginal)
	}
}

func TestPackKeepsTheNorm(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	s := mat.NewSymDense(4, nil)
	for i := range 4 {
		for j := range i + 1 {
			s.SetSym(i, j, rng.NormFloat64())
		}
	}
	v := make([]float64, packedSize(4))
	pack(v, s)
	if got, want := floats.Norm(v, 2), mat.Norm(s, 2); math.Abs(got-want) > 1e-12 {
		t.Errorf("norm %g, want %g", got, want)
	}
	if !mat.EqualApprox(unpack(4, v, 2), plus(s, 1, s), 1e-12) {
		t.Error("unpack does not undo pack")
	}
}
