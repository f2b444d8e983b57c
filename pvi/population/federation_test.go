package population

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A federation simulates clients with a known true θ, in public units.
type federation struct {
	d, clients, records int
	priorSD, differ     float64 // standard deviations of θ under the prior, and between clients
	family              string  // family of the model: "linear", "logistic" or "Poisson"
	unequal             bool    // whether half of the clients have only a tenth of the others' records
	pooled              bool
	epsilon             float64 // ε at δ = 1e-5; 0 for negligible noise
	missing             float64 // share of clients that do not answer a round
	rounds              int

	theta []float64
	x     [][][]float64
	y     [][]float64
	rng   *rand.Rand

	// For a linear model, zero holds the gradient of each client at θ = 0, and information its
	// information matrix.
	zero        [][]float64
	information []*mat.SymDense
}

// draw draws θ from the prior, and then a design and records. A synthetic record has information I.
// The information of a record of the design has random eigenvectors, and eigenvalues between .25
// and 2.
func (f *federation) draw(seed uint64) {
	f.rng = rand.New(rand.NewPCG(seed, 1))
	if f.rounds == 0 {
		f.rounds = 10
	}
	d := f.d
	var qr mat.QR
	qr.Factorize(normalMatrix(f.rng, d))
	var q mat.Dense
	qr.QTo(&q)
	for j := range d {
		size := math.Sqrt(math.Exp(math.Log(.25) + f.rng.Float64()*math.Log(8)))
		for i := range d {
			q.Set(i, j, q.At(i, j)*size)
		}
	}
	f.theta, f.zero, f.information = f.normals(f.priorSD), nil, nil
	f.x, f.y = make([][][]float64, f.clients), make([][]float64, f.clients)
	for m := range f.x {
		own := f.normals(f.differ)
		floats.Add(own, f.theta)
		n := f.records
		if f.unequal {
			n = 2 * f.records / 11
			if m >= f.clients/2 {
				n *= 10
			}
		}
		for range n {
			x := times(&q, f.normals(1))
			f.x[m] = append(f.x[m], x)
			f.y[m] = append(f.y[m], f.outcome(floats.Dot(x, own)))
		}
	}
	var zero [][]float64
	for m := range f.x {
		g, information := f.score(m, make([]float64, d))
		zero, f.information = append(zero, g), append(f.information, information)
	}
	f.zero = zero
}

func (f *federation) normals(sd float64) []float64 {
	z := make([]float64, f.d)
	for i := range z {
		z[i] = sd * f.rng.NormFloat64()
	}
	return z
}

func (f *federation) outcome(eta float64) float64 {
	switch f.family {
	case "logistic":
		// If the log odds are 2η, a record has information 1 at η = 0.
		if f.rng.Float64() < 1/(1+math.Exp(-2*eta)) {
			return 1
		}
		return 0
	case "Poisson":
		return distuv.Poisson{Lambda: math.Exp(within(eta, -20, 4)), Src: f.rng}.Rand()
	}
	return eta + f.rng.NormFloat64()
}

// score returns the gradient and the information of client m's records at theta.
func (f *federation) score(m int, theta []float64) ([]float64, *mat.SymDense) {
	if f.family == "linear" && len(f.zero) == len(f.x) {
		g := times(f.information[m], theta)
		floats.SubTo(g, f.zero[m], g)
		return g, f.information[m]
	}
	g, information := make([]float64, f.d), mat.NewSymDense(f.d, nil)
	for i, x := range f.x[m] {
		eta, y := floats.Dot(x, theta), f.y[m][i]
		residual, weight := y-eta, 1.0
		switch f.family {
		case "logistic":
			p := 1 / (1 + math.Exp(-2*eta))
			residual, weight = 2*(y-p), 4*p*(1-p)
		case "Poisson":
			weight = math.Exp(within(eta, -20, 6))
			residual = y - weight
		}
		floats.AddScaled(g, residual, x)
		information.SymRankOne(information, weight, mat.NewVecDense(f.d, x))
	}
	return g, information
}

func (f *federation) setting(seed uint64) *Setting {
	s := &Setting{
		Mean: make([]float64, f.d), Precision: scaledUnit(f.d, 1/(f.priorSD*f.priorSD)), Records: float64(f.records),
		Clients: f.clients, Pooled: f.pooled, Skewed: f.family != "linear", Digest: [32]byte{byte(seed), byte(seed >> 8)},
	}
	s.Weights = Weights(f.rounds)
	s.Noise = floats.Norm(s.Weights, 2) / math.Sqrt(float64(f.clients)) / f.mu()
	return s
}

// mu returns the μ of the Gaussian mechanism that is (ε, 1e-5)-private (Dong, Roth and Su,
// "Gaussian differential privacy", 2022, corollary 2.13).
func (f *federation) mu() float64 {
	if f.epsilon == 0 {
		return 1e9
	}
	low, high := 1e-3, 20.0
	for range 100 {
		mu := (low + high) / 2
		delta := phi(-f.epsilon/mu+mu/2) - math.Exp(f.epsilon)*phi(-f.epsilon/mu-mu/2)
		if delta < 1e-5 {
			low = mu
		} else {
			high = mu
		}
	}
	return low
}

func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

func (f *federation) run(t testing.TB, seed uint64) *State {
	s, ok := New(f.setting(seed))
	if !ok {
		t.Fatal("the prior is not proper")
	}
	return f.advance(t, s, 1, f.rounds)
}

func (f *federation) advance(t testing.TB, s *State, first, last int) *State {
	var ok bool
	vector, sum := make([]float64, Size(f.d, nil)), make([]float64, Size(f.d, nil))
	for number := first; number <= last; number++ {
		query := s.Query(number)
		clear(sum)
		answers := 0
		for m := range f.x {
			if f.rng.Float64() < f.missing {
				continue
			}
			answers++
			g, information := f.score(m, query.Point)
			query.Vector(vector, g, information)
			floats.AddScaled(sum, s.rules.Weights[number-1], vector)
		}
		for i := range sum {
			sum[i] += s.rules.Noise * math.Sqrt(float64(answers)) * f.rng.NormFloat64()
		}
		if s, ok = s.Next(number, answers, sum); !ok {
			t.Fatalf("round %d gives no posterior", number)
		}
	}
	return s
}

// fit returns the normal approximation to the posterior of all records, computed by Newton's
// method.
func (f *federation) fit() ([]float64, *mat.SymDense) {
	theta := make([]float64, f.d)
	covariance := mat.NewSymDense(f.d, nil)
	steps, longest := 50, 2.0
	if f.family == "linear" {
		steps, longest = 1, math.Inf(1)
	}
	for range steps {
		g, precision := make([]float64, f.d), scaledUnit(f.d, 1/(f.priorSD*f.priorSD))
		floats.AddScaled(g, -1/(f.priorSD*f.priorSD), theta)
		for m := range f.x {
			gm, information := f.score(m, theta)
			floats.Add(g, gm)
			precision = plus(precision, 1, information)
		}
		var root mat.Cholesky
		root.Factorize(precision)
		root.InverseTo(covariance) //nolint:errcheck // the prior makes the matrix regular
		step := times(covariance, g)
		length := floats.Norm(step, 2)
		floats.AddScaled(theta, math.Min(1, longest/length), step)
		if length < 1e-9 {
			break
		}
	}
	return theta, covariance
}

// ideal returns the covariance that intervals are compared with. It belongs to a posterior based on
// the information of all records and on a single release of the gradient at the truth, with the
// whole budget and the root mean square norm as clipping bound. If clients of a linear model
// differ, it treats the differences as known.
func (f *federation) ideal() *mat.SymDense {
	total := mat.NewSymDense(f.d, nil)
	var squares float64
	for m := range f.x {
		g, information := f.score(m, f.theta)
		if f.differ > 0 && f.family == "linear" {
			q := &Query{Kappa: 1 / (f.differ * f.differ)}
			g, information = q.shrink(g, information)
		}
		squares += floats.Dot(g, g)
		total = plus(total, 1, information)
	}
	clip := math.Sqrt(squares / float64(f.clients))
	noisy := plus(total, math.Pow(clip/f.mu(), 2), scaledUnit(f.d, 1))
	var root mat.Cholesky
	root.Factorize(noisy)
	var half, whole mat.Dense
	root.SolveTo(&half, total) //nolint:errcheck // the matrix is positive definite
	whole.Mul(total, &half)
	covariance := mat.NewSymDense(f.d, nil)
	root.Factorize(plus(symmetric(&whole), 1/(f.priorSD*f.priorSD), scaledUnit(f.d, 1)))
	root.InverseTo(covariance) //nolint:errcheck // the matrix is positive definite
	return covariance
}

// divergence returns KL(N(m0, v0) ‖ N(m1, v1)).
func divergence(m0 []float64, v0 *mat.SymDense, m1 []float64, v1 *mat.SymDense) float64 {
	var r0, r1 mat.Cholesky
	r0.Factorize(v0)
	r1.Factorize(v1)
	var ratio mat.Dense
	r1.SolveTo(&ratio, v0) //nolint:errcheck // the matrix is positive definite
	gap := mat.NewVecDense(len(m0), nil)
	gap.SubVec(mat.NewVecDense(len(m0), m0), mat.NewVecDense(len(m1), m1))
	pulled := mat.NewVecDense(len(m0), nil)
	r1.SolveVecTo(pulled, gap) //nolint:errcheck // the matrix is positive definite
	return (mat.Trace(&ratio) - float64(len(m0)) + mat.Dot(gap, pulled) + r1.LogDet() - r0.LogDet()) / 2
}
