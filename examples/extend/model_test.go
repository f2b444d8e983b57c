package extend_test

import (
	"context"
	"fmt"

	"fedpvi/sim"
)

// You can define a model by a program in the Stan language, or by a formula. A study names the file
// of the program, and needs no Go. The command is: sim run model.toml
func Example_model() {
	st, err := sim.LoadStudy("model.toml", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	play, err := sim.NewPlay(st, sim.Options{StudyFile: "model.toml", Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(play.Run(context.Background(), func(sim.Status) error { return nil }))
	// Output:
	// plateau 4.16 ± 0.14
	// half 0.70 ± 0.10
	// 0.09 nats
}
