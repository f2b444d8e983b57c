package sim

import (
	"math/rand/v2"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// Purposes of seeded streams. The streams for different purposes are independent.
const (
	purposeNoise     = "noise"     // noise, by client and plan
	purposeTest      = "test"      // choice of held-out records
	purposePooled    = "pooled"    // draws for a fit of all records
	purposePartition = "partition" // choice of a client for each record
	purposeData      = "data"      // synthetic records, by client
	purposeTruth     = "truth"     // true values of the coefficients
	purposeSpeed     = "speed"     // duration of clients' answers
	purposeDraws     = "draws"     // draws from the posterior
	purposeOneStep   = "curvature" // noise of the last round, by client
	purposeScale     = "scale"     // noise of the standardisation, by client and pass
	purposeAside     = "aside"     // choice of the records for comparing rivals, by client
	purposeScore     = "score"     // noise of the scores of rivals, by client
)

// variates returns a seeded generator of random numbers. They can be predicted, and protect
// nobody.
func variates(seed uint64, purpose string, index ...uint64) *rand.Rand {
	return rand.New(seeded.Stream(seed, purpose, index...))
}

// shuffled returns the numbers 0..n-1 in random order.
func shuffled(n int, r *rand.Rand) []int { return r.Perm(n) }

// noiseFor resets stream to the start of a client's noise for a plan.
func noiseFor(stream *dpmech.Stream, seed uint64, client, plan int) {
	seeded.Rekey(stream, seed, purposeNoise, uint64(client), uint64(plan))
}
