package population

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"fedpvi/internal/special"
)

// A State is the result of the rounds so far. It has the posterior of θ, the estimates that the
// posterior is based on, and the next query. It is immutable.
type State struct {
	rules  *rules
	rounds []*round
	query  *Query
	late   bool // whether the query uses the late clipping bound ([rules.late])

	// units converts from public units to the units of the state, in which all other fields are. The
	// two are the same until the votes are counted.
	units *Units

	posterior *Mixture // q
	// between has draws of the covariance of θ between clients. Their eigenvalues may be negative,
	// because a noisy estimate is subtracted.
	between []*mat.SymDense
	slope   Estimate
}

// An Estimate is the mean and the standard deviation of an estimated number.
type Estimate struct{ Mean, SD float64 }

// New returns the state before the first round, in which q is the prior. It returns false if the
// prior is improper.
func New(s *Setting) (*State, bool) {
	r, ok := newRules(s)
	if !ok {
		return nil, false
	}
	return &State{
		rules: r, units: public(r.dim), query: r.first(), slope: Estimate{Mean: 1},
		posterior: &Mixture{[][]float64{s.Mean}, []*mat.SymDense{r.covariance}},
	}, true
}

// Query returns the query of the next round, whose number is at least 1.
func (s *State) Query(number int) *Query {
	q := *s.query
	if number == 1 {
		q = Query{Point: s.rules.Mean, Votes: s.rules.Records, Bases: s.rules.Bases, Area: s.rules.Area}
	}
	q.Point, q.Units = s.units.From(q.Point), s.units
	return &q
}

// Posterior returns q in public units.
func (s *State) Posterior() *Mixture { return s.posterior.from(s.units) }

// Signal returns S = Mμ/√d for M clients and d coordinates, which is a signal-to-noise ratio. μ is
// the Gaussian-DP parameter of everything that a client sends after the first round, given that the
// noise of M clients is added to it. Above 30, intervals are nearly as narrow as the records allow.
// Between 5 and 15 they are wide, and below 5 they are hardly narrower than under the prior.
func (s *State) Signal() float64 { return s.rules.signal }

// Slope returns the estimated mean slope of clipping. It uses rounds whose clipping bounds are
// close to that of the last round. The slope is about the share of clients whose gradients are not
// clipped.
func (s *State) Slope() Estimate { return s.slope }

// Spread returns the p-quantile of the posterior of the standard deviation of θ between clients.
// This is a root mean square over coordinates, in units in which the information of a typical
// record is about 1. Spread returns 0 until the second round has ended.
func (s *State) Spread(p float64) float64 {
	return s.quantile(p, func(b *mat.SymDense) float64 { return mat.Trace(b) / float64(s.rules.dim) })
}

// SpreadAlong returns the p-quantile of the posterior of the standard deviation of xᵀθ between
// clients, where x is in public units. It returns 0 until the second round has ended.
func (s *State) SpreadAlong(x []float64, p float64) float64 {
	v := mat.NewVecDense(len(x), s.units.Gradient(x))
	return s.quantile(p, func(b *mat.SymDense) float64 { return mat.Inner(v, b, v) })
}

// quantile returns the p-quantile of the standard deviations that variance computes from s.between.
// Negative variances count as 0.
func (s *State) quantile(p float64, variance func(*mat.SymDense) float64) float64 {
	if len(s.between) == 0 {
		return 0
	}
	var sds []float64
	for _, b := range s.between {
		sds = append(sds, math.Sqrt(math.Max(variance(b), 0)))
	}
	slices.Sort(sds)
	return stat.Quantile(p, stat.Empirical, sds, nil)
}

// Next returns the state after the round with the given number. answers is the number of clients
// that answered, and sum is the opened sum. If the result is not finite, Next returns false. Rounds
// must come in order, but some may be missing.
func (s *State) Next(number, answers int, sum []float64) (*State, bool) {
	if number == 1 {
		return s.count(answers, sum)
	}
	r := s.rules
	now := s.open(number, answers, sum)
	next := &State{rules: r, units: s.units, rounds: append(slices.Clip(s.rounds), now)}
	n := draws
	if number == len(r.Weights) {
		n = lastDraws
	}
	from := r.normals(number, n*(4+2*packedSize(r.dim)+1))

	like := next.like()
	var slopes []float64
	next.slope, slopes = r.slopes(like, from, n)
	obs := r.effective(next.rounds, like, next.slope.Mean)
	curvatures, ok := r.drawCurvature(next.rounds, obs, from, n)
	if !ok {
		return nil, false
	}
	j, ok := r.spreads(like, curvatures, slopes, from)
	if !ok {
		return nil, false
	}
	if now.late {
		obs = slices.DeleteFunc(obs, func(o effective) bool { return !o.like })
	}
	if next.posterior, ok = r.mix(obs, curvatures, j, slopes, next.slope.Mean, now.query.Clip, fewest(like)); !ok {
		return nil, false
	}
	if next.between, ok = between(curvatures, j.excess); !ok {
		return nil, false
	}
	next.ask(number, curvatures, j)
	return next, special.Finite(next.query.Point)
}

// count returns the state after the votes, from which its units are computed.
func (s *State) count(answers int, sum []float64) (*State, bool) {
	setting := *s.rules.Setting
	units, shapes := s.rules.drawShapes(answers, sum)
	if units == nil {
		return nil, false
	}
	setting.Mean, setting.Precision = units.To(setting.Mean), units.Information(setting.Precision)
	next, ok := New(&setting)
	if !ok {
		return nil, false
	}
	next.units, next.rules.shapes = units, shapes
	if s.rules.Area != nil {
		b := s.rules.begin(answers, sum)
		b.mean, b.sd = units.To(b.mean), units.sds(b.sd)
		next.rules.beginning = b
		next.query = next.rules.first()
	}
	return next, ok
}

// A round holds estimates of means over clients, and the standard deviations of the noise in them.
type round struct {
	query    *Query
	late     bool
	answers  int
	gradient []float64
	// outer is an estimate of the covariance of the clients' gradients. It is the mean outer product
	// minus the outer product of the mean, corrected for noise.
	curvature, outer *mat.SymDense
	size             float64 // mean of ‖D‖² over clients (see the package documentation)
	slope            Estimate

	gradientSD, curvatureSD, outerSD, sizeSD float64
}

// open computes the estimates of a round from the opened sum.
func (s *State) open(number, answers int, sum []float64) *round {
	r, q := s.rules, s.query
	clients := r.Weights[number-1] * float64(answers)
	sd := r.Noise * math.Sqrt(float64(answers)) / clients
	of := func(share, scale float64) float64 { return scale / math.Sqrt(share) }
	b := split(sum, r.dim)
	gradient, curvature := of(shares.gradient, q.Clip), of(shares.curvature, q.CurvatureClip)
	outer, size := of(shares.outer, q.Clip*q.Clip), of(shares.size, q.CurvatureClip*q.CurvatureClip)
	slope := of(shares.slope, 1)
	o := &round{
		query: q, late: s.late, answers: answers, gradient: make([]float64, r.dim),
		size: b.size[0] * size / clients, slope: Estimate{b.slope[0] * slope / clients, slope * sd},
		gradientSD: gradient * sd, curvatureSD: curvature * sd, outerSD: outer * sd, sizeSD: size * sd,
	}
	floats.AddScaled(o.gradient, gradient/clients, b.gradient)
	o.curvature = plus(q.Curvature, 1, unpack(r.dim, b.curvature, curvature/clients))
	o.outer = plus(unpack(r.dim, b.outer, outer/clients), o.gradientSD*o.gradientSD, scaledUnit(r.dim, 1))
	o.outer.SymRankOne(o.outer, -1, mat.NewVecDense(r.dim, o.gradient))
	return o
}

// like returns the rounds whose clipping bounds are at most likeClip times that of the last round,
// including the last round. If r.two is true, it leaves out rounds with bounds below that of the
// last round divided by likeClip.
func (s *State) like() []*round {
	last := s.rounds[len(s.rounds)-1].query.Clip
	return slices.DeleteFunc(slices.Clone(s.rounds), func(o *round) bool {
		return o.query.Clip > likeClip*last || s.rules.two && o.query.Clip < last/likeClip
	})
}

func fewest(rounds []*round) int {
	n := rounds[0].answers
	for _, o := range rounds {
		n = min(n, o.answers)
	}
	return n
}

// slopes returns an estimate of the slope in rounds with similar clipping bounds, and n draws from
// its posterior.
func (r *rules) slopes(similar []*round, from *source, n int) (Estimate, []float64) {
	clip := r.clip(similar[len(similar)-1].late)
	guess, sd := guessedSlope(clip, r.dim), slopeSD(clip, r.dim)
	precision := 1 / (sd * sd)
	sum := guess * precision
	for _, o := range similar {
		weight := 1 / (o.slope.SD * o.slope.SD)
		precision += weight
		sum += weight * o.slope.Mean
	}
	e := Estimate{sum / precision, 1 / math.Sqrt(precision)}
	all := make([]float64, n)
	for k := range all {
		all[k] = within(e.Mean+e.SD*from.next(), leastSlope*guess, 1)
	}
	e.Mean = within(e.Mean, leastSlope*guess, 1)
	return e, all
}

// An effective is the clients' mean gradient at the point of a round, with the standard deviation
// of its error. If like is true, the round's clipping bound is close to that of the last round, and
// the gradient has been divided by the slope.
type effective struct {
	gradient, point []float64
	sd              float64
	like            bool
}

// effective returns the mean gradients of all rounds. Those of rounds in similar are divided by
// slope. Other rounds have different slopes, and their gradients stay as they are. The errors
// include [rules.nonlinear].
func (r *rules) effective(rounds, similar []*round, slope float64) []effective {
	all := make([]effective, len(rounds))
	for t, o := range rounds {
		e := effective{slices.Clone(o.gradient), o.query.Point, o.gradientSD, slices.Contains(similar, o)}
		if e.like {
			floats.Scale(1/slope, e.gradient)
			e.sd /= slope
		}
		size := floats.Norm(e.gradient, 2)
		e.sd = math.Hypot(e.sd, r.nonlinear(size)*size/math.Sqrt(float64(r.dim)))
		all[t] = e
	}
	return all
}

// nonlinear returns the relative error that a mean gradient has because gradients are not linear in
// θ. It is a constant unless clients vote for the places of their modes. If they do, the points may
// be far from the mode, and a distance Δ may cause an error proportional to Δ². The relative error
// is then size divided by the nominal curvature, but at most 1.
func (r *rules) nonlinear(size float64) float64 {
	if r.Area == nil {
		return nonlinear
	}
	return math.Min(size/r.nominal, 1)
}

// average returns the mean gradient ḡ with its standard deviation, and the mean point θ̄. Rounds
// are weighted by 1/sd².
func average(obs []effective) (gradient, point []float64, sd float64) {
	gradient, point = make([]float64, len(obs[0].point)), make([]float64, len(obs[0].point))
	var precision float64
	for _, o := range obs {
		weight := 1 / (o.sd * o.sd)
		precision += weight
		floats.AddScaled(gradient, weight, o.gradient)
		floats.AddScaled(point, weight, o.point)
	}
	floats.Scale(1/precision, gradient)
	floats.Scale(1/precision, point)
	return gradient, point, 1 / math.Sqrt(precision)
}

// A spread is the posterior of the covariance J of the clients' gradients.
type spread struct {
	released   *mat.SymDense // mean of the noisy estimates of J over rounds with about the same clipping bound as the last round
	releasedSD float64
	alike      *mat.SymDense // the J that there would be if the distribution of records were the same at all clients

	// excess has draws of J minus alike. Noise can make their eigenvalues negative, although
	// differences between clients cannot. draws has draws of J, which are alike plus excess with its
	// negative eigenvalues removed.
	excess, draws []*mat.SymDense
}

// spreads returns the posterior of the covariance J of clients' gradients. If all clients have the
// same distribution of records, then
//
//	J = W − W²/κ
//
// where W is the mean curvature of clients and κ is r.kappa. Eigenvalues are raised to 5 % of the
// mean eigenvalue of W. It returns false if eigenvalues cannot be computed.
func (r *rules) spreads(similar []*round, curvatures []*mat.SymDense, slopes []float64, from *source) (j spread, ok bool) {
	mean := meanOf(curvatures)
	j.alike = mean
	if !r.Pooled {
		square := congruent(mean, scaledUnit(r.dim, 1))
		if j.alike, ok = raised(plus(mean, -1/r.kappa, square), .05*mat.Trace(mean)/float64(r.dim)); !ok {
			return j, false
		}
	}
	var precision float64
	j.released = mat.NewSymDense(r.dim, nil)
	for _, o := range similar {
		weight := 1 / (o.outerSD * o.outerSD)
		precision += weight
		j.released = plus(j.released, weight, o.outer)
	}
	j.released.ScaleSym(1/precision, j.released)
	j.releasedSD = 1 / math.Sqrt(precision)
	answers := float64(fewest(similar))
	freedom := math.Max(answers-1, 1)
	// The estimate of J comes from only U clients. The part J minus j.alike, which differences between
	// clients cause, has the relative error of a sample variance with U − 1 degrees of freedom.
	// meanSquare draws this error.
	for k, x := range drawSpread(j.released, j.releasedSD, j.alike, from, len(curvatures)) {
		x.ScaleSym(answers/freedom/(slopes[k]*slopes[k]), x)
		excess := plus(x, -1, j.alike)
		excess.ScaleSym(1/meanSquare(freedom, from.next()), excess)
		positive, ok := raised(excess, 0)
		if !ok {
			return j, false
		}
		j.excess = append(j.excess, excess)
		j.draws = append(j.draws, plus(j.alike, 1, positive))
	}
	return j, true
}

// meanSquare turns a standard normal number z into a draw of the mean square of n standard normal
// numbers. It uses the approximation of Wilson and Hilferty ("The distribution of chi-square",
// 1931).
func meanSquare(n, z float64) float64 {
	variance := 2 / (9 * n)
	root := math.Max(1-variance+z*math.Sqrt(variance), leastRoot)
	return root * root * root
}

// mix returns q. Its components are the posteriors of θ given each draw of the curvature W, the
// covariance J and the slope of the clip. The likelihood of a component is
//
//	stretch·ḡ = W(θ − θ̄) + N(0, S).
//
// ḡ and θ̄ are the averaged gradient and point. ḡ was divided by the mean slope, and stretch is the
// mean slope divided by the component's. S is J/U plus noise, the covariance of the mean over the U
// clients that answered. If the target is the pooled posterior of all M clients in the roster, S is
//
//	W/M + (1/U − 1/M)J
//
// plus noise. The second term is for the clients that did not answer.
func (r *rules) mix(obs []effective, curvatures []*mat.SymDense, j spread, slopes []float64, slope, clip float64, answers int) (*Mixture, bool) {
	gradient, point, sd := average(obs)
	fromPrior := mat.NewVecDense(r.dim, nil)
	fromPrior.SubVec(mat.NewVecDense(r.dim, r.Mean), mat.NewVecDense(r.dim, point))
	fromPrior.MulVec(r.Precision, fromPrior)
	m := new(Mixture)
	for k, w := range curvatures {
		stretch := slope / slopes[k]
		variance := sd*sd*stretch*stretch + r.clipped(clip, slopes[k])
		s := plus(scaledUnit(r.dim, variance), 1/float64(answers), j.draws[k])
		if r.Pooled {
			all := 1 / float64(r.Clients)
			s = plus(plus(scaledUnit(r.dim, variance), all, w), 1/float64(answers)-all, j.draws[k])
		}
		mean, covariance, ok := r.solve(w, s, gradient, stretch, fromPrior)
		if !ok {
			return nil, false
		}
		floats.Add(mean, point)
		m.means, m.covariances = append(m.means, mean), append(m.covariances, covariance)
	}
	return m, true
}

// clipped returns the variance, in each coordinate, of the clip's bias in the mean gradient if
// gradients may be skewed. The slope gives the number of clipped clients. Each is assumed to lose a
// gradient of norm clip, all in the same unknown direction.
//
// Low clips (r.noisy) shorten most gradients, in all directions. Only half of the bias is then
// counted, which is enough for a skewness γ of about 2. To first order in γ, a clip of c root mean
// square norms causes in each direction a bias of
//
//	γφ(c)/3
//
// times the clip, where φ is the standard normal density.
func (r *rules) clipped(clip, slope float64) float64 {
	if !r.Skewed {
		return 0
	}
	lost := (1 - slope) * clip / slope
	if r.noisy {
		lost /= 2
	}
	return lost * lost / float64(r.dim)
}

// solve returns the mean of θ − θ̄ and its covariance B⁻¹ in a component of the mixture:
//
//	B = WS⁻¹W + P
//	mean = B⁻¹(WS⁻¹·stretch·ḡ + P(θ₀ − θ̄))
//
// P and θ₀ are the prior's precision and mean, and the other symbols are those of [rules.mix].
// fromPrior is P(θ₀ − θ̄). It returns false if S or B is not positive definite.
func (r *rules) solve(w, s *mat.SymDense, gradient []float64, stretch float64, fromPrior *mat.VecDense) ([]float64, *mat.SymDense, bool) {
	var root mat.Cholesky
	var weighted, square mat.Dense // S⁻¹W and WS⁻¹W
	if !root.Factorize(s) || root.SolveTo(&weighted, w) != nil {
		return nil, nil, false
	}
	square.Mul(w, &weighted)
	right, mean := mat.NewVecDense(r.dim, nil), mat.NewVecDense(r.dim, nil)
	right.MulVec(weighted.T(), mat.NewVecDense(r.dim, gradient))
	right.AddScaledVec(fromPrior, stretch, right)
	covariance := mat.NewSymDense(r.dim, nil)
	if !root.Factorize(plus(symmetric(&square), 1, r.Precision)) || root.SolveVecTo(mean, right) != nil || root.InverseTo(covariance) != nil {
		return nil, nil, false
	}
	return mean.RawVector().Data, covariance, true
}

// between returns draws of the covariance of θ between clients. They are W⁻¹XW⁻¹, with W from
// curvatures and X from excess (see [spread]). between returns false if any W is not positive
// definite.
func between(curvatures, excess []*mat.SymDense) ([]*mat.SymDense, bool) {
	all := make([]*mat.SymDense, len(excess))
	for k, x := range excess {
		var root mat.Cholesky
		inverse := mat.NewSymDense(x.SymmetricDim(), nil)
		if !root.Factorize(curvatures[k]) || root.InverseTo(inverse) != nil {
			return nil, false
		}
		all[k] = congruent(inverse, x)
	}
	return all, true
}

// ask sets s.query to the query for round number + 1. The point of the query is the mean of q. It
// may not be too far from the mean of the [beginning] (see nearest) or from the prior mean (see
// farthest). The clipping bounds depend on the estimated sizes of gradients and curvatures.
func (s *State) ask(number int, curvatures []*mat.SymDense, j spread) {
	r, last := s.rules, s.rounds[len(s.rounds)-1]
	s.late = r.two && number >= len(r.Weights)/2
	point := s.posterior.Mean()
	for i, x := range point {
		if b := r.beginning; b != nil {
			point[i] = within(x, b.mean[i]-nearest*b.sd[i], b.mean[i]+nearest*b.sd[i])
			continue
		}
		point[i] = within(x, r.Mean[i]-farthest*r.priorSD, r.Mean[i]+farthest*r.priorSD)
	}
	mean := meanOf(curvatures)

	size := math.Max((mat.Trace(j.released)+math.Sqrt(float64(r.dim))*j.releasedSD/2)/(s.slope.Mean*s.slope.Mean), mat.Trace(j.alike))
	clip := r.clip(s.late) * math.Sqrt(size+s.posterior.distance(point, curvatures))
	if s.late == last.late && r.beginning == nil {
		clip = math.Min(clip, last.query.Clip)
	}

	var uncertainty float64
	for _, w := range curvatures {
		gap := norm(plus(w, -1, mean))
		uncertainty += gap * gap / float64(len(curvatures))
	}
	first := r.nominal * math.Sqrt(float64(r.dim))
	curvatureClip := math.Max(deviations*math.Sqrt(math.Max(last.size, 0)+last.sizeSD/2+uncertainty), leastClip*first)
	s.query = &Query{
		Point: point, Clip: clip, Curvature: mean,
		CurvatureClip: math.Min(curvatureClip, last.query.CurvatureClip), Kappa: r.kappa,
	}
}

// distance returns the median of the expected ‖W(θ − point)‖² over the components.
func (m *Mixture) distance(point []float64, curvatures []*mat.SymDense) float64 {
	all := make([]float64, len(m.means))
	for k, x := range m.means {
		gap := slices.Clone(x)
		floats.Sub(gap, point)
		size := floats.Norm(times(curvatures[k], gap), 2)
		all[k] = size*size + mat.Trace(congruent(curvatures[k], m.covariances[k]))
	}
	slices.Sort(all)
	return stat.Quantile(.5, stat.LinInterp, all, nil)
}

func meanOf(all []*mat.SymDense) *mat.SymDense {
	mean := mat.NewSymDense(all[0].SymmetricDim(), nil)
	for _, x := range all {
		mean = plus(mean, 1/float64(len(all)), x)
	}
	return mean
}
