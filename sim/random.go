package sim

import (
	"math/rand/v2"

	"fedpvi/dpmech/seeded"
)

// The purposes of seeded streams of random numbers. Streams for different purposes are independent.
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
	purposeAside     = "aside"     // choice of the records held out for a comparison of settings, by client
	purposeCheck     = "check"     // draws of outcomes for predictive checks
	purposeScore     = "score"     // noise of the scores that compare settings, by client
)

// variates returns random numbers that follow from the seed, so they protect no records.
func variates(seed uint64, purpose string, index ...uint64) *rand.Rand {
	return rand.New(seeded.Stream(seed, purpose, index...))
}
