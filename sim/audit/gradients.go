package audit

import (
	"context"
	"fmt"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// gradientStudy has one client that takes private gradient steps. With plain steps of one size its
// message moves with its releases, up to a pull towards the prior.
const gradientStudy = `
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
bounds = [0, 1]
[model]
family = "logistic"
outcome = "y"
positive = ">= 0.5"
terms = ["x"]
intercept = false
standardise = "none"
[inference]
rounds = 2
damping = 1.0
steps = 4
optimiser = "sgd"
step_size = 0.02
step_decay = 1.0
average = 0.0
[privacy]
unit = "record"
noise_multiplier = 1.5
delta = 1e-5
clip = 0.05
[federation]
max_records = 100
nominal_records = 20
`

// A gradients is a case of a client that takes private gradient steps. The record in question is
// its only one, or beside others with a gradient of zero.
type gradients struct {
	mode      string // of the gradients
	draws     int
	rate      float64
	others    int
	adjacency accountant.Adjacency
	last      bool // one more release after the rounds: gradient and curvature
}

func (g gradients) name() string {
	what := "gradients"
	if g.rate < 1 {
		what = "sampled gradients"
	}
	if g.last {
		what += " and a curvature"
	}
	if g.draws > 1 {
		what += fmt.Sprintf(" of %d draws", g.draws)
	}
	return fmt.Sprintf("%s %s, %d others, %s", g.mode, what, g.others, g.adjacency)
}

// gradientCases have a shard of one record or none, and mostly empty batches.
var gradientCases = []gradients{
	{"aligned", 1, 1, 0, accountant.AddRemove, false},
	{"joint", 1, 1, 3, accountant.ReplaceOne, false},
	{"aligned", 1, 0.4, 2, accountant.ReplaceOne, false},
	{"joint", 1, 0.4, 0, accountant.AddRemove, false},
	{"aligned", 3, 1, 1, accountant.AddRemove, false},
	{"preconditioned", 1, 0.4, 0, accountant.ReplaceOne, false},
	{"published", 2, 1, 0, accountant.AddRemove, false},
	{"aligned", 1, 1, 0, accountant.AddRemove, true},
}

// study returns the study of a case, with more settings.
func (g gradients) study(more ...study.Override) (*study.Study, error) {
	set := func(key, format string, value any) study.Override {
		return study.Override{Key: key, Value: fmt.Sprintf(format, value)}
	}
	intervals := study.ClosedForm
	if g.last {
		intervals = study.OneStep
	}
	return study.Parse("audit.toml", []byte(gradientStudy), append(more, set("inference.noise_aware", "%q", intervals),
		set("privacy.adjacency", "%q", g.adjacency), set("inference.gradients", "%q", g.mode),
		set("inference.draws", "%d", g.draws), set("inference.sampling_rate", "%.2f", g.rate))...)
}

// attack tests whether the record is there, or which of two records is.
func (g gradients) attack() (attack, error) {
	st, err := g.study()
	if err != nil {
		return attack{}, err
	}
	protocol, err := pvi.NewProtocol(st, []pvi.ClientID{"client"})
	if err != nil {
		return attack{}, err
	}
	event := protocol.Method().(method.Stepped).Sampled().Event()
	for _, c := range protocol.After() {
		event = accountant.Composed{event, c.EventFor(1, g.adjacency)}
	}
	return attack{
		claim: newClaim(event),
		learn: linearOnly,
		observe: func(seed uint64, world, run int) ([]float64, error) {
			holders := []sim.Holder{{ID: "client", Records: g.records(world)}}
			play, err := sim.New(st, holders, runSeed(seed, g.name(), world, run), 1)
			if err != nil {
				return nil, err
			}
			return everySum(play)
		},
	}, nil
}

func (g gradients) records(world int) *shard.Records {
	r := new(shard.Records)
	for range g.others {
		r.Append([]float64{0, 1})
	}
	switch {
	case world == 1:
		r.Append([]float64{1, 1})
	case g.adjacency == accountant.ReplaceOne:
		r.Append([]float64{1, 0})
	}
	return r
}

// everySum plays to the end and returns all opened sums.
func everySum(play *sim.Federation) (seen []float64, err error) {
	add := func(sum []int64) {
		for _, n := range sum {
			seen = append(seen, float64(n))
		}
	}
	err = play.Run(context.Background(), func(o *pvi.Outcome) error {
		add(o.Sum)
		return nil
	})
	if o := play.LastOutcome; o != nil {
		add(o.Gradient)
		add(o.Curvature)
	}
	return seen, err
}
