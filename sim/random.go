package sim

import (
	"math/rand/v2"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// These constants name the purposes of seeded streams of random numbers. Streams for different
// purposes are independent.
const (
	purposeNoise     = "noise"     // noise of releases, by client and plan
	purposeTest      = "test"      // choice of held-out records
	purposePooled    = "pooled"    // random numbers of the fit of the pooled records
	purposePartition = "partition" // assignment of records to clients
	purposeData      = "data"      // synthetic records, by client
	purposeTruth     = "truth"     // true values of the coefficients
	purposeSpeed     = "speed"     // duration of clients' answers
	purposeDraws     = "draws"     // draws from the posterior
	purposeOneStep   = "curvature" // noise of the last round, by client
	purposeScale     = "scale"     // noise of the scale phase, by client and pass
	purposeAside     = "aside"     // random choice of the records held out for a comparison of settings, by client
	purposeCheck     = "check"     // draws of outcomes for predictive checks
	purposeScore     = "score"     // noise of the scores that compare settings, by client
)

// variates returns a generator of random numbers for a purpose. The numbers are a function of the
// seed, so they do not protect records.
func variates(seed uint64, purpose string, index ...uint64) *rand.Rand {
	return rand.New(seeded.Stream(seed, purpose, index...))
}

// shuffled returns the numbers 0..n-1 in random order.
func shuffled(n int, r *rand.Rand) []int { return r.Perm(n) }

// noiseFor restarts stream for the noise of a client's answer to a plan.
func noiseFor(stream *dpmech.Stream, seed uint64, client, plan int) {
	seeded.Rekey(stream, seed, purposeNoise, uint64(client), uint64(plan))
}
