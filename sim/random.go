package sim

import (
	"math/rand/v2"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/study"
)

// Purposes of seeded streams. Each is independent of the others.
const (
	purposeNoise     = "noise"     // by client and plan
	purposeTest      = "test"      // which records are held out
	purposePooled    = "pooled"    // draws of a fit of all records
	purposePartition = "partition" // which client gets which record
	purposeData      = "data"      // synthetic records, by client
	purposeTruth     = "truth"     // synthetic coefficients
	purposeSpeed     = "speed"     // how long clients and their answers take
	purposeDraws     = "draws"     // from the posterior
	purposeOneStep   = "curvature" // noise of the last round, by client
	purposeScale     = "scale"     // noise of the standardisation, by client and pass
	purposeAside     = "aside"     // which records rivals are compared by, by client
	purposeScore     = "score"     // noise of those scores, by client
)

// variates returns a generator of ordinary, that is to say not private, random
// numbers.
func variates(seed uint64, purpose string, index ...uint64) *rand.Rand {
	return rand.New(seeded.Stream(seed, purpose, index...))
}

// shuffled returns the numbers 0..n-1 in random order.
func shuffled(n int, r *rand.Rand) []int { return r.Perm(n) }

// noiseFor restarts the stream of a client's noise for a plan.
func noiseFor(stream *dpmech.Stream, seed uint64, client, plan int) {
	seeded.Rekey(stream, seed, purposeNoise, uint64(client), uint64(plan))
}

// Noise returns the stream of a client's noise, by its place in the roster, for a
// question of a study, numbered over all phases as [fedpvi/pvi/session] does: what a
// federation of so many clients with that seed draws. It protects nobody.
func Noise(st *study.Study, clients int, seed uint64, client, ask int) *dpmech.Stream {
	passes, plans := 0, st.Inference.Rounds
	if st.Standardisation != nil {
		passes = st.Standardisation.Rounds
	}
	if st.Inference.Schedule != study.Synchronous {
		plans *= clients
	}
	switch number := ask - passes; {
	case number <= 0:
		return seeded.Stream(seed, purposeScale, uint64(client), uint64(ask))
	case number <= plans:
		return seeded.Stream(seed, purposeNoise, uint64(client), uint64(number))
	default:
		return seeded.Stream(seed, purposeOneStep, uint64(client))
	}
}
