// Command demonet shows a federation over a network on one machine: a coordinator and
// four clients, separate processes with mutual TLS between them, play a study twice. The
// first time nothing happens. The second time a client and the coordinator are killed
// half way and started again. Both times the posterior is the same, to the last bit.
//
// The study is played without privacy noise, which is fresh in every run: only so can
// two runs be compared.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

const (
	study = "experiments/demo/hospitals.toml"
	dir   = "runs/network"
)

var clients = []string{"client-1", "client-2", "client-3", "client-4"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := demo(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demonet:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	records := filepath.Join(dir, "records")
	say("Records of four hospitals, made up, in files of their own: %s", records)
	if _, err := command(ctx, "sim", "deal", study, "--non-private", "--out", records,
		"--set", "simulation.clients=4", "--set", "federation.min_clients=4", "--set", "inference.rounds=60"); err != nil {
		return err
	}
	var posteriors [2][]byte
	for i, disturbed := range []bool{false, true} {
		var err error
		if posteriors[i], err = play(ctx, records, disturbed); err != nil {
			return err
		}
	}
	if !bytes.Equal(posteriors[0], posteriors[1]) {
		return errors.New("the posteriors differ: " + filepath.Join(dir, "*", "posterior.csv"))
	}
	say("\nBoth posteriors are the same, to the last bit:\n")
	fmt.Print(string(posteriors[0]))
	say("\nWhat everybody did is in the logs: %s", filepath.Join(dir, "*", "*.log"))
	return nil
}

// play runs the whole federation once and returns its posterior as a table.
func play(ctx context.Context, records string, disturbed bool) ([]byte, error) {
	name := "undisturbed"
	if disturbed {
		name = "disturbed"
	}
	begun := time.Now()
	n, err := found(ctx, filepath.Join(dir, name), records)
	if err != nil {
		return nil, err
	}
	defer n.stop()
	say("\n%s: a coordinator on %s, four clients", name, n.address)
	for _, id := range append([]string{coordinator}, clients...) {
		if err := n.start(ctx, id); err != nil {
			return nil, err
		}
	}
	if disturbed {
		if err := n.disturb(ctx); err != nil {
			return nil, err
		}
	}
	for _, id := range append([]string{coordinator}, clients...) {
		if err := n.wait(id); err != nil {
			return nil, err
		}
	}
	say("  over after %.1f s", time.Since(begun).Seconds())
	return n.check(ctx)
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
