package extend_test

import (
	"context"
	"fmt"

	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// text is a study whose records are made up: y = 1 + 2x plus noise with a standard deviation of
// 0.5. It has no privacy noise.
const text = `
study = { version = 2, name = "line" }
model = { family = "linear", outcome = "y", terms = ["x"], noise_sd = 0.5, standardise = "none" }
privacy.unit = "none"
inference = { rounds = 20, damping = 0.5 }
column = [
  { name = "x", type = "numeric", bounds = [-1, 1] },
  { name = "y", type = "numeric", bounds = [-9, 9] },
]
[simulation]
clients = 4
%s
[simulation.synthetic]
records_per_client = 100
truth = { intercept = 1.0, x = 2.0 }
`

// posterior simulates the study with additional keys in [simulation], and returns the result.
func posterior(keys string) (*sim.Result, error) {
	st, err := study.Parse("line.toml", []byte(fmt.Sprintf(text, keys)))
	if err != nil {
		return nil, err
	}
	play, err := sim.NewPlay(st, sim.Options{Seed: 1})
	if err != nil {
		return nil, err
	}
	return play.Run(context.Background(), func(sim.Status) error { return nil })
}

// show prints the posterior, and its divergence from the posterior of the pooled records.
func show(r *sim.Result, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range r.Posterior {
		fmt.Printf("%s %.2f ± %.2f\n", m.Name, m.Mean, m.SD)
	}
	fmt.Printf("%.2f nats\n", *r.KL)
}
