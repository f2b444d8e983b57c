package pvi

import "math"

// PublishedMu returns what T opened sums give away about a client under the
// bookkeeping of Sharma (2019), algorithm 3, where every client adds its own
// noisy change to its factor: the exact Gaussian-DP parameter μ, for zeroing out
// the shard of a client whose change saturates the clip in every round, in the
// linear (conjugate) model, where no other client is clipped.
//
// clients is M; noiseMultiplier is σ, so that a client's share has standard
// deviation σC/√M; damping(t) is α_t for rounds t = 1..rounds. The paper claims
// √rounds/σ.
//
// With C = 1, round t opens c + const − L_t + N_t, where c is 1 or 0, N_t is the
// round's noise and L_t what the other clients' factors hold of their own noise,
// L_{t+1} = (1−α_t)L_t + α_t(N_t − n_t), n_t the victim's share. What the victim's
// own factor holds of its noise is hidden from no one, since its change is
// saturated. The sums are Gaussian with a mean shift of 1 in every round, so
// μ² = 1ᵀΣ⁻¹1; the Kalman filter of L given the sums computes it in O(rounds).
func PublishedMu(clients, rounds int, noiseMultiplier float64, damping func(t int) float64) float64 {
	total := noiseMultiplier * noiseMultiplier
	others := total * float64(clients-1) / float64(clients)
	var (
		muSquared float64
		mean      float64 // of −L given the sums so far, with c = 1 minus with c = 0
		variance  float64 // of L given the sums so far
	)
	for t := 1; t <= rounds; t++ {
		alpha := damping(t)
		surprise := 1 + mean // how far apart the two expect this sum to be
		spread := variance + total
		muSquared += surprise * surprise / spread
		covariance := alpha*others - (1-alpha)*variance // of L_{t+1} with this sum
		gain := covariance / spread
		mean = (1-alpha)*mean + gain*surprise
		variance = (1-alpha)*(1-alpha)*variance + alpha*alpha*others - gain*covariance
	}
	return math.Sqrt(muSquared)
}
