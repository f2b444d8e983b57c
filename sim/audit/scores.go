package audit

import (
	"context"
	"math"

	"fedpvi/pvi/shard"
)

// scoredStudy protects whole clients with the solver scoring.
const scoredStudy = slopeStudy + `[inference]
solver = "scoring"
[privacy]
unit = "client"
noise_multiplier = 1.5
delta = 1e-5
[federation]
max_records = 100
nominal_records = 4
`

// scoresOfClients is the name of the checks of scoredStudy.
const scoresOfClients = "clients' scores"

// scoreMessages collects the real messages of clients whose outcome is not finite, so that their
// vectors are zero in every round. The messages consist of noise shares only.
func scoreMessages(ctx context.Context, seed uint64) (noises, error) {
	const clients, runs = 3, 100
	protocol, err := newProtocol(scoredStudy, clients)
	if err != nil {
		return nil, err
	}
	n := protocol.Method().Noise()
	claimed := n.Multiplier * n.Clip / math.Sqrt(clients) / n.Lattice.Step()
	records := make([]*shard.Records, clients)
	for m := range records {
		records[m] = copies(1, 1, math.Inf(1))
	}
	return collect(ctx, runs, seed, scoresOfClients+", messages", func(seed uint64) ([][][]float64, error) {
		play, err := newPlay(protocol, seed, records...)
		if err != nil {
			return nil, err
		}
		return messages(play, claimed)
	})
}
