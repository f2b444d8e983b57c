package solver

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/internal/special"
	"fedpvi/pvi/gaussian"
	"fedpvi/pvi/study"
)

// SVI increases the local free energy
//
//	E_q[log likelihood] − KL(q‖cavity)
//
// by stochastic gradients with the optimiser Adam (Kingma and Ba 2015). It draws θ = m + Rε, where
// m and RRᵀ are the mean and covariance of q, in coordinates in which q is standard normal at
// first. It estimates the gradient by the path derivative: through θ, with the parameters of log q
// held fixed. The variance of this estimate is zero if q is exact (Roeder, Wu and Duvenaud,
// "Sticking the landing", 2017). Draws come in antithetic pairs ε, −ε. The step size falls linearly
// towards zero, and SVI proposes the average over the second half of the steps.
//
// SVI uses the records without noise. A mechanism must make the proposals private.
type SVI struct {
	stateless
	likelihood Likelihood
	ascent     study.Ascent
}

// NewSVI returns the solver for a shard's likelihood.
func NewSVI(l Likelihood, a study.Ascent) *SVI { return &SVI{likelihood: l, ascent: a} }

// Propose implements [Solver]. It releases nothing. The random numbers come from src.
func (s *SVI) Propose(dst []float64, p Problem, src *dpmech.Stream) ([]accountant.Event, error) {
	c, err := newClimb(s.likelihood, p)
	if err != nil {
		return nil, err
	}
	for t := range s.ascent.Steps {
		left := 1 - float64(t)/float64(s.ascent.Steps)
		c.step(s.ascent.Draws, s.ascent.StepSize*left, src)
		if 2*t >= s.ascent.Steps-1 {
			c.average()
		}
	}
	return nil, c.result(dst, p)
}

// A climb is the state of one call to Propose. It uses coordinates u with θ = m₀ + R₀u, where m₀
// and R₀ are the first mean of q and the root of its first covariance. In these coordinates q is
// N(0, I) at first and N(mean, LLᵀ) later, where L is lower triangular or diagonal.
type climb struct {
	likelihood Likelihood
	diagonal   bool
	d          int
	origin     []float64
	root       []float64 // R₀ by rows, or only its diagonal if q is diagonal
	cavityH    []float64 // precision times mean of the cavity, in the coordinates u
	cavityP    []float64 // precision of the cavity in the coordinates u, by rows, or only its diagonal

	// x holds the mean of q and L by rows, with the logarithm of its diagonal. gradient is the
	// gradient with respect to x.
	x, gradient []float64
	first       []float64 // Adam's first moments
	second      []float64
	steps       int
	sum         []float64
	averaged    int

	eps, u, theta, slope, path []float64
}

func newClimb(l Likelihood, p Problem) (*climb, error) {
	q, err := NewApproximation(p.Family, p.Natural)
	if err != nil {
		return nil, err
	}
	d := l.Dim()
	c := &climb{likelihood: l, d: d, diagonal: q.Covariance == nil, origin: q.Mean}
	n := 2 * d
	if c.diagonal {
		c.root = make([]float64, d)
		for i, v := range q.Variance {
			c.root[i] = math.Sqrt(v)
		}
	} else {
		n = d + d*(d+1)/2
		if c.root = cholesky(q.Covariance, d); c.root == nil {
			return nil, fmt.Errorf("svi: %w", gaussian.ErrImproper)
		}
	}
	for _, v := range []*[]float64{&c.x, &c.gradient, &c.first, &c.second, &c.sum} {
		// x begins at zero, which is the first q: its mean in the coordinates u is 0, and L is the
		// identity.
		*v = make([]float64, n)
	}
	for _, v := range []*[]float64{&c.eps, &c.u, &c.theta, &c.slope, &c.path} {
		*v = make([]float64, d)
	}
	c.takeCavity(p)
	return c, nil
}

func (c *climb) takeCavity(p Problem) {
	d := c.d
	precision := make([]float64, d*d)
	// shifted is h − Λm₀, where h and Λ are the cavity's natural parameters and m₀ is c.origin.
	shifted := append([]float64(nil), p.Cavity[:d]...)
	for k, at := range p.Family.Precision() {
		i, j := at[0], at[1]
		v := p.Cavity[d+k]
		shifted[i] -= v * c.origin[j]
		if i != j {
			shifted[j] -= v * c.origin[i]
		}
		if !c.diagonal {
			precision[i*d+j], precision[j*d+i] = v, v
		}
	}
	c.cavityH = make([]float64, d)
	if c.diagonal {
		c.cavityP = precision[:d]
		for i, r := range c.root {
			c.cavityH[i] = r * shifted[i]
			c.cavityP[i] = r * r * p.Cavity[d+i]
		}
		return
	}
	root := c.triangular()
	copy(c.cavityH, shifted)
	blas64.Trmv(blas.Trans, root, blas64.Vector{N: d, Data: c.cavityH, Inc: 1})
	general := blas64.General{Rows: d, Cols: d, Stride: d, Data: precision}
	blas64.Trmm(blas.Left, blas.Trans, 1, root, general)
	blas64.Trmm(blas.Right, blas.NoTrans, 1, root, general)
	c.cavityP = precision
}

func (c *climb) triangular() blas64.Triangular {
	return blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: c.d, Stride: c.d, Data: c.root}
}

func (c *climb) step(draws int, size float64, src *dpmech.Stream) {
	clear(c.gradient)
	pairs := (draws + 1) / 2
	weight := 1 / float64(2*pairs)
	for range pairs {
		normals(c.eps, src)
		c.draw(weight)
		for i := range c.eps {
			c.eps[i] = -c.eps[i]
		}
		c.draw(weight)
	}
	const beta1, beta2, tiny = 0.9, 0.99, 1e-8
	c.steps++
	rise1 := 1 - math.Pow(beta1, float64(c.steps))
	rise2 := 1 - math.Pow(beta2, float64(c.steps))
	for i, g := range c.gradient {
		c.first[i] = beta1*c.first[i] + (1-beta1)*g
		c.second[i] = beta2*c.second[i] + (1-beta2)*g*g
		c.x[i] += size * (c.first[i] / rise1) / (math.Sqrt(c.second[i]/rise2) + tiny)
	}
}

// draw adds the estimate of the gradient from one draw of θ, multiplied by weight, to c.gradient.
// c.eps holds the standard normals for θ.
func (c *climb) draw(weight float64) {
	c.place()
	clear(c.slope)
	c.likelihood.AddGradient(c.slope, c.theta)
	c.pathDerivative()
	at := c.d
	for i, g := range c.path {
		g *= weight
		c.gradient[i] += g
		if c.diagonal {
			c.gradient[at+i] += g * c.eps[i] * math.Exp(c.x[at+i])
			continue
		}
		for j := range i {
			c.gradient[at+j] += g * c.eps[j]
		}
		c.gradient[at+i] += g * c.eps[i] * math.Exp(c.x[at+i])
		at += i + 1
	}
}

// place sets u = mean + Lε and θ = m₀ + R₀u (see [climb]), where ε is c.eps.
func (c *climb) place() {
	at := c.d
	for i := range c.u {
		if c.diagonal {
			c.u[i] = c.x[i] + math.Exp(c.x[at+i])*c.eps[i]
			c.theta[i] = c.origin[i] + c.root[i]*c.u[i]
			continue
		}
		sum := c.x[i] + math.Exp(c.x[at+i])*c.eps[i]
		for j := range i {
			sum += c.x[at+j] * c.eps[j]
		}
		c.u[i] = sum
		at += i + 1
	}
	if c.diagonal {
		return
	}
	copy(c.theta, c.u)
	blas64.Trmv(blas.NoTrans, c.triangular(), blas64.Vector{N: c.d, Data: c.theta, Inc: 1})
	for i, m := range c.origin {
		c.theta[i] += m
	}
}

// pathDerivative sets c.path to the gradient in u of log likelihood + log cavity − log q, with the
// parameters of q held fixed. With u = mean + Lε, the gradient of −log q is L⁻ᵀε.
func (c *climb) pathDerivative() {
	d := c.d
	if c.diagonal {
		for i := range c.path {
			c.path[i] = c.root[i]*c.slope[i] + c.cavityH[i] - c.cavityP[i]*c.u[i] + c.eps[i]*math.Exp(-c.x[d+i])
		}
		return
	}
	blas64.Trmv(blas.Trans, c.triangular(), blas64.Vector{N: d, Data: c.slope, Inc: 1})
	blas64.Gemv(blas.NoTrans, -1, blas64.General{Rows: d, Cols: d, Stride: d, Data: c.cavityP}, blas64.Vector{N: d, Data: c.u, Inc: 1}, 0, blas64.Vector{N: d, Data: c.path, Inc: 1})
	for i := range c.path {
		c.path[i] += c.slope[i] + c.cavityH[i]
	}
	// This loop solves Lᵀx = ε by back substitution.
	for i := d - 1; i >= 0; i-- {
		sum := c.eps[i]
		for k := i + 1; k < d; k++ {
			sum -= c.x[d+k*(k+1)/2+i] * c.u[k]
		}
		c.u[i] = sum * math.Exp(-c.x[d+i*(i+1)/2+i]) // overwrites u, which is no longer needed
	}
	for i, v := range c.u {
		c.path[i] += v
	}
}

func (c *climb) average() {
	for i, x := range c.x {
		c.sum[i] += x
	}
	c.averaged++
}

// result writes the factor whose product with the cavity is the averaged q to dst.
func (c *climb) result(dst []float64, p Problem) error {
	d := c.d
	for i, x := range c.sum {
		c.x[i] = x / float64(c.averaged)
	}
	if !special.Finite(c.x) {
		return fmt.Errorf("%w: the gradient of the log likelihood overflows; a narrower prior or a smaller inference.step_size keeps it finite", ErrDiverged)
	}
	clear(c.eps)
	c.place() // now θ is the mean of q
	if c.diagonal {
		for i, r := range c.root {
			s := r * math.Exp(c.x[d+i])
			dst[d+i] = 1 / (s * s)
			dst[i] = dst[d+i] * c.theta[i]
		}
	} else if !c.natural(dst) {
		return fmt.Errorf("%w: the covariance of the averaged posterior is singular to working accuracy", ErrDiverged)
	}
	for i, cavity := range p.Cavity {
		dst[i] -= cavity
	}
	return nil
}

// natural writes the natural parameters of N(θ, R₀LLᵀR₀ᵀ) to dst, with the symbols of [climb]. It
// returns false if they are not finite.
func (c *climb) natural(dst []float64) bool {
	d := c.d
	root := make([]float64, d*d)
	for i := range d {
		for j := range i {
			root[i*d+j] = c.x[d+i*(i+1)/2+j]
		}
		root[i*d+i] = math.Exp(c.x[d+i*(i+1)/2+i])
	}
	general := blas64.General{Rows: d, Cols: d, Stride: d, Data: root}
	blas64.Trmm(blas.Left, blas.NoTrans, 1, c.triangular(), general)
	// The precision is AᵀA, where A is the inverse of R₀L.
	inverse := make([]float64, d*d)
	for i := range d {
		inverse[i*d+i] = 1
	}
	blas64.Trsm(blas.Left, blas.NoTrans, 1, blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: d, Stride: d, Data: root},
		blas64.General{Rows: d, Cols: d, Stride: d, Data: inverse})
	clear(dst[:d])
	for i := range d {
		for j := range i + 1 {
			var sum float64
			for k := i; k < d; k++ {
				sum += inverse[k*d+i] * inverse[k*d+j]
			}
			dst[gaussian.Packed(d, i, j)] = sum
			dst[i] += sum * c.theta[j]
			if i != j {
				dst[j] += sum * c.theta[i]
			}
		}
	}
	return special.Finite(dst)
}

// cholesky returns the lower Cholesky root of a d×d covariance by rows, or nil if it is not
// positive definite.
func cholesky(covariance []float64, d int) []float64 {
	root := make([]float64, d*d)
	for i := range d {
		for j := range i + 1 {
			sum := covariance[i*d+j]
			for k := range j {
				sum -= root[i*d+k] * root[j*d+k]
			}
			if i != j {
				root[i*d+j] = sum / root[j*d+j]
				continue
			}
			if !(sum > 0) {
				return nil
			}
			root[i*d+i] = math.Sqrt(sum)
		}
	}
	return root
}

// normals fills v with standard normals from src by the method of Box and Muller (1958). They must
// not serve as privacy noise.
func normals(v []float64, src *dpmech.Stream) {
	uniform := func() float64 { return (float64(src.Uint64()>>11) + 0.5) * 0x1p-53 }
	for i := 0; i < len(v); i += 2 {
		radius, angle := math.Sqrt(-2*math.Log(uniform())), 2*math.Pi*uniform()
		v[i] = radius * math.Cos(angle)
		if i+1 < len(v) {
			v[i+1] = radius * math.Sin(angle)
		}
	}
}
