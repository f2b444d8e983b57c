package accountant

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// RandomAllocation is one epoch of Steps releases. Each release is a sum of vectors of L2 norm at
// most 1, with independent N(0, Sigma²) noise on every element. Each record takes part in Picks of
// the releases, which are drawn at random, independently of the other records.
//
// Let k = Steps and σ = Sigma. For one pick, the dominating pair is (1/k) Σ N(e_i, σ²I) against
// N(0, σ²I) in k dimensions, in both orders, where e_i is the unit vector of dimension i (Feldman,
// Shenfeld, "Privacy Amplification by Random Allocation", 2025). Let Y_1, ..., Y_k be independent
// and lognormal, with log Y_i ~ N(−1/2σ², 1/σ²), and let S be their sum. Then
//
//	δ(ε) = E[(S/k − e^ε)₊]    for removal
//	δ(ε) = E[(1 − e^ε·S/k)₊]  for addition
//
// The accountant moves the mass of each Y_i to the points of a grid without changing its mean. Both
// functions are convex in S, so this cannot lower δ. An epoch with several picks costs at most as
// much as Picks epochs of ⌊Steps/Picks⌋ steps with one pick each. If such an epoch has only one
// step, or if the noise is too small for the grid, each pick counts as one release without
// amplification. No lower bound on the cost is known.
//
// The mass outside the grid counts as an infinite loss, so the grid does not give Rényi
// divergences. [Renyi] returns an upper bound instead: exp((α−1)·D_α) is jointly convex in both
// distributions, so D_α of the pair is at most α/2σ², its value for N(e_i, σ²I) against N(0, σ²I).
type RandomAllocation struct {
	Steps, Picks int
	Sigma        float64
	Adjacency    Adjacency // AddRemove or ZeroOut
}

func (e RandomAllocation) addTo(t *tally, times float64) error {
	var err error
	if e.Picks < 1 || e.Steps < e.Picks {
		err = fmt.Errorf("want 1 ≤ picks ≤ steps, got %d picks of %d steps", e.Picks, e.Steps)
	}
	if e.Adjacency == ReplaceOne {
		err = errors.Join(err, fmt.Errorf("random allocation has no bound of its own under %q: state it under %q or %q, or account it as two epochs", ReplaceOne, AddRemove, ZeroOut))
	}
	if err := errors.Join(err, atLeast("the noise multiplier", e.Sigma, minSigma), t.under(e.Adjacency)); err != nil {
		return fmt.Errorf("random allocation: %w", err)
	}
	steps := e.Steps / e.Picks
	times *= float64(e.Picks)
	if steps == 1 || e.Sigma < leastAllocated {
		mu := 1 / e.Sigma
		t.gaussian(0, up(mu), times)
		return nil
	}
	t.sample(RandomAllocation{steps, 1, e.Sigma, e.Adjacency}, times)
	return nil
}

// leastAllocated is the smallest noise multiplier for which the grid is large enough for Y_i (see
// [RandomAllocation]).
const leastAllocated = 0.6

const (
	allocationGrid = 1 << 19
	allocationTail = 1e-14 // mass of one lognormal variable beyond the upper end of the grid
	allocationSpan = 13    // half-width of the grid for the sum of the lognormal variables, in standard deviations
)

func (e RandomAllocation) laws() (upper, lower directions, err error) {
	a := allocation{k: float64(e.Steps), sigma: e.Sigma}
	a.compose()
	upper = directions{remove: a.law(true), add: a.law(false)}
	upper.remove.most, upper.add.most = up(1/e.Sigma), up(1/e.Sigma)
	return upper, directions{}, nil
}

// allocation is the distribution of the sum S, which [RandomAllocation] defines, on a grid.
type allocation struct {
	k, sigma float64

	width      float64
	sums       []float64 // grid points of S
	mass       []float64 // probability of each grid point
	lostNull   float64   // probability that S is outside the grid under N(0, σ²I)
	lostRecord float64   // probability that S is outside the grid under the mixture (1/k) Σ N(e_i, σ²I)
}

// compose computes the distribution of S (see [RandomAllocation]). It raises the Fourier transform
// of Y_i to the power k.
func (a *allocation) compose() {
	z := normalTail(allocationTail)
	most := math.Exp(z/a.sigma + 0.5/(a.sigma*a.sigma)) // Y_i exceeds this with probability at most allocationTail, whether the sample is from N(0, σ²) or from N(1, σ²)
	spread := math.Sqrt(a.k * math.Expm1(1/(a.sigma*a.sigma)))
	span := min(2*allocationSpan*spread, a.k+allocationSpan*spread) + most
	n := allocationGrid
	a.width = span / float64(n)

	y := make([]float64, n)
	var mean, total float64
	cells := min(n-1, int(math.Ceil(most/a.width)))
	for j := range cells {
		// Split the cell's mass m under N(0, σ²) between its two ends so that the mean of Y_i stays
		// the same. first is the integral of Y_i over the cell, which is also the cell's mass under
		// N(1, σ²).
		m, first := a.cell(float64(j)*a.width, float64(j+1)*a.width)
		up := min(m, max(0, first/a.width-float64(j)*m))
		y[j] += m - up
		y[j+1] += up
		mean += first
		total += m
	}
	a.lostNull = a.k * allocationTail
	a.lostRecord = allocationTail + (a.k-1)*allocationTail

	centre := int(math.Round(a.k * mean / a.width))
	first := max(0, centre-int(math.Min(allocationSpan*spread, a.k)/a.width))
	low, high := float64(first)*a.width, float64(first+n-1)*a.width
	nullOut, recordOut := a.outside(y, low, high)

	transform := fourier.NewFFT(n)
	spectrum := transform.Coefficients(nil, y)
	rounding := transformError * unit * (math.Log2(float64(n)) + 1)
	var noise float64
	for i, f := range spectrum {
		square := real(f)*real(f) + imag(f)*imag(f)
		noise += 2 * min(2, rounding*(a.k*math.Pow(square, (a.k-1)/2)+math.Pow(square, a.k/2)))
		spectrum[i] = power(f, a.k) / complex(float64(n), 0)
	}
	noise /= float64(n)
	transform.Sequence(y, spectrum)
	for i := range n {
		y[i] = max(0, y[i]) + noise
	}
	a.coarsen(func(i int) float64 { return y[(first+i)%n] }, first, n, spread)
	a.lostNull += nullOut
	a.lostRecord += recordOut
}

// coarsen merges cells in the grid of S, fewer of them near the mean of S. It splits the mass in
// each new cell between the two ends so that the mean stays the same.
func (a *allocation) coarsen(mass func(i int) float64, first, n int, spread float64) {
	keep := func(index int, m float64) {
		a.sums = append(a.sums, float64(index)*a.width)
		a.mass = append(a.mass, m)
	}
	keep(first, mass(0))
	for i := 0; i < n-1; {
		away := math.Abs(float64(first+i)*a.width - a.k)
		cells := max(1, int(max(spread/200, away/400)/a.width))
		end := min(n-1, i+cells)
		var low, high float64
		for j := i + 1; j <= end; j++ {
			up := float64(j-i) / float64(end-i)
			low += mass(j) * (1 - up)
			high += mass(j) * up
		}
		a.mass[len(a.mass)-1] += low
		keep(first+end, high)
		i = end
	}
}

// cell returns the probability that Y_i (see [RandomAllocation]) is in [from, to]. Y_i is computed
// from a sample of N(0, σ²) for null, and of N(1, σ²) for record.
func (a *allocation) cell(from, to float64) (null, record float64) {
	x := func(y float64) float64 { return a.sigma*math.Log(y) + 0.5/a.sigma }
	between := func(u, v float64) float64 {
		if u > 0 {
			u, v = -v, -u // for u > 0, Φ(−u) − Φ(−v) is more accurate than Φ(v) − Φ(u)
		}
		return max(0, normalCDF(v)-normalCDF(u))
	}
	u, v := math.Inf(-1), x(to)
	if from > 0 {
		u = x(from)
	}
	return between(u, v), between(u-1/a.sigma, v-1/a.sigma)
}

// outside returns Chernoff bounds on the probability that S is outside (low, high). null is for
// N(0, σ²I), and record for the mixture (1/k) Σ N(e_i, σ²I), whose density is S/k times that of
// N(0, σ²I).
func (a *allocation) outside(y []float64, low, high float64) (null, record float64) {
	last := len(y) - 1
	for last > 0 && y[last] == 0 {
		last--
	}
	bound := func(edge, s float64) (null, record float64) {
		var m, first float64
		for j, mass := range y[:last+1] {
			w := mass * math.Exp(s*float64(j)*a.width)
			m += w
			first += w * float64(j) * a.width
		}
		exponent := math.Exp(a.k*math.Log(m) - s*edge)
		return exponent, exponent * first / m
	}
	best := func(edge, sign float64) (null, record float64) {
		null, record = 1, 1
		distance := math.Abs(edge - a.k)
		for _, exponent := range []float64{10, 25, 50, 100, 200} {
			n, r := bound(edge, sign*exponent/distance)
			null, record = min(null, n), min(record, r)
		}
		return null, record
	}
	null, record = best(high, 1)
	if low > 0 {
		n, r := best(low, -1)
		null, record = null+n, record+r
	}
	return null, record
}

// law returns the distribution of the privacy loss (see [RandomAllocation]). For removal the loss
// is log(S/k), with S drawn under the mixture (1/k) Σ N(e_i, σ²I). For addition it is −log(S/k),
// with S drawn under N(0, σ²I).
func (a *allocation) law(remove bool) law {
	l := law{infinite: a.lostNull}
	if remove {
		l.infinite = a.lostRecord
	}
	for i, mass := range a.mass {
		ratio := a.sums[i] / a.k
		loss := -math.Log(ratio)
		if remove {
			mass, loss = mass*ratio, -loss
		}
		switch {
		case mass == 0:
		case mass < 1e-22 || math.IsInf(loss, 0):
			l.infinite += mass
		default:
			l.atoms = append(l.atoms, atom{loss, mass})
		}
	}
	return l
}
