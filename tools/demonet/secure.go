package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

	"fedpvi/tools/plant/overlay"
)

// secureNetworks are studies with secure sums: one with three hospitals that must all answer, and
// one with four hospitals, where one may be missing.
var secureNetworks = []struct {
	name    string
	clients int
}{{"three", 3}, {"four", 4}}

const fewest = 3 // number of hospitals that a sum needs

// addUp runs each study of secureNetworks twice. In the second run, it kills clients and the
// coordinator in every step of a round. Every round must open a sum, and the two posteriors must be
// equal bit for bit. Clients draw the same noise in both runs.
func addUp(ctx context.Context, programs string) error {
	for _, c := range secureNetworks {
		records := filepath.Join(dir, "records-"+c.name)
		clients, err := deal(ctx, records, "experiments/demo/hospitals.toml", "--set", fmt.Sprint("simulation.clients=", c.clients), "--set", fmt.Sprint("federation.min_clients=", fewest),
			"--set", "federation.colluders=1", "--set", "federation.opens=sums", "--set", "federation.aggregation=secure")
		if err != nil {
			return err
		}
		second, err := twice(ctx, records, clients, [2]run{{c.name + "-undisturbed", programs, leave}, {c.name + "-disturbed", programs, disturbSteps}})
		if err != nil {
			return err
		}
		moved := allMoved.FindStringSubmatch(second.table)
		if moved == nil || moved[1] != moved[2] {
			return fmt.Errorf("a round opened no sum:\n%s", second.table)
		}
		say("All %s rounds opened the sum of %d hospitals, and no party could open one answer.", moved[1], c.clients)
	}
	return nil
}

// allMoved matches the number of outcomes that moved λ, and the total number of outcomes.
var allMoved = regexp.MustCompile(`λ moved in (\d+) of (\d+) outcomes`)

// disturbSteps kills a client and the coordinator in each step of a round, and restarts them. If
// the study can do without one client, the client restarts only after the others have finished the
// step. But in the step of the deals it restarts at once, because the sum would be different
// without its deal.
func disturbSteps(ctx context.Context, n *network) error {
	for i, step := range []string{"deals", "confirmations", "shares"} {
		in := func(s status) bool { return len(s.Open) > 0 && s.Open[0].Step == step }
		round, err := n.watch(ctx, in)
		if err != nil {
			return err
		}
		victim, when := n.clients[i], "at once"
		if step == "deals" || len(n.clients) == fewest {
			err = n.restart(ctx, hub, victim)
		} else {
			when = "when the others had gone on"
			err = n.without(ctx, victim, func(s status) bool { return !in(s) || s.Asked > round })
		}
		if err != nil {
			return err
		}
		say("  round %d, waiting for %s: %s and the coordinator were killed, and %[3]s was started again %s", round, step, victim, when)
	}
	return nil
}

// without kills the client victim and the coordinator, and restarts the coordinator. It restarts
// the client when done returns true for the study's status.
func (n *network) without(ctx context.Context, victim string, done func(status) bool) error {
	if err := errors.Join(n.kill(victim), n.restart(ctx, hub)); err != nil {
		return err
	}
	if _, err := n.watch(ctx, done); err != nil {
		return err
	}
	return n.start(ctx, victim)
}

// seeding returns the edit that makes a client draw noise that depends only on its name and the
// plan. Such noise protects no record.
func seeding() []overlay.Edit {
	return []overlay.Edit{{File: "client/participant.go", Anchor: answering, Before: "\ta.client.noise = seen.NoiseOf(string(a.member.Name))\n"}}
}
