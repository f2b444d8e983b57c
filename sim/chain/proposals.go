package chain

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// freedom is the degrees of freedom of the proposals' t distribution. Its tails are heavier than
// those of a posterior with a normal prior, so the chain converges at a geometric rate (Mengersen
// and Tweedie, "Rates of convergence of the Hastings and Metropolis algorithms", 1996, theorem
// 2.1).
const freedom = 5

// proposals generates independent draws from a multivariate t distribution around a point.
type proposals struct {
	at     []float64
	root   *mat.TriDense // upper triangular U such that UᵀU is the precision
	random *rand.Rand
	z, x   *mat.VecDense
}

func newProposals(at []float64, root *mat.TriDense, r *rand.Rand) *proposals {
	return &proposals{at, root, r, mat.NewVecDense(len(at), nil), mat.NewVecDense(len(at), nil)}
}

// draw writes a proposal to dst:
//
//	proposal = at + U⁻¹z·√(ν/χ²)
//
// where at is the centre, U is the root of the precision, z is a vector of standard normal numbers,
// ν is the number of degrees of freedom, and χ² is a sum of ν squares of standard normal numbers.
func (p *proposals) draw(dst []float64) {
	var squares float64
	for range freedom {
		z := p.random.NormFloat64()
		squares += z * z
	}
	scale := math.Sqrt(freedom / squares)
	for i := range p.at {
		p.z.SetVec(i, scale*p.random.NormFloat64())
	}
	if err := p.x.SolveVec(p.root, p.z); err != nil {
		panic("chain: " + err.Error()) // unreachable: root is a Cholesky factor, which has an inverse
	}
	for i, centre := range p.at {
		dst[i] = centre + p.x.AtVec(i)
	}
}

// logDensity returns the log density of the t distribution at θ, up to a constant.
func (p *proposals) logDensity(theta []float64) float64 {
	for i, centre := range p.at {
		p.x.SetVec(i, theta[i]-centre)
	}
	p.z.MulVec(p.root, p.x)
	return -(freedom + float64(len(p.at))) / 2 * math.Log1p(mat.Dot(p.z, p.z)/freedom)
}
