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

// A Setting has the public numbers from which a posterior is computed, in public units.
type Setting struct {
	Mean      []float64     // prior mean
	Precision *mat.SymDense // prior precision
	Records   float64       // nominal number n of records of a client
	Clients   int           // number of clients in the roster
	Weights   []float64     // weight of each round, as [Weights] returns it
	Noise     float64       // sd of the noise that one client adds to each element of a sum

	// Pooled makes q approximate the posterior of all clients' records in one place. The model then
	// assumes that θ is the same for all clients.
	Pooled bool

	// Skewed is true if the distribution of records' gradients may be skewed. A low clip then moves
	// the mode, so the late clip is usually at least twice the root mean square norm of the
	// gradients (see [rules.chooseClips]).
	Skewed bool

	// Area is the region in which clients vote for the places of their modes. It is nil if the
	// rounds begin at the prior mean.
	Area *Area

	Digest [32]byte // digest of the protocol, from which random numbers are computed
}

const (
	growth = 1.3 // factor by which the squared weight of a round grows from one round to the next, from round 3 on
	voting = .08 // squared weight of the round of votes, as a share of the sum of the squared weights of all rounds
)

// Weights returns the weight w_t of each round. In round t a client multiplies its vector, whose
// norm is at most 1, by w_t. The largest weight is 1. rounds must be at least 2.
func Weights(rounds int) []float64 { return weights(rounds, voting) }

// weights returns the weights of the rounds, given the share of the first round.
func weights(rounds int, voting float64) []float64 {
	weights := make([]float64, rounds)
	for t := 1; t < rounds; t++ {
		weights[t] = math.Pow(growth, float64(t+1-rounds)/2)
	}
	weights[0] = math.Sqrt(voting/(1-voting)) * floats.Norm(weights, 2)
	return weights
}

// These constants were chosen in simulations of linear, logistic and Poisson models with other
// seeds than those of the tests.
const (
	draws     = 100 // number of draws of curvature, spread and slope in a round that is not the last
	lastDraws = 250 // number of draws in the last round, whose q is reported

	typical    = .7    // prior mean of clients' mean curvature, in units of the nominal curvature W₀
	typicalSD  = .7    // prior sd of clients' mean curvature, in units of the prior mean of this curvature
	leastShare = .0003 // smallest eigenvalue of a mean curvature, in units of the prior mean of the curvature

	leastSlopeSD = .15 // smallest prior sd of the slope of the clip (see [slopeSD])
	leastSlope   = .3  // smallest slope of the clip; the unit is the prior mean of the slope

	likeClip   = 1.3 // largest ratio of the clips of two rounds whose slopes are estimated together
	nonlinear  = .2  // relative error of a mean gradient far from the mode, where the gradient is not linear in θ
	farthest   = 4.  // largest distance of an element of θ_t, the point of round t, from the prior mean, in root mean square prior sds
	deviations = .9  // curvature clip, in units of the root mean square of ‖W − Ā‖ over clients (see the package documentation)
	leastRoot  = .1  // lower bound on the cube root of a draw of [meanSquare]
	leastClip  = .15 // smallest curvature clip, in units of the first curvature clip
)

// curvatureSDs are the possible sds of the deviation of the mean curvature W from its prior mean,
// in units of this mean.
//
// spreadSDs are the possible sds of a deviation of J, the covariance of clients' gradients. J is
// modelled as a multiple of the value that it would have if clients did not differ, plus this
// deviation. The unit of spreadSDs is that value.
var curvatureSDs, spreadSDs = []float64{.05, .1, .2, .4}, []float64{.03, .1, .3}

// rules contains a [Setting] and the numbers that are computed from it.
type rules struct {
	*Setting
	dim     int
	kappa   float64 // constant κ of the package documentation
	nominal float64 // nominal curvature W₀, the curvature of a client that has the nominal number of synthetic records
	priorSD float64 // root mean square prior sd
	signal  float64 // S, the ratio of signal to noise (see [State.Signal])

	covariance *mat.SymDense // prior covariance
	beginning  *beginning    // nil unless votes for modes were counted
	scales     []scale       // draws of the scale, in the units of the state; all elements are 1 before the votes are counted

	// early and late are the clips of gradients in the first and in the second half of the rounds,
	// in units of the root mean square norm of gradients. two is true if these clips differ.
	early, late float64
	two         bool

	noisy bool // whether gradients may be skewed and signal is between leastSignal and fairSignal; all clips are then low
}

func newRules(s *Setting) (*rules, bool) {
	d := len(s.Mean)
	r := &rules{Setting: s, dim: d, kappa: s.Records, nominal: s.Records / 2, scales: []scale{make(scale, d)}}
	floats.AddConst(1, r.scales[0])
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

// If gradients may be skewed, the late rounds have a high clip, because a low clip moves the mode.
// But the noise grows with the clip. If the signal is below fairSignal, the noise of a high clip
// would be worse than the bias of a low one, so the late clip is low. If the signal is below
// leastSignal, the first rounds do not find the mode. The late clip is then high, because a high
// clip makes intervals wide.
const leastSignal, fairSignal = 5, 15

// chooseClips chooses the clips from the ratio of signal to noise. Noise is proportional to the
// clip, but a clip below the root mean square norm shortens most gradients.
func (r *rules) chooseClips() {
	clients, d := float64(r.Clients), float64(r.dim)
	// mu is the Gaussian-DP parameter of all vectors that one client sends after the first round,
	// hidden by the noise of all clients.
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

// clip returns the late or the early clip, in units of the root mean square norm of gradients.
func (r *rules) clip(late bool) float64 {
	if late {
		return r.late
	}
	return r.early
}

// first returns the query of the first gradients, which follows from the prior and the votes.
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

// normals returns n standard normal numbers that follow from the protocol's digest and the number
// of the round.
func (r *rules) normals(round, n int) *source {
	s := &source{make([]float64, n)}
	dpmech.FillPublicNormal(s.rest, "draws of curvature and spread", r.Digest, round)
	return s
}

// A source returns the numbers of a list one after the other.
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

// choose returns index i with probability weights[i]. It uses the next number of the source.
func (s *source) choose(weights []float64) int {
	left := special.Phi(s.next())
	for i, w := range weights {
		if left -= w; left < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// guessedSlope returns the mean slope of a clip c√d on vectors with d independent standard normal
// elements. The root mean square norm of these vectors is √d, so c is the clip in units of that
// norm. The mean slope is
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

// slopeSD returns the prior sd of the slope of a clip of c root mean square norms. The norms are
// known up to a factor of about two, so it is half of the difference between the slopes at 2c and
// c/2.
func slopeSD(c float64, d int) float64 {
	return math.Max(leastSlopeSD, (guessedSlope(2*c, d)-guessedSlope(c/2, d))/2)
}

func within(x, low, high float64) float64 { return math.Max(low, math.Min(x, high)) }

// proportions turns logs into weights that add up to 1 and are proportional to exp(logs).
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
