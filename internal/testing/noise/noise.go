// Package noise gives clients in tests the same noise as in a simulated federation. Tests can then
// compare the results of a study with those of its simulation, bit for bit.
package noise

import (
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/study"
)

// Of returns the stream from which a client draws its noise for a plan, the same as in a simulation
// with the same seed and number of clients. client is an index in the roster. The noise does not
// protect records, because it follows from the seed.
func Of(st *study.Study, clients int, seed uint64, client, plan int) *dpmech.Stream {
	passes, plans := 0, st.Inference.Rounds
	if st.Standardisation != nil {
		passes = st.Standardisation.Rounds
	}
	if st.Inference.Schedule != study.Synchronous {
		plans *= clients
	}
	switch number := plan - passes; {
	case number <= 0:
		return seeded.Stream(seed, "scale", uint64(client), uint64(plan))
	case number <= plans:
		return seeded.Stream(seed, "noise", uint64(client), uint64(number))
	default:
		return seeded.Stream(seed, "curvature", uint64(client))
	}
}
