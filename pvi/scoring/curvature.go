package scoring

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedpvi/internal/special"
)

// A curvature is an estimate of the curvature of the log likelihood of all records. At θ it is
//
//	Λ(θ) = A(θ) S A(θ)ᵀ.
//
// A(θ)A(θ)ᵀ is the curvature of records that have the released margins and independent columns,
// plus a thousandth of the prior's precision. S starts as the identity, and [State.learnSecant] and
// [State.learnCurvature] correct it. In the units in which Λ is the identity, the true curvature is
// I + G. So G is the relative error of the estimate.
type curvature struct {
	seen *mat.SymDense // the matrix S
	// variance is v, a typical variance of the diagonal elements of G. Other elements have variance
	// v/2.
	variance float64
}

// These are values of v, the variance of the relative error G ([curvature]). One applies before a
// curvature is released. The other is the smallest value between two points, because the matrix S
// may differ between them.
const (
	firstVariance = 0.25
	leastVariance = 0.01
)

// between returns the variance of G from one point to another.
func (c *curvature) between() float64 { return max(c.variance, leastVariance) }

// guess returns a function that computes A(θ) of [curvature]. If its argument random is not nil,
// the function draws the margins of a regression ([margins.moments]).
func (s *State) guess(theta []float64) func(random []float64) *mat.TriDense {
	curvature := s.madeUp.guess(s.margins, theta)
	return func(random []float64) *mat.TriDense {
		return cholesky(plus(term{1, curvature(random)}, term{1e-3, diagonal(s.Dim(), s.precision)}))
	}
}

// lambda returns Λ(θ), the estimate of the curvature of all records (see [curvature]).
func (s *State) lambda(theta []float64) *mat.SymDense {
	return congruent(s.guess(theta)(nil), s.curvature.seen)
}

// ridged returns L, the lower Cholesky factor of (Λ + ridge·P)/N, where N is the number of records
// and P the prior precision. L defines the units of releases: a score g is released as L⁻¹g, and a
// curvature F as L⁻¹FL⁻ᵀ.
func (s *State) ridged(lambda *mat.SymDense, ridge float64) *mat.TriDense {
	return cholesky(plus(term{1 / s.Records, lambda}, term{ridge / s.Records, diagonal(s.Dim(), s.precision)}))
}

// curvatureRidge returns the ridge that defines the units of a released curvature (see
// [State.ridged]). A larger ridge means less noise. It is one of 1, 1.1, 1.1², …: the first for
// which the noise in all directions together is at most half of the records' information, or the
// first above 10⁹.
func (s *State) curvatureRidge(lambda *mat.SymDense, share float64) float64 {
	d := s.Dim()
	scaled := congruent(diagonal(d, func(i int) float64 { return s.sd[i] }), lambda)
	var eigen mat.EigenSym
	if !eigen.Factorize(scaled, false) {
		panic(notFinite{})
	}
	noise := 1.5 * math.Sqrt(2*float64(d)) * s.NoiseSD / math.Sqrt(share)
	for ridge := 1.0; ; ridge *= 1.1 {
		var directions float64
		for _, e := range eigen.Values(nil) {
			directions += max(e, 0) / (max(e, 0) + ridge)
		}
		if directions*noise <= s.Records/2 || ridge > 1e9 {
			return ridge
		}
	}
}

// A releasedCurvature is the noisy sum of the records' information matrices at a point.
type releasedCurvature struct {
	at    []float64
	units *mat.TriDense // units of the release (see [State.ridged])
	k     *mat.SymDense // the noisy sum, in these units
	sd    float64       // standard deviation of the noise in diagonal elements of k; for other elements it is sd/√2
}

// spreads lists possible values of v, the variance of G (see [curvature]).
var spreads = func() (v [60]float64) {
	for i := range v {
		v[i] = math.Exp(math.Log(1e-3) + (math.Log(4)-math.Log(1e-3))*float64(i)/59)
	}
	return v
}()

// An update moves the guess of the curvature towards a released curvature. Both are in the units of
// the release. The columns of U are eigenvectors of the guess, and l_i is the eigenvalue of column
// i. In this basis, element (i, j) of the difference between the release and the guess is
// multiplied by the gain
//
//	v l_i l_j / (v l_i l_j + τ²)
//
// and added to the guess. Here v is the variance of the relative error G ([curvature]), and τ is
// the sd of the noise. The gain is 1 without noise and 0 for infinite noise.
//
// The elements are divided into classes ([update.class]), each with its own v. For two effects of
// groups the guess is nearly exact, because a record belongs to only one group. For two
// coefficients it can be far off, because columns can be correlated. With a single v, the many
// effects would determine it.
//
// U does not mix the blocks of coordinates ([blocksOf]).
type update struct {
	*releasedCurvature
	inverse *mat.TriDense      // inverse of the matrix that defines the units of the release
	basis   *mat.Dense         // the eigenvectors U
	values  []float64          // the eigenvalues l
	block   []int              // block of each coordinate; 0 if it is not a group effect
	scale   [classes]float64   // prior median of v for each class, relative to firstVariance
	weights [classes][]float64 // for each class, the posterior probabilities of the values in spreads times scale
}

const classes = 4

// class returns the class of element (i, j) of the curvature. It is 0 for two coefficients, 1 for a
// coefficient and an effect, 2 for two effects in the same block, and 3 for two effects in
// different blocks. In class 3, no record has both effects.
func (u *update) class(i, j int) int {
	a, b := u.block[i], u.block[j]
	switch {
	case a == 0 && b == 0:
		return 0
	case a == 0 || b == 0:
		return 1
	case a == b:
		return 2
	}
	return 3
}

// blocksOf returns the block of each coordinate. Coefficients are in block 0. Two effects are in
// the same block if their element of guess is not 0 (up to rounding), or if a chain of such pairs
// connects them. If there is a single group term, for example, each group has its own block.
func blocksOf(effect []bool, guess *mat.SymDense) []int {
	const rounding = 1e-9
	block, blocks := make([]int, len(effect)), 0
	var join func(a int)
	join = func(a int) {
		block[a] = blocks
		for b, e := range effect {
			if e && block[b] == 0 && math.Abs(guess.At(a, b)) > rounding*math.Sqrt(guess.At(a, a)*guess.At(b, b)) {
				join(b)
			}
		}
	}
	for i, e := range effect {
		if e && block[i] == 0 {
			blocks++
			join(i)
		}
	}
	return block
}

func (s *State) newUpdate(r *releasedCurvature) *update {
	d := s.Dim()
	u := &update{releasedCurvature: r, inverse: solved(r.units), values: make([]float64, d), basis: mat.NewDense(d, d, nil)}
	u.block = blocksOf(s.grouped, s.madeUp.guess(s.margins, r.at)(nil))
	guess := congruent(u.inverse, s.lambda(r.at))
	for n := range slices.Max(u.block) + 1 {
		u.decompose(guess, n)
	}
	for i, l := range u.values {
		u.values[i] = max(l, 1e-6*s.Records)
	}
	u.weigh(u.rotated(plus(term{1, r.k}, term{-1, guess})))
	return u
}

// decompose computes the eigenvalues and eigenvectors of block n of guess, and stores them in u.
func (u *update) decompose(guess *mat.SymDense, n int) {
	var block []int
	for i, b := range u.block {
		if b == n {
			block = append(block, i)
		}
	}
	if len(block) == 0 {
		return
	}
	part := mat.NewSymDense(len(block), nil)
	for i, a := range block {
		for j, b := range block[:i+1] {
			part.SetSym(i, j, guess.At(a, b))
		}
	}
	vectors, values := decomposed(part)
	for j, l := range values {
		u.values[block[j]] = l
		for i, a := range block {
			u.basis.Set(a, block[j], vectors.At(i, j))
		}
	}
}

func (u *update) rotated(a *mat.SymDense) *mat.SymDense { return congruent(u.basis.T(), a) }

// weigh computes the posterior probabilities of spreads for each class of elements (see [update]).
// surprise is Uᵀ(K − guess)U, where K is the released curvature.
//
// The prior of v is lognormal: log v has sd 1.5 and, for two coefficients, mean log firstVariance.
// For n effects the mean is log(firstVariance/n) in class 1 and log(firstVariance/n²) in class 3,
// because there are many elements. In class 1, the squares of n elements add up to the share of a
// column's variance that lies between groups.
func (u *update) weigh(surprise *mat.SymDense) {
	effects := 0.0
	for _, b := range u.block {
		if b > 0 {
			effects++
		}
	}
	u.scale = [classes]float64{1, 1 / max(effects, 1), 1, 1 / max(effects*effects, 1)}
	var all [classes][]float64
	for class := range all {
		all[class] = make([]float64, len(spreads))
	}
	for n, v := range spreads {
		x := (math.Log(v) - math.Log(firstVariance)) / 1.5
		for class := range all {
			all[class][n] = -x * x / 2
		}
		for i, li := range u.values {
			for j, lj := range u.values[:i+1] {
				variance := v*u.scale[u.class(i, j)]*li*lj + u.sd*u.sd
				if i != j {
					variance /= 2
				}
				d := surprise.At(i, j)
				all[u.class(i, j)][n] -= (math.Log(variance) + d*d/variance) / 2
			}
		}
	}
	for _, logs := range all {
		largest := slices.Max(logs)
		var total float64
		for n, l := range logs {
			logs[n] = math.Exp(l - largest)
			total += logs[n]
		}
		for n := range logs {
			logs[n] /= total
		}
	}
	u.weights = all
}

// spread returns the q-quantile of the posterior of v for a class of elements.
func (u *update) spread(class int, q float64) float64 {
	for n, w := range u.weights[class] {
		if q -= w; q < 0 {
			return spreads[n] * u.scale[class]
		}
	}
	return spreads[len(spreads)-1] * u.scale[class]
}

// corrected returns
//
//	b + U(gain ∘ UᵀDU)Uᵀ,
//
// where D is surprise and ∘ multiplies element by element (see [update]). If b is the guess and D
// is the released curvature minus the guess, the result is the posterior mean of the curvature.
func (u *update) corrected(b, surprise *mat.SymDense) *mat.SymDense {
	d := u.rotated(surprise)
	u.attenuate(d, nil)
	return plus(term{1, b}, term{1, congruent(u.basis, d)})
}

// attenuate multiplies each element of d by the gain of [update]. given holds v for each class. If
// it is nil, the gain is averaged over the posterior of v.
func (u *update) attenuate(d *mat.SymDense, given *[classes]float64) {
	for i, li := range u.values {
		for j, lj := range u.values[:i+1] {
			gain := func(v float64) float64 { return v * li * lj / (v*li*lj + u.sd*u.sd) }
			g, class := 0.0, u.class(i, j)
			if given != nil {
				g = gain(given[class])
			} else {
				for n, w := range u.weights[class] {
					g += w * gain(spreads[n]*u.scale[class])
				}
			}
			d.SetSym(i, j, g*d.At(i, j))
		}
	}
}

// left returns the posterior variance of G after the release. It is a mean over elements that
// belong to two coefficients.
func (u *update) left() (mean float64) {
	v, n := u.spread(0, 0.5), 0.0
	for i, li := range u.values {
		for j, lj := range u.values[:i+1] {
			if u.class(i, j) == 0 {
				mean += v * u.sd * u.sd / (v*li*lj + u.sd*u.sd)
				n++
			}
		}
	}
	return mean / max(n, 1)
}

// bend estimates the error that remains in the curvature. It is the largest eigenvalue of this
// error divided by that of the guess, but at most 0.3. For the former it uses the square root of
// the largest sum of posterior variances in a row. Eigenvalues of the curvature below bend may be
// due to noise.
func (u *update) bend() float64 {
	l := slices.Max(u.values)
	var left [classes]float64 // posterior variance of an element of the curvature in each class
	for class := range left {
		v := u.spread(class, 0.5) * l * l
		left[class] = v / (v + u.sd*u.sd) * u.sd * u.sd
	}
	var most float64 // largest sum of the elements' variances in a row
	for i := range u.values {
		var row float64
		for j := range u.values {
			row += left[u.class(i, j)]
		}
		most = max(most, row)
	}
	return min(0.3, math.Sqrt(most)/l)
}

// hiddenRange is the largest ratio between two draws of [positive] for the same eigenvalue.
const hiddenRange = 10

// positive returns A Y Aᵀ after all eigenvalues of Y were made positive. An eigenvalue e below
// bend, whose size noise hides, is replaced by
//
//	max(bend·exp(e/bend − 1), bend/30).
//
// If random is not nil, it holds a standard normal number for each eigenvalue. The eigenvalue is
// then multiplied, before the maximum, by a number between hiddenRange^−h and 1 whose logarithm is
// uniform, with h = 1 − max(e, 0)/bend.
//
// Larger eigenvalues make the diagonal of the result larger. For effects of groups the diagonal is
// nearly known, because the margins have the number of records in each group. If it were too large,
// the spread of the effects would come out too small. Rows and columns of effects are therefore
// scaled so that their diagonal is that of A Y Aᵀ, but at least bend times that of A Aᵀ (Rebonato
// and Jäckel, "The Most General Methodology to Create a Valid Correlation Matrix for Risk
// Management and Option Pricing Purposes" (1999), section 3). block has the block of each
// coordinate ([update]).
func positive(y *mat.SymDense, a *mat.TriDense, bend float64, random []float64, block []int) *mat.SymDense {
	least := bend / 30
	vectors, values := decomposed(y)
	for i, e := range values {
		if e <= bend {
			hidden := 1 - max(e, 0)/bend
			e = bend * math.Exp(e/bend-1)
			if random != nil {
				e *= math.Exp(-hidden * math.Log(hiddenRange) * special.Phi(random[i]))
			}
		}
		values[i] = math.Sqrt(max(e, least))
	}
	vectors.Apply(func(_, j int, v float64) float64 { return v * values[j] }, vectors)
	root, half := full(a), times(a, vectors.T())
	for i, b := range block {
		if b > 0 {
			row, of := half.RawRowView(i), root.RawRowView(i)
			want := max(dot(of, apply(y, of)), bend*dot(of, of))
			floats.Scale(math.Sqrt(want/dot(row, row)), row)
		}
	}
	return congruent(half, nil)
}

// learnCurvature returns the estimate of the curvature, updated with the release r.
func (s *State) learnCurvature(r *releasedCurvature) curvature {
	u := s.newUpdate(r)
	guess := congruent(u.inverse, s.lambda(r.at))
	a := cholesky(guess)
	x := u.corrected(guess, plus(term{1, r.k}, term{-1, guess}))
	x = positive(congruent(solved(a), x), a, u.bend(), nil, u.block)
	root := solved(s.guess(r.at)(nil))
	variance := u.left()
	if m, ok := s.model.(*regression); ok && m.locations > 1 {
		// From one point to another, the probabilities of the classes change by different factors. S is
		// right only near the point of the release.
		variance = max(variance, s.curvature.variance)
	}
	return curvature{seen: congruent(root, congruent(r.units, x)), variance: variance}
}
