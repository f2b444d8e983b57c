package population

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"fedpvi/dpmech"
	"fedpvi/internal/special"
)

// A Setting holds the public numbers that a posterior is computed with, in public units.
type Setting struct {
	Mean      []float64     // prior mean
	Precision *mat.SymDense // prior precision
	Records   float64       // nominal number n of records per client
	Clients   int           // number of clients in the roster
	Weights   []float64     // weight of each round, from [Weights]
	Noise     float64       // standard deviation of the noise that each client adds to an element of a sum

	// Pooled makes q approximate the posterior of all clients' records in one place, with a θ that is
	// the same for all clients.
	Pooled bool

	// Skewed is true if the gradients of records may have a skewed distribution. A low clipping bound
	// would then move the mode, so the late bound is usually at least twice the root mean square norm
	// (see [rules.chooseClips]).
	Skewed bool

	// Bases has the base of each coordinate. This is the index of the intercept in the same predictor,
	// which is a lower index, or −1 for an intercept or if there is none. Clients vote for the centres
	// of coordinates that have a base. Bases is nil if no coordinate has one.
	Bases []int

	// Area is the region in which clients vote for the places of their modes. It is nil if they do
	// not.
	Area *Area

	Digest [32]byte // seed for random numbers
}

const (
	growth = 1.3 // factor by which a round's squared weight exceeds that of the round before, from round 3 on
	voting = .12 // share of the first round, in which clients vote, in the sum of squared weights
)

// Weights returns the weight w_t of each round. A client multiplies its vector, whose norm is at
// most 1, by this weight. The largest weight is 1. There must be at least 2 rounds.
func Weights(rounds int) []float64 { return weights(rounds, voting) }

func weights(rounds int, voting float64) []float64 {
	weights := make([]float64, rounds)
	for t := 1; t < rounds; t++ {
		weights[t] = math.Pow(growth, float64(t+1-rounds)/2)
	}
	weights[0] = math.Sqrt(voting/(1-voting)) * floats.Norm(weights, 2)
	return weights
}

// These constants were chosen by simulations of linear, logistic and Poisson models, with seeds
// that the tests do not use.
const (
	draws     = 100 // number of draws of curvature, spread and slope before the last round
	lastDraws = 250 // number of draws in the last round, which leads to the reported q

	typical    = .7    // prior mean of the clients' mean curvature, relative to W₀
	typicalSD  = .7    // prior standard deviation of this curvature, relative to its prior mean
	leastShare = .0003 // smallest eigenvalue of a mean curvature, in the same units

	leastSlopeSD = .15 // smallest prior standard deviation of the slope (see [slopeSD])
	leastSlope   = .3  // smallest slope, relative to its prior mean

	likeClip   = 1.3 // slopes are estimated together if the ratio of their clipping bounds is at most this
	nonlinear  = .2  // relative error of a mean gradient far from the mode, where gradients are not linear in θ
	farthest   = 4.  // largest distance of θ_t from the prior mean in each element, in root mean square prior standard deviations
	deviations = .9  // clipping bound of curvatures, relative to the root mean square of ‖W − Ā‖ over clients
	leastRoot  = .1  // lower bound on the cube root of a draw of [meanSquare]
	leastClip  = .15 // smallest clipping bound of curvatures, relative to the first one
)

// curvatureSDs lists possible standard deviations of W around its prior mean, relative to this
// mean.
//
// spreadSDs lists possible standard deviations of a deviation of J, the covariance of the clients'
// gradients, relative to the J that there would be if clients did not differ.
var curvatureSDs, spreadSDs = []float64{.05, .1, .2, .4}, []float64{.03, .1, .3}

// rules has a [Setting], and numbers that are computed from it.
type rules struct {
	*Setting
	dim     int
	kappa   float64 // κ as in the package documentation
	nominal float64 // W₀, the curvature of a client with the nominal number of synthetic records
	priorSD float64 // root mean square of the prior standard deviations
	signal  float64 // S, the signal-to-noise ratio (see [State.Signal])

	covariance *mat.SymDense // prior covariance
	beginning  *beginning    // nil unless votes for modes have been counted
	shapes     []*Units      // draws of the shape, in the units of the state; the identity until the votes are counted

	// early and late are the clipping bounds of gradients in the first and the second half of the
	// rounds, relative to the root mean square norm. two is true if they differ.
	early, late float64
	two         bool

	noisy bool // whether gradients may be skewed and signal lies between leastSignal and fairSignal, so that all clipping bounds are low
}

func newRules(s *Setting) (*rules, bool) {
	d := len(s.Mean)
	r := &rules{Setting: s, dim: d, kappa: s.Records, nominal: s.Records / 2, shapes: []*Units{public(d)}}
	if s.Pooled {
		r.kappa, r.nominal = math.Inf(1), s.Records
	}
	var root mat.Cholesky
	r.covariance = mat.NewSymDense(d, nil)
	if !root.Factorize(s.Precision) || root.InverseTo(r.covariance) != nil {
		return nil, false
	}
	r.priorSD = math.Sqrt(mat.Trace(r.covariance) / float64(d))
	r.chooseClips()
	return r, true
}

// If gradients may be skewed, late rounds use a high clipping bound, because a low one moves the
// mode. Below fairSignal, however, the larger noise would do more harm than that. Below
// leastSignal, the first rounds do not find the mode, and a high bound makes intervals wide.
const leastSignal, fairSignal = 5, 15

// chooseClips chooses the clipping bounds, depending on the signal-to-noise ratio. Noise is
// proportional to the bound, but a bound below the root mean square norm shortens most gradients.
func (r *rules) chooseClips() {
	clients, d := float64(r.Clients), float64(r.dim)
	// mu is the Gaussian-DP parameter of everything that a client sends after the first round, given
	// that the noise of all clients is added to it.
	mu := floats.Norm(r.Weights[1:], 2) / math.Sqrt(clients) / r.Noise
	r.signal = clients * mu / math.Sqrt(d)
	r.early = within(.6*math.Pow(r.signal/10, .22), .6, 1.4)
	r.late = math.Min(.35*mu*math.Sqrt(clients/d), math.Sqrt(.15*mu*math.Sqrt(shares.outer)*clients/math.Sqrt(d)))
	r.noisy = r.Skewed && r.signal >= leastSignal && r.signal < fairSignal
	if r.Skewed && !r.noisy {
		r.late = within(r.late, 2, 3)
	} else {
		r.late = math.Min(1.5, r.late)
	}
	if r.two = r.late >= 1.4; !r.two {
		r.late = r.early
	}
}

// clip returns the late clipping bound if late is true, and otherwise the early one.
func (r *rules) clip(late bool) float64 {
	if late {
		return r.late
	}
	return r.early
}

// first returns the query for the first round with gradients. It depends on the prior and the
// votes.
func (r *rules) first() *Query {
	rootD := math.Sqrt(float64(r.dim))
	point, clip := r.Mean, typical*r.early*rootD*r.priorSD*r.nominal
	if b := r.beginning; b != nil {
		distance := floats.Norm(b.sd, 2) * r.nominal
		point, clip = b.mean, r.early*math.Hypot(distance, math.Sqrt(r.nominal)*rootD)
	}
	return &Query{
		Point: point, Clip: clip,
		Curvature: scaledUnit(r.dim, typical*r.nominal), CurvatureClip: r.nominal * rootD, Kappa: r.kappa,
	}
}

// normals returns n public standard normal numbers that belong to a round.
func (r *rules) normals(round, n int) *source {
	s := &source{make([]float64, n)}
	dpmech.FillPublicNormal(s.rest, "draws of curvature and spread", r.Digest, round)
	return s
}

// A source returns the numbers of a list in order.
type source struct{ rest []float64 }

func (s *source) next() float64 {
	x := s.rest[0]
	s.rest = s.rest[1:]
	return x
}

// fill writes the next numbers of s to dst.
func (s *source) fill(dst []float64) {
	s.rest = s.rest[copy(dst, s.rest):]
}

// choose returns index i with probability weights[i].
func (s *source) choose(weights []float64) int {
	return pick(weights, special.Phi(s.next()))
}

// pick returns the first index at which the cumulative sum of the weights exceeds u, or the last
// index if there is none.
func pick(weights []float64, u float64) int {
	for i, w := range weights {
		if u -= w; u < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// guessedSlope returns the mean slope of a clip c√d on vectors with d independent standard normal
// elements. Their root mean square norm is √d, so c is the clip in units of it. The mean slope is
//
//	P(x ≤ c√d) + (1 − 1/d)·c√d·E[1/x; x > c√d]
//
// where x has the chi distribution with d degrees of freedom.
func guessedSlope(c float64, d int) float64 {
	half, at := float64(d)/2, c*c*float64(d)/2
	slope := mathext.GammaIncReg(half, at)
	if d > 1 {
		above, _ := math.Lgamma(half - .5)
		below, _ := math.Lgamma(half)
		slope += (1 - 1/float64(d)) * math.Sqrt(at) * math.Exp(above-below) * mathext.GammaIncRegComp(half-.5, at)
	}
	return slope
}

// slopeSD returns the prior standard deviation of the slope for a clipping bound of c root mean
// square norms. It is half the difference between the slopes at 2c and at c/2, because norms are
// known up to a factor of about two.
func slopeSD(c float64, d int) float64 {
	return math.Max(leastSlopeSD, (guessedSlope(2*c, d)-guessedSlope(c/2, d))/2)
}

func within(x, low, high float64) float64 { return math.Max(low, math.Min(x, high)) }

// proportions replaces logs by weights that are proportional to exp(logs) and add up to 1.
func proportions(logs []float64) []float64 {
	most := slices.Max(logs)
	var total float64
	for i, x := range logs {
		logs[i] = math.Exp(x - most)
		total += logs[i]
	}
	for i := range logs {
		logs[i] /= total
	}
	return logs
}
