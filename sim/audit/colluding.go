package audit

import (
	"context"
	"sync"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/sim"
)

// A colluding is a test case with secure sums. The observer controls the coordinator and the last
// of three clients, and subtracts that client's vector from the opened sum. The claim is the cost
// that a client's ledger charges for this observer. To save signatures, many runs share one secure
// sum.
type colluding struct {
	*federation

	mu     sync.Mutex
	adder  *sim.Adder
	last   batch
	opened [][]float64 // observations of the runs of the last batch
}

// A batch is a group of batchRuns runs in one world that share one secure sum. number distinguishes
// the batches with the same seed and world.
type batch struct {
	seed          uint64
	world, number int
}

const (
	colludingRounds = 4
	colludingRuns   = 4 // These runs are fast, so there are this many for each run of other attacks.
	batchRuns       = 60
)

func newColluding() (*colluding, error) {
	p, err := newProtocol(clientStudy, insiders, set("inference.rounds", colludingRounds), set("privacy.noise_multiplier", 1.0),
		set("federation.aggregation", "secure"), set("federation.min_clients", insiders), set("federation.colluders", 1),
		set("inference.factors", "exact"), set("privacy.coordinates", "raw"))
	name := "secure sums, the coordinator and one of three clients"
	return &colluding{federation: &federation{name, accountant.ZeroOut, p, true}}, err
}

// profile attacks the first client. In one world its factor changes by far more than the clip, and
// in the other it does not change.
func (c *colluding) profile(ctx context.Context, t task) (Check, error) {
	t.runs *= colludingRuns
	a := attack{claim: newClaim(c.claim()), learn: linearOnly, observe: func(seed uint64, world, run int) ([]float64, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if b := (batch{seed, world, run / batchRuns}); b != c.last || c.opened == nil {
			if err := c.open(b); err != nil {
				return nil, err
			}
			c.last = b
		}
		return c.opened[run%batchRuns], nil
	}}
	return a.run(ctx, t)
}

// open simulates the runs of the batch b, adds up the clients' answers securely, and sets c.opened
// to the observations of each run.
func (c *colluding) open(b batch) (err error) {
	size := c.protocol.MessageSize()
	if c.adder == nil {
		c.adder, err = sim.NewAdder(insiders, c.protocol.MinClients(), batchRuns*colludingRounds*size, func() float64 { return 0 })
		if err != nil {
			return err
		}
	}
	vectors := make([][]int64, insiders)
	noise := c.protocol.Method().Noise()
	for run := range batchRuns {
		first := proposes{float64(b.world) * 1e3 * noise.Clip, 0}
		play, err := c.play(runSeed(b.seed, c.name, b.world, b.number*batchRuns+run), first, nil)
		if err != nil {
			return err
		}
		err = play.Run(context.Background(), func(*pvi.Outcome) error {
			for m := range vectors {
				vectors[m] = append(vectors[m], play.Message(m).Change...)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	sum, err := c.adder.Add(vectors)
	if err != nil {
		return err
	}
	c.opened = make([][]float64, batchRuns)
	for i := 0; i < len(sum); i += size { // i is the index of the first element of each message
		run := i / (colludingRounds * size)
		c.opened[run] = append(c.opened[run], noise.Lattice.Float(sum[i]-vectors[insiders-1][i]))
	}
	return nil
}
