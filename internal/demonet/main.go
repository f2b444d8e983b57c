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
	first, err := play(ctx, records, "undisturbed", func(context.Context, *network) error { return nil })
	if err != nil {
		return err
	}
	second, err := play(ctx, records, "disturbed", disturb)
	if err != nil {
		return err
	}
	if !bytes.Equal(first.exact, second.exact) {
		return errors.New("the posteriors differ: " + filepath.Join(dir, "*", "posterior.csv"))
	}
	say("\nBoth posteriors are the same, to the last bit.\n")
	fmt.Print(second.table)
	say("\nWhat everybody did is in the logs: %s", filepath.Join(dir, "*", "*.log"))
	return nil
}

// A posterior is what came out, to the last bit and for people.
type posterior struct {
	exact []byte
	table string
}

// play runs the whole federation once. What disturbs it happens while it runs.
func play(ctx context.Context, records, name string, disturb func(context.Context, *network) error) (*posterior, error) {
	begun := time.Now()
	n, err := found(ctx, filepath.Join(dir, name), records)
	if err != nil {
		return nil, err
	}
	defer n.stop()
	say("\n%s: a coordinator on %s, four clients", name, n.address)
	parties := append([]string{hub}, clients...)
	for _, id := range parties {
		if err := n.start(ctx, id); err != nil {
			return nil, err
		}
	}
	if err := disturb(ctx, n); err != nil {
		return nil, err
	}
	for _, id := range parties {
		if err := n.wait(id); err != nil {
			return nil, err
		}
	}
	say("  over after %.1f s", time.Since(begun).Seconds())
	return n.check(ctx)
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
