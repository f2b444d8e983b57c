package audit

import (
	"fmt"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// partsStudy has one client whose records are dealt to two parts. Everybody reads the noisy sum of
// the parts' changes in two rounds. The prior dwarfs the noise, so that q stays proper.
const partsStudy = `
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
bounds = [-1e6, 1e6]
[model]
family = "linear"
outcome = "y"
terms = ["x"]
intercept = false
standardise = "none"
noise_sd = 1.0
[prior]
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

// A partsCase is a bookkeeping of factors under one adjacency.
type partsCase struct {
	partitioned, factors string
	adjacency            accountant.Adjacency
}

// partsCases has every scheme, each with one of its bookkeepings.
var partsCases = []partsCase{
	{"virtual", "exact", accountant.AddRemove},
	{"averaged", "exact", accountant.AddRemove},
	{"averaged", "tied", accountant.ReplaceOne},
}

func (c partsCase) name() string {
	return fmt.Sprintf("%s parts, %s factors, %s", c.partitioned, c.factors, c.adjacency)
}

// attack tests whether a client has one record more. Without that record the change of its part
// goes as far along the first coordinate as the clip allows; with it, as far in the opposite
// direction. Under replace-one the other record changes nothing.
func (c partsCase) attack() (attack, error) {
	st, err := study.Parse("audit.toml", []byte(partsStudy),
		study.Override{Key: "privacy.adjacency", Value: fmt.Sprintf("%q", c.adjacency)},
		study.Override{Key: "inference.partitioned", Value: fmt.Sprintf("%q", c.partitioned)},
		study.Override{Key: "inference.factors", Value: fmt.Sprintf("%q", c.factors)})
	if err != nil {
		return attack{}, err
	}
	protocol, err := pvi.NewProtocol(st, []pvi.ClientID{"client"})
	if err != nil {
		return attack{}, err
	}
	return attack{
		claim: newClaim(accountant.Repeated{Event: protocol.Method().(method.Single).Mechanism().Event(), Times: protocol.Releases()}),
		learn: linearOnly,
		observe: func(seed uint64, world, run int) ([]float64, error) {
			holders := []sim.Holder{{ID: "client", Records: c.records(world)}}
			play, err := sim.New(st, holders, runSeed(seed, c.name(), world, run), 1)
			if err != nil {
				return nil, err
			}
			var seen []float64
			for {
				o, err := play.Step()
				if err != nil {
					return nil, err
				}
				if o == nil {
					return seen, nil
				}
				seen = append(seen, float64(o.Sum[0]))
			}
		},
	}, nil
}

// records returns the protected record and enough others for every part to have one.
func (c partsCase) records(world int) *shard.Records {
	r := new(shard.Records)
	for range 12 {
		r.Append([]float64{0.01, 1e4})
	}
	switch {
	case world == 1:
		r.Append([]float64{0.01, -1e6})
	case c.adjacency == accountant.ReplaceOne:
		r.Append([]float64{0, 0})
	}
	return r
}
