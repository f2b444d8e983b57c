package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
)

// upgrade runs a study that an earlier build begins and this build finishes. Halfway, it replaces
// the coordinator and then one client, while the other clients keep the earlier build. The
// posterior must equal that of an undisturbed run, bit for bit. This build must be able to read and
// verify all files that the earlier build has written.
func upgrade(ctx context.Context, earlier string) error {
	for _, program := range []string{"coordinator", "client"} {
		if _, err := os.Stat(filepath.Join(earlier, program)); err != nil {
			return err
		}
	}
	clients, err := dealHospitals(ctx)
	if err != nil {
		return err
	}
	_, err = twice(ctx, records, clients, [2]run{{"this build", bin, leave}, {"upgraded", earlier, replace}})
	return err
}

// replace replaces the coordinator, and then one client, by the programs of this build. It stops a
// process with a signal, starts it again, and waits for the next round.
func replace(ctx context.Context, n *network) error {
	round, err := n.halfWay(ctx)
	if err != nil {
		return err
	}
	for _, id := range []string{hub, n.clients[1]} {
		if err := n.ask(id, syscall.SIGTERM); err != nil {
			return err
		}
		n.programs[id] = bin
		if err := n.start(ctx, id); err != nil {
			return err
		}
		from := round
		if round, err = n.watch(ctx, func(s status) bool { return s.Asked > from }); err != nil {
			return err
		}
		say("  round %d: %s was replaced by this build's, and round %d is asked for", from, id, round)
	}
	for id := range n.programs {
		n.programs[id] = bin // this build verifies all states at the end
	}
	return nil
}
