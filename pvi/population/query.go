package population

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
)

// shares holds a₁ to a₅, which divide the squared norm of a client's vector among the blocks.
var shares = struct{ gradient, curvature, outer, size, slope float64 }{.70, .15, .08, .03, .04}

// Size returns the length of a client's vector, for d coordinates with the given bases. All rounds
// have the same length. If a round needs fewer numbers, the vector ends with zeros.
func Size(d int, bases []int) int {
	return max(d+2*packedSize(d)+2, places*d+centrePlaces*centred(bases))
}

// A Query holds the public numbers of a round that a client needs to compute its vector.
type Query struct {
	Point         []float64     // point θ_t, in public units
	Clip          float64       // clipping bound C, the largest norm of a gradient
	Curvature     *mat.SymDense // curvature Ā of a typical client
	CurvatureClip float64       // clipping bound K for W − Ā, where W is the client's curvature
	Kappa         float64       // κ as in the package documentation; infinite if q is the posterior of all records in one place

	// Units converts from public units to the units of Clip, Curvature and CurvatureClip.
	Units *Units

	// Votes is n, the nominal number of records per client, in the first round, in which clients vote.
	// In later rounds it is 0.
	Votes float64
	Bases []int // see [Setting].Bases

	// Area is the region for votes about modes in the first round, or nil if there are none.
	Area *Area
}

// blocks holds the five blocks of a client's vector. They are parts of one slice.
type blocks struct{ gradient, curvature, outer, size, slope []float64 }

func split(v []float64, d int) blocks {
	n := packedSize(d)
	return blocks{v[:d], v[d : d+n], v[d+n : d+2*n], v[d+2*n : d+2*n+1], v[d+2*n+1:]}
}

// Vector writes a client's vector to dst. gradient and information are those of the client's
// records at q.Point, in public units. Up to rounding, the vector has norm at most 1. If any number
// is not finite, the vector is zero.
func (q *Query) Vector(dst, gradient []float64, information *mat.SymDense) {
	clear(dst)
	if q.Votes > 0 {
		q.vote(dst, information)
	} else {
		q.write(dst, q.Units.Gradient(gradient), q.Units.Information(information))
	}
	if !special.Finite(dst) || !special.Finite(gradient) || !special.Finite(information.RawSymmetric().Data) {
		clear(dst)
	}
}

func (q *Query) write(dst, gradient []float64, information *mat.SymDense) {
	d := len(gradient)
	b := split(dst, d)
	g, w := q.shrink(gradient, information)
	length := floats.Norm(g, 2)
	kept := 1.0
	b.slope[0] = math.Sqrt(shares.slope)
	if !(length <= q.Clip) {
		kept = q.Clip / length
		b.slope[0] *= kept * (1 - 1/float64(d))
	}
	for i, x := range g {
		g[i] = x * kept / q.Clip
	}
	for i, x := range g {
		b.gradient[i] = math.Sqrt(shares.gradient) * x
	}
	outer := mat.NewSymDense(d, nil)
	outer.SymOuterK(math.Sqrt(shares.outer), mat.NewDense(d, 1, g))
	pack(b.outer, outer)

	deviation := plus(w, -1, q.Curvature)
	ratio := norm(deviation) / q.CurvatureClip
	bounded := math.Min(ratio, 1) // math.Min returns NaN if ratio is NaN
	b.size[0] = math.Sqrt(shares.size) * bounded * bounded
	pack(b.curvature, deviation)
	floats.Scale(math.Sqrt(shares.curvature)/(q.CurvatureClip*math.Max(ratio, 1)), b.curvature)
}

// shrink returns g = F∇ℓ and W = κ(I − F) (see the package documentation). If the information is
// not finite, or if I + Λ/κ is not positive definite, g contains a NaN.
func (q *Query) shrink(gradient []float64, information *mat.SymDense) ([]float64, *mat.SymDense) {
	d := len(gradient)
	g := mat.NewVecDense(d, nil)
	g.CopyVec(mat.NewVecDense(d, gradient))
	if math.IsInf(q.Kappa, 1) {
		return g.RawVector().Data, information
	}
	// F = κ(κI + Λ)⁻¹ is the same as (I + Λ/κ)⁻¹, where Λ is the information.
	var root mat.Cholesky
	f := mat.NewSymDense(d, nil)
	if !special.Finite(information.RawSymmetric().Data) || !root.Factorize(plus(scaledUnit(d, 1), 1/q.Kappa, information)) ||
		root.InverseTo(f) != nil {
		g.SetVec(0, math.NaN())
		return g.RawVector().Data, information
	}
	g.MulVec(f, mat.NewVecDense(d, gradient))
	return g.RawVector().Data, plus(scaledUnit(d, q.Kappa), -q.Kappa, f)
}
