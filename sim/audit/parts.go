package audit

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/sim"
)

// partsStudy is the study document for a [partsCase]. Its one client divides its records into two
// parts, and everybody can read the noisy sum of the parts' changes in each of two rounds. The
// precision of the prior is far above the noise, so that q stays proper.
const partsStudy = columns + "bounds = [-1e6, 1e6]" + linearModel + `[prior]
sd = 0.01
[inference]
rounds = 2
damping = 0.3
partitions = 2
[privacy]
unit = "record"
noise_multiplier = 1.5
delta = 1e-5
clip = 0.7
[federation]
max_records = 100
`

// A partsCase is a test case with one client that divides its records into parts. It has a kind of
// parts, a kind of factors and an adjacency.
type partsCase struct {
	partitioned, factors string
	adjacency            accountant.Adjacency
}

// partsCases has a case for each way in which a client combines the changes of its parts.
var partsCases = []partsCase{
	{"virtual", "exact", accountant.AddRemove},
	{"averaged", "exact", accountant.AddRemove},
	{"averaged", "tied", accountant.ReplaceOne},
}

func (c partsCase) name() string {
	return fmt.Sprintf("%s parts, %s factors, %s", c.partitioned, c.factors, c.adjacency)
}

// attack returns an attack whose observer guesses whether the client has one more record in one of
// its parts. Without the record, the change of the part's factor is as long as the clip and points
// along the first coordinate. With it, the change points in the opposite direction.
func (c partsCase) attack() (attack, error) {
	protocol, err := newProtocol(partsStudy, 1, set("privacy.adjacency", c.adjacency), set("inference.partitioned", c.partitioned), set("inference.factors", c.factors))
	if err != nil {
		return attack{}, err
	}
	event := accountant.Repeated{Event: protocol.Method().(method.Single).Mechanism().Event(), Times: protocol.Releases()}
	begin := func(seed uint64, world int) (*sim.Federation, error) {
		others := copies(12, 0.01, 1e4) // enough records that no part is empty
		return newPlay(protocol, seed, appendRecord(others, world, c.adjacency, []float64{0.01, -1e6}, []float64{0, 0}))
	}
	return playAttack(c.name(), event, begin, func(_ *sim.Federation, o *pvi.Outcome) []float64 {
		return []float64{float64(o.Sum[0])}
	}), nil
}
