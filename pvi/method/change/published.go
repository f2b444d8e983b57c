package change

import (
	"math"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
)

// A published method stores changes together with their noise. It claims that the only cost is that
// of the opened sums. [PublishedMu] computes the true cost.
type published struct{ *Method }

func (p published) Published() string { return method.PublishedFactors }

func (p published) Claim(shares int, adjacency accountant.Adjacency, releases int) (accountant.Event, error) {
	return p.Event(shares, adjacency, releases)
}

// Proved implements [method.Unsound]. The proof covers only the client's own noise, because later
// sums reveal the noise of earlier rounds in the factor.
func (p published) Proved(int) int { return 1 }

// Truth implements [method.Unsound]. It assumes that only MinClients clients answer, because the
// sum then has the least noise.
func (p published) Truth(e method.Estimates) method.Cost {
	truth, m := e.Claimed, p.Mechanism()
	share := m.Lattice().Float(m.ShareSigma())
	sigma := share * math.Sqrt(float64(p.MinClients)) / m.Clip()
	truth.Mu = truth.Adjacency.Factor() * PublishedMu(p.MinClients, e.Releases, sigma, p.Study.Inference.Damping.At)
	if e.Scale > 0 {
		truth.Mu = math.Hypot(truth.Mu, e.Scale)
	}
	truth.Epsilon = accountant.GaussianEpsilon(truth.Mu, truth.Delta)
	truth.Method = "exact, for a client that saturates the clip in the linear model"
	return truth
}

func (p published) NewClient(s *shard.Shard) (method.Client, error) { return method.NewRefined(p, s) }

func (p published) NewSolverClient(s solver.Solver) method.Client {
	return publishedClient{p.newClient(s)}
}

type publishedClient struct{ *client }

// Release implements [method.Client]. The client remembers the change with its noise.
func (c publishedClient) Release(dst []int64, t *method.Task, src *dpmech.Stream) (drawn bool, err error) {
	if err := c.release(dst, t, src); err != nil {
		return true, err
	}
	copy(c.Proposed, dst)
	return true, nil
}

// PublishedMu returns the privacy loss of a client in a study in which every client adds its own
// noisy change to its factor (Sharma 2019, algorithm 3). It is the exact Gaussian-DP parameter μ
// for removing all records of a client whose change has the norm of the clip in every round. It
// holds for a linear model in which no other client's change is clipped.
//
// In the formulas below M is the number of clients, T is the number of rounds, and σ is
// noiseMultiplier. A client's share of the noise has standard deviation σC/√M, where C is the clip.
// damping returns α_t for rounds t = 1..T. The paper claims that μ is √T/σ.
//
// Let C = 1. Round t opens
//
//	c + const − L_t + N_t,
//
// where c is 1 with the records and 0 without them, N_t is the round's noise, and L_t is the noise
// in the other clients' factors. If n_t is the client's share of N_t, then
//
//	L_{t+1} = (1−α_t)L_t + α_t(N_t − n_t).
//
// The noise in the client's own factor does not hide the record, because the client's change has
// the norm of the clip whatever this noise is. The sums are Gaussian with a covariance Σ, and c
// shifts the mean of each by 1. Therefore
//
//	μ² = 1ᵀΣ⁻¹1.
//
// A Kalman filter that predicts L from the sums computes μ in O(T).
func PublishedMu(clients, rounds int, noiseMultiplier float64, damping func(t int) float64) float64 {
	total := noiseMultiplier * noiseMultiplier
	others := total * float64(clients-1) / float64(clients)
	var (
		muSquared float64
		mean      float64 // E[−L | earlier sums] with the records minus the same without them
		variance  float64 // variance of L, given the earlier sums
	)
	for t := 1; t <= rounds; t++ {
		alpha := damping(t)
		surprise := 1 + mean // expected sum of this round with the records minus the same without them
		spread := variance + total
		muSquared += surprise * surprise / spread
		// This is the covariance of L_{t+1} and the round's sum, given the earlier sums.
		covariance := alpha*others - (1-alpha)*variance
		gain := covariance / spread
		mean = (1-alpha)*mean + gain*surprise
		variance = (1-alpha)*(1-alpha)*variance + alpha*alpha*others - gain*covariance
	}
	return math.Sqrt(muSquared)
}
