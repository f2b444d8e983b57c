package population

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"fedpvi/dpmech"
)

// A Setting has the public numbers from which a posterior is computed, in public units.
type Setting struct {
	Mean      []float64     // prior mean
	Precision *mat.SymDense // prior precision
	Records   float64       // nominal number n of records of a client
	Clients   int           // number of clients in the roster
	Weights   []float64     // weights of the rounds, as [Weights] returns them
	Noise     float64       // sd of the noise that one client adds to each element of a sum

	// Pooled makes q approximate the posterior of all clients' records in one place. The model
	// then assumes that clients do not differ.
	Pooled bool

	// Skewed is true if the distribution of records' gradients may be skewed. The late clip is
	// then at least twice the root mean square norm of gradients, because a smaller clip moves
	// the mode of a skewed model.
	Skewed bool

	Digest [32]byte // digest of the protocol, from which random numbers are computed
}

const (
	growth = 1.3 // ratio of a round's cost to the cost of the round before it
	voting = .08 // share of the budget that the votes of the first round cost
)

// Weights returns the weight w_t of each round: a client's vector times w_t has norm at most w_t.
// The largest weight is 1. It needs two rounds or more.
func Weights(rounds int) []float64 {
	weights := make([]float64, rounds)
	for t := 1; t < rounds; t++ {
		weights[t] = math.Pow(growth, float64(t+1-rounds)/2)
	}
	weights[0] = math.Sqrt(voting/(1-voting)) * floats.Norm(weights, 2)
	return weights
}

// These constants were chosen in simulations of federations with linear, logistic and Poisson
// models. The tests use other seeds.
const (
	draws     = 100 // number of draws of curvature, spread and slope in a round
	lastDraws = 250 // number of draws in the last round

	typical    = .7    // prior mean of a client's curvature, in units of the nominal curvature
	typicalSD  = .7    // relative prior sd of a client's curvature
	leastShare = .0003 // smallest eigenvalue of a curvature, in units of its prior mean

	slopeSD    = .15 // prior sd of the slope of the clip
	leastSlope = .3  // smallest slope of the clip, in units of its prior mean

	likeClip   = 1.3 // largest ratio of the clips of two rounds that count as rounds with like clips
	nonlinear  = .2  // relative error of a mean gradient far from the mode, where it is not linear in θ
	farthest   = 4.  // largest distance of θ_t from the prior mean in each coordinate, in prior sds
	deviations = .9  // curvature clip, in units of the root mean square norm of deviations
	leastClip  = .15 // smallest curvature clip, in units of the first curvature clip
)

// curvatureSDs and spreadSDs are the possible relative sds of the deviations of curvature and of
// spread from their means.
var curvatureSDs, spreadSDs = []float64{.05, .1, .2, .4}, []float64{.03, .1, .3}

// rules are the numbers that are computed from a setting, together with the setting.
type rules struct {
	*Setting
	dim     int
	kappa   float64 // κ
	nominal float64 // W₀, the curvature of a client of n made-up records
	priorSD float64 // root mean square prior sd
	signal  float64 // S = Mμ/√d

	covariance *mat.SymDense // prior covariance
	scales     []scale       // draws of the information of a typical client, divided by W₀

	// early and late are the clips in units of the root mean square norm of gradients. If two is
	// true, rounds from the middle on use late. Otherwise the clips are equal.
	early, late float64
	two         bool

	noisy bool // whether a skewed model has low clips, because the signal is between leastSignal and fairSignal
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

// Skewed models have a high clip in the late rounds, because a low clip moves their mode. If the
// signal is below fairSignal, the noise of a high clip is worse than this bias. Below leastSignal the
// first rounds do not find the mode, and the high clip, which makes intervals wide, stays.
const leastSignal, fairSignal = 5, 15

// chooseClips chooses the clips from the ratio of signal to noise. The noise is proportional to
// the clip, but a clip below the root mean square norm clips most clients.
func (r *rules) chooseClips() {
	clients, d := float64(r.Clients), float64(r.dim)
	// Parameter μ of one Gaussian release that is equivalent to a client's vectors after the
	// first round.
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

// clip returns the clip in units of the root mean square norm.
func (r *rules) clip(late bool) float64 {
	if late {
		return r.late
	}
	return r.early
}

// first returns the query of the first round.
func (r *rules) first() *Query {
	rootD := math.Sqrt(float64(r.dim))
	return &Query{
		Point: r.Mean, Clip: typical * r.early * rootD * r.priorSD * r.nominal,
		Curvature: scaledUnit(r.dim, typical*r.nominal), CurvatureClip: r.nominal * rootD, Kappa: r.kappa,
	}
}

// normals returns a source of n public standard normal numbers for a round.
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

// fill writes the next numbers to dst.
func (s *source) fill(dst []float64) {
	s.rest = s.rest[copy(dst, s.rest):]
}

// choose returns a random index. The argument weights has the probability of each index.
func (s *source) choose(weights []float64) int {
	left := math.Erfc(-s.next()/math.Sqrt2) / 2
	for i, w := range weights {
		if left -= w; left < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// guessedSlope returns the mean slope of clipped vectors with independent standard normal
// coordinates, at a clip of c root mean square norms. If x has the chi distribution with d
// degrees of freedom, the mean slope is P(x ≤ c√d) + (1 − 1/d)·c√d·E[1/x; x > c√d].
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

func within(x, low, high float64) float64 { return math.Max(low, math.Min(x, high)) }

// proportions returns weights that add up to 1, given their logarithms up to a constant. It
// overwrites logs.
func proportions(logs []float64) []float64 {
	most := math.Inf(-1)
	for _, x := range logs {
		most = math.Max(most, x)
	}
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
