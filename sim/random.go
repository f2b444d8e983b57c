package sim

import (
	"math/rand/v2"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// Purposes of seeded streams. Each is independent of the others.
const (
	purposeNoise     = "noise"     // by client and plan
	purposeTest      = "test"      // choice of the held-out records
	purposePooled    = "pooled"    // draws of a fit of all records
	purposePartition = "partition" // choice of a client for each record
	purposeData      = "data"      // synthetic records, by client
	purposeTruth     = "truth"     // synthetic coefficients
	purposeSpeed     = "speed"     // how long clients and their answers take
	purposeDraws     = "draws"     // from the posterior
	purposeOneStep   = "curvature" // noise of the last round, by client
	purposeScale     = "scale"     // noise of the standardisation, by client and pass
	purposeAside     = "aside"     // choice of the records that rivals are compared on, by client
	purposeScore     = "score"     // noise of those scores, by client
)

// variates returns a generator of random numbers that protect nobody.
func variates(seed uint64, purpose string, index ...uint64) *rand.Rand {
	return rand.New(seeded.Stream(seed, purpose, index...))
}

// shuffled returns the numbers 0..n-1 in random order.
func shuffled(n int, r *rand.Rand) []int { return r.Perm(n) }

// noiseFor restarts stream as the stream of a client's noise for a plan.
func noiseFor(stream *dpmech.Stream, seed uint64, client, plan int) {
	seeded.Rekey(stream, seed, purposeNoise, uint64(client), uint64(plan))
}
