package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
)

// addUp runs a study in which three hospitals add up securely. Each step of a round needs all
// three of them. In each of the three steps a client and the coordinator are killed and
// restarted. Every round must still open a sum.
func addUp(ctx context.Context) error {
	records := filepath.Join(dir, "records-secure")
	clients, err := deal(ctx, records, "experiments/demo/hospitals.toml", "--set", "simulation.clients=3", "--set", "federation.min_clients=3",
		"--set", "federation.colluders=1", "--set", "federation.opens=sums", "--set", "federation.aggregation=secure")
	if err != nil {
		return err
	}
	p, err := play(ctx, records, clients, "secure", bin, disturbSteps)
	if err != nil {
		return err
	}
	moved := allMoved.FindStringSubmatch(p.table)
	if moved == nil || moved[1] != moved[2] {
		return fmt.Errorf("a round opened no sum:\n%s", p.table)
	}
	say("\nAll %s rounds opened the sum of three hospitals, and nobody could open one answer.\n\n%s", moved[1], p.table)
	return nil
}

// allMoved finds in a table the number of rounds in which λ moved, and the number of all rounds.
var allMoved = regexp.MustCompile(`λ moved in (\d+) of (\d+) outcomes`)

// disturbSteps kills a client and the coordinator in each step of a round, and restarts them.
func disturbSteps(ctx context.Context, n *network) error {
	for i, step := range []string{"deals", "confirmations", "shares"} {
		round, err := n.watch(ctx, func(s status) bool { return len(s.Open) > 0 && s.Open[0].Step == step })
		if err != nil {
			return err
		}
		victim := n.clients[i]
		if err := n.restart(ctx, hub, victim); err != nil {
			return err
		}
		say("  round %d, waiting for %s: %s and the coordinator were killed and started again", round, step, victim)
	}
	return nil
}
