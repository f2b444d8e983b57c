package report_test

import (
	"fmt"
	"strings"

	"fedpvi/sim"
	"fedpvi/sim/report"
)

// A plan shows the cost of a study before anything runs.
func ExamplePlan() {
	study, err := sim.LoadStudy("../../experiments/linear/one-parameter.toml", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	protocol, err := sim.Protocol(study, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	var plan strings.Builder
	if err := report.Plan(&plan, protocol, func(_, _ int) error { return nil }); err != nil {
		fmt.Println(err)
		return
	}
	_, costs, _ := strings.Cut(plan.String(), "colluders\n")
	fmt.Print(costs)
	// Output:
	//   added up                 by the coordinator, who can open every answer
	//   noise of one client      sd 5.59 = 11723437 steps of 2^-21
	//
	//   against                                                     under        ε at δ = 1e-05
	//   an outsider, or the coordinator, who sees opened sums only  zero-out              9.997
	//   an outsider, or the coordinator, who sees opened sums only  replace-one           24.38
	//   one other participant, who knows its own noise              zero-out              10.32
	//   one other participant, who knows its own noise              replace-one           25.24
	//   a coordinator who can open every client's message           zero-out              77.33
	//   a coordinator who can open every client's message           replace-one           235.4
	//
	// In words, against one other participant, who knows its own noise: a guess whether the
	// contribution of one client's whole data set counts or is zero (zero-out) is right with
	// probability at most 0.848, and a guess which of two contents one client's whole data set has
	// (replace-one) is right with probability at most 0.980. Tossing a coin is right with
	// probability 0.5.
	//
	// In the end the noise on every natural parameter has sd of about 5.735; clients that all
	// saturated the clip in one direction would add up to 100: a signal of at most 17.4 times the
	// noise.
}
