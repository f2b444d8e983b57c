package sim

import (
	"math/rand/v2"

	"fedpvi/dpmech/seeded"
)

// These are the purposes of the seeded random streams. Streams with different purposes are
// independent.
const (
	purposeNoise     = "noise"     // noise of releases, by client and plan
	purposeTest      = "test"      // choice of held-out records
	purposePooled    = "pooled"    // fit of the pooled records
	purposePartition = "partition" // assignment of records to clients
	purposeData      = "data"      // synthetic records, by client
	purposeTruth     = "truth"     // true values of the coefficients
	purposeSpeed     = "speed"     // time that clients take to answer
	purposeDraws     = "draws"     // draws from the posterior
	purposeOneStep   = "curvature" // noise of the last round, by client
	purposeScale     = "scale"     // noise of the scale phase, by client and pass
	purposeAside     = "aside"     // choice of the records that clients set aside to compare settings, by client
	purposeCheck     = "check"     // draws of outcomes for predictive checks
	purposeScore     = "score"     // noise of the scores that compare settings, by client
)

// variates returns random numbers that depend only on its arguments. They protect no records,
// because the seed is known.
func variates(seed uint64, purpose string, index ...uint64) *rand.Rand {
	return rand.New(seeded.Stream(seed, purpose, index...))
}
