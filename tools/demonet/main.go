// Command demonet runs federations over a network on one machine. The coordinator and its clients
// are separate processes with mutual TLS between them.
//
// Without arguments it is a demonstration. Four clients take part in a study without noise twice.
// In the second run a client and the coordinator are killed halfway and restarted, and the
// posterior must be the same bit for bit. Then it runs two studies with secure sums: one with three
// hospitals, and one with four hospitals, where one may be missing. Each study runs twice with the
// same noise, and in the second run processes are killed in each step of a round. Finally it runs a
// study with a formula and one with a program, in which all records of a client are protected
// together, and compares their estimates with the simulator's.
//
// If the first argument is a study, demonet runs that study once. Further arguments are settings in
// the form that sim accepts.
//
// With upgrade and a folder that contains the programs of an earlier build, demonet runs a study
// that the earlier build begins and this build ends.
//
// With outcomes it runs the studies of package audit twice, with the same noise but different files
// of one client, and compares everything that others can observe. With "outcomes all" it runs more
// studies, and daemons with planted faults, which it must find.
//
// With evil it runs studies in which the coordinator or a client attacks the others. Each attack
// must be found, named and stopped before it has cost the others more than three rounds.
//
// With siege, a number of runs and a seed, demonet runs a study many times. It kills processes at
// random moments, cuts connections and simulates full disks.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

const dir = "runs/network"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := os.RemoveAll(dir)
	switch {
	case err != nil:
	case len(os.Args) == 4 && os.Args[1] == "siege":
		err = besiege(ctx, os.Args[2], os.Args[3])
	case len(os.Args) > 1 && os.Args[1] == "outcomes":
		err = outcomes(ctx, slices.Contains(os.Args, "all"))
	case len(os.Args) == 2 && os.Args[1] == "evil":
		err = evil(ctx)
	case len(os.Args) == 3 && os.Args[1] == "upgrade":
		err = upgrade(ctx, os.Args[2])
	case len(os.Args) > 1:
		err = once(ctx, os.Args[1], os.Args[2:])
	default:
		err = demo(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demonet:", err)
		os.Exit(1)
	}
}

var records = filepath.Join(dir, "records")

// once runs a study once. Settings have the form that the simulator accepts.
func once(ctx context.Context, study string, settings []string) error {
	clients, err := deal(ctx, records, study, settings...)
	if err != nil {
		return err
	}
	p, err := run{filepath.Base(study), bin, leave}.play(ctx, records, clients)
	if err != nil {
		return err
	}
	fmt.Print(p.table)
	return nil
}

func demo(ctx context.Context) error {
	clients, err := dealHospitals(ctx)
	if err != nil {
		return err
	}
	second, err := twice(ctx, records, clients, [2]run{{"undisturbed", bin, leave}, {"disturbed", bin, disturb}})
	if err != nil {
		return err
	}
	fmt.Printf("\n%s", second.table)
	seeded, err := builtWith("seeded", seeding())
	if err != nil {
		return err
	}
	if err := addUp(ctx, seeded); err != nil {
		return err
	}
	if err := simulate(ctx, seeded); err != nil {
		return err
	}
	say("\nWhat everybody did is in the logs: %s", filepath.Join(dir, "*", "*.log"))
	return nil
}

// A run is one execution of a federation in a folder of its own. disturb is called while the
// federation runs.
type run struct {
	name, programs string
	disturb        func(context.Context, *network) error
}

// twice runs a federation two times, and returns an error if the two posteriors differ.
func twice(ctx context.Context, records string, clients []string, runs [2]run) (second *posterior, err error) {
	var first *posterior
	for _, r := range runs {
		first = second
		if second, err = r.play(ctx, records, clients); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(first.exact, second.exact) {
		return nil, errors.New("the posteriors differ: " + filepath.Join(dir, "*", "posterior.csv"))
	}
	say("\nBoth posteriors are the same, to the last bit.")
	return second, nil
}

// dealHospitals generates the records of four clients, and returns the names of the clients.
func dealHospitals(ctx context.Context) (clients []string, err error) {
	say("Records of four hospitals, made up, in files of their own: %s", records)
	// upgrade begins the study with a build that may not know version 2 of the study language, so
	// use version 1.
	return deal(ctx, records, "experiments/demo/hospitals.toml", "--non-private", "--set", "study.version=1",
		"--set", "simulation.clients=4", "--set", "federation.min_clients=4", "--set", "inference.rounds=60")
}

// A posterior is the result of a run, both as bytes to compare and as a table to read.
type posterior struct {
	exact []byte
	table string
}

// leave is the disturb of a run in which nothing goes wrong.
func leave(context.Context, *network) error { return nil }

func (r run) play(ctx context.Context, records string, clients []string) (*posterior, error) {
	n, err := foundAnywhere(ctx, filepath.Join(dir, r.name), records, clients, r.programs)
	if err != nil {
		return nil, err
	}
	defer n.stop()
	say("\n%s: a coordinator on %s, %d clients", r.name, n.address, len(clients))
	parties := append([]string{hub}, clients...)
	if err := n.start(ctx, parties...); err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := r.disturb(ctx, n); err != nil {
		return nil, err
	}
	if err := each(parties, n.wait); err != nil {
		return nil, err
	}
	say("  over %.1f s after the last client had approved", time.Since(begun).Seconds())
	return n.check(ctx)
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
