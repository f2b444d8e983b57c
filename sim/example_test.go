package sim_test

import (
	"context"
	"fmt"

	"fedpvi/sim"
)

// Without privacy, a federation of a hundred practices finds the posterior of the pooled records.
func ExamplePlay_Run() {
	path := "../experiments/demo/blood-pressure.toml"
	study, err := sim.LoadStudy(path, append([]string{"simulation.clients=100", "federation.min_clients=90"}, sim.NonPrivate...))
	if err != nil {
		fmt.Println(err)
		return
	}
	play, err := sim.NewPlay(study, sim.Options{StudyFile: path, Seed: 1, Workers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := play.Run(context.Background(), func(sim.Status) error { return nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, m := range result.Posterior {
		fmt.Printf("%-16s %6.2f ± %.2f, pooled %6.2f\n", m.Name, m.Mean, m.SD, result.NonPrivate[i].Mean)
	}
	// Output:
	// intercept         -0.28 ± 0.01, pooled  -0.28
	// age                0.19 ± 0.01, pooled   0.19
	// sex[m]             0.06 ± 0.01, pooled   0.06
	// salt               0.11 ± 0.01, pooled   0.11
	// smoking[former]    0.02 ± 0.01, pooled   0.02
	// smoking[current]   0.05 ± 0.01, pooled   0.05
	// age:sex[m]        -0.02 ± 0.01, pooled  -0.02
}

// The cost of a study follows from its file, before any record is read.
func ExampleProtocol() {
	study, err := sim.LoadStudy("../experiments/demo/blood-pressure.toml", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	protocol, err := sim.Protocol(study, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	costs, err := protocol.Costs(protocol.Releases())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range costs {
		fmt.Printf("%s, %s: ε = %.2f\n", c.View.Name, c.Adjacency, c.Epsilon)
	}
	// Output:
	// coalition, zero-out: ε = 4.00
	// coalition, replace-one: ε = 9.08
	// participant, zero-out: ε = 3.87
	// participant, replace-one: ε = 8.78
	// outside, zero-out: ε = 3.87
	// outside, replace-one: ε = 8.77
	// largest-coalition, zero-out: ε = 14.45
	// largest-coalition, replace-one: ε = 36.55
	// coordinator, zero-out: ε = 477.67
	// coordinator, replace-one: ε = 1683.40
}
