package audit

import (
	"context"
	"fmt"

	"fedpvi/accountant"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// columns declares the two columns of every study here, up to the bounds of the outcome.
const columns = `
[study]
version = 1
name = "audit"
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "y"
type = "numeric"
`

// linearModel has one coefficient and a Gaussian q, so changes of natural parameters have two
// elements.
const linearModel = `
[model]
family = "linear"
outcome = "y"
terms = ["x"]
intercept = false
standardise = "none"
noise_sd = 1.0
`

// slopeStudy is the beginning of the smallest study with one slope.
const slopeStudy = columns + "bounds = [-1, 1]" + linearModel

// binaryColumns and binaryModel are the parts of a study with a binary outcome that come before and
// after the name of the model's family. The event is an outcome of 1.
const (
	binaryColumns = columns + "bounds = [0, 1]\n[model]\n"
	binaryModel   = `
outcome = "y"
positive = ">= 0.5"
terms = ["x"]
intercept = false
standardise = "none"
`
)

// set returns an override that sets a key of a study document to a string, an integer, or a float,
// which it writes with two decimals.
func set(key string, value any) study.Override {
	format := "%#v"
	if _, ok := value.(float64); ok {
		format = "%.2f"
	}
	return study.Override{Key: key, Value: fmt.Sprintf(format, value)}
}

func newProtocol(text string, clients int, settings ...study.Override) (*pvi.Protocol, error) {
	st, err := study.Parse("audit.toml", []byte(text), settings...)
	if err != nil {
		return nil, err
	}
	roster := make([]pvi.ClientID, clients)
	for m := range roster {
		roster[m] = clientID(m)
	}
	return pvi.NewProtocol(st, roster)
}

func clientID(m int) pvi.ClientID { return pvi.ClientID(fmt.Sprintf("client-%d", m+1)) }

// newPlay begins a run. records holds the records of each client.
func newPlay(p *pvi.Protocol, seed uint64, records ...*shard.Records) (*sim.Federation, error) {
	holders := make([]sim.Holder, len(records))
	for m, r := range records {
		holders[m] = sim.Holder{ID: clientID(m), Records: r}
	}
	return sim.New(p.Study(), holders, seed, 1)
}

func copies(n int, record ...float64) *shard.Records {
	r := new(shard.Records)
	for range n {
		r.Append(record)
	}
	return r
}

// appendRecord completes a client's records for one world of an [attack]: it appends the protected
// record in world 1 and, under replace-one, the replacement in world 0.
func appendRecord(r *shard.Records, world int, adjacency accountant.Adjacency, record, replacement []float64) *shard.Records {
	switch {
	case world == 1:
		r.Append(record)
	case adjacency == accountant.ReplaceOne:
		r.Append(replacement)
	}
	return r
}

// binaryRecords returns records of a study with a binary outcome. The first others records have no
// gradient. In the other world, the protected record follows them. In the null world under
// replace-one, a record with the opposite outcome does.
func binaryRecords(others, world int, adjacency accountant.Adjacency) *shard.Records {
	return appendRecord(copies(others, 0, 1), world, adjacency, []float64{1, 1}, []float64{1, 0})
}

// playAttack returns an attack whose runs are simulated studies. begin returns the study before its
// first round, and see returns the numbers that the observer learns from an outcome. If the study
// has a last round (package lastround), the observer also sees its sums. The claim is the
// accountant's cost of event.
func playAttack(name string, event accountant.Event, begin func(seed uint64, world int) (*sim.Federation, error), see func(*sim.Federation, *pvi.Outcome) []float64) attack {
	return attack{
		claim: newClaim(event),
		learn: linearOnly,
		observe: func(seed uint64, world, run int) (seen []float64, err error) {
			play, err := begin(runSeed(seed, name, world, run), world)
			if err != nil {
				return nil, err
			}
			err = play.Run(context.Background(), func(o *pvi.Outcome) error {
				seen = append(seen, see(play, o)...)
				return nil
			})
			if last := play.LastOutcome; last != nil {
				seen = append(append(seen, asFloats(last.Gradient)...), asFloats(last.Curvature)...)
			}
			return seen, err
		},
	}
}

// seeSum returns all elements of an opened sum.
func seeSum(_ *sim.Federation, o *pvi.Outcome) []float64 { return asFloats(o.Sum) }

func asFloats(sum []int64) []float64 {
	out := make([]float64, len(sum))
	for i, n := range sum {
		out[i] = float64(n)
	}
	return out
}

// runSeed returns the seed of a run. The seeds of different runs are independent.
func runSeed(seed uint64, purpose string, world, run int) uint64 {
	return seeded.Stream(seed, purpose, uint64(world), uint64(run)).Uint64()
}

// collect returns the noise of the given number of runs with independent seeds. play simulates one
// run of the null world and returns its noise.
func collect(ctx context.Context, runs int, seed uint64, purpose string, play func(seed uint64) ([][][]float64, error)) (noises, error) {
	z := make(noises, runs)
	for run := range z {
		err := ctx.Err()
		if err != nil {
			return nil, err
		}
		if z[run], err = play(runSeed(seed, purpose, 0, run)); err != nil {
			return nil, err
		}
	}
	return z, nil
}

// messages runs a federation to its end. It returns the message of every client in every round,
// divided by unit.
func messages(play *sim.Federation, unit float64) (rounds [][][]float64, err error) {
	err = play.Run(context.Background(), func(*pvi.Outcome) error {
		round := make([][]float64, len(play.Sites))
		for m := range round {
			for _, n := range play.Message(m).Change {
				round[m] = append(round[m], float64(n)/unit)
			}
		}
		rounds = append(rounds, round)
		return nil
	})
	return rounds, err
}
