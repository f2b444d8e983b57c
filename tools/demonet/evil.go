package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fedpvi/tools/demonet/seen"
	"fedpvi/tools/plant/overlay"
)

// An attack is a study of ten rounds in which one party attacks the others. The attacker runs a
// program with a planted fault, or is a client with changed records.
type attack struct {
	says, by, fault string // description, attacker, and fault in the attacker's program
	clients         int
	// changes the attacker's records; nil if they stay the same
	file func(records string) error

	finder, log string         // party whose log must report the attack, and text that the log must contain
	exits       map[string]int // exit codes of the parties at the end of the attack
	excluded    bool           // whether the operator excludes the attacker as soon as the log reports the attack
}

const (
	evilClient = "client-1"
	mostRounds = 3 // maximum number of rounds that an attack may cost the other parties
)

var attacks = []attack{
	{
		says: "a coordinator adds a constant to a sum", by: hub, fault: "sum", clients: 3,
		finder: "client-2", log: "the sum of plan 1 is not the sum of the 3 releases that were published with it",
		exits: map[string]int{"client-1": 3, "client-2": 3, "client-3": 3},
	},
	{
		says: "a client sends precisions of -2^44", by: evilClient, fault: "precisions", clients: 3,
		finder: hub, log: `"client":"client-1","ask":1,"why":"malformed: element`,
		exits: map[string]int{"client-2": 1, "client-3": 1},
	},
	{
		says: "a client pushes one element", by: evilClient, fault: "element", clients: 3,
		finder: hub, log: `"client":"client-1","ask":1,"why":"malformed: element 1 of`,
		exits: map[string]int{"client-2": 1, "client-3": 1},
	},
	{
		says: "a client has 200,000 invented records where 2,000 are expected", by: evilClient, clients: 4, file: invent,
		finder: hub, log: `"msg":"an answer is unlike the others","study":"readmission","ask":1,"client":"client-1"`, excluded: true,
		exits: map[string]int{"client-1": 3, "client-2": 0, "client-3": 0, "client-4": 0, hub: 0},
	},
}

// attackEdits returns the edits that plant the attacks into copies of the programs.
func attackEdits() []overlay.Edit {
	return []overlay.Edit{
		{File: "pvi/server.go", Anchor: "\t\toutcome.Sum, outcome.Releases = r.Sum, r.Releases\n", Before: `
		if seen.Is("sum") {
			r.Sum[0] += 1 << 20
		}
`},
		{File: "pvi/session/rounds.go", Anchor: "\tif a.Vector = r.Change; !s.secure() {\n", Before: `
	if seen.Is("precisions") {
		for i := len(r.Change) / 2; i < len(r.Change); i++ {
			r.Change[i] = -1 << 44
		}
	}
	if seen.Is("element") {
		r.Change[0] += 1 << 44
	}
`},
	}
}

func evil(ctx context.Context) error {
	began := time.Now()
	programs, err := builtWith("evil", attackEdits())
	if err != nil {
		return err
	}
	tasks := make([]func() error, len(attacks))
	for i, a := range attacks {
		tasks[i] = func() error {
			rounds, err := a.play(ctx, filepath.Join(dir, fmt.Sprint("attack-", i)), programs)
			if err != nil {
				return fmt.Errorf("%s: %w", a.says, err)
			}
			say("%-65s found by the log of the %s; it cost %d rounds", a.says, a.finder, rounds)
			return nil
		}
	}
	if err := together(tasks); err != nil {
		return err
	}
	say("%d attacks in %.0f s.", len(attacks), time.Since(began).Seconds())
	return nil
}

// play runs a study under attack to its end. It returns the number of rounds that the attack cost
// the others.
func (a attack) play(ctx context.Context, dir, programs string) (rounds int, err error) {
	records := filepath.Join(dir, "records")
	clients, err := deal(ctx, records, "experiments/demo/hospitals.toml", "--set", fmt.Sprint("simulation.clients=", a.clients), "--set", "inference.rounds=10")
	if err == nil && a.file != nil {
		err = a.file(records)
	}
	if err != nil {
		return 0, err
	}
	n, err := foundAnywhere(ctx, dir, records, clients, programs)
	if err != nil {
		return 0, err
	}
	defer n.stop()
	n.deadline = 4 * time.Second
	n.environment = func(id, _ string) []string {
		if id == a.by {
			return []string{seen.FaultVariable + "=" + a.fault}
		}
		return nil
	}
	for _, id := range append([]string{hub}, clients...) {
		if _, ends := a.exits[id]; id != hub && !ends {
			defer n.again(ctx, id)()
		} else if err := n.start(ctx, id); err != nil {
			return 0, err
		}
	}
	if a.excluded {
		if err := n.excludes(ctx, a.by, a.log); err != nil {
			return 0, err
		}
	}
	if err := a.over(n); err != nil {
		return 0, err
	}
	return a.cost(n)
}

// excludes waits until the coordinator's log contains a text, and then excludes a client.
func (n *network) excludes(ctx context.Context, client, text string) error {
	for {
		log, err := os.ReadFile(n.state(hub) + ".log")
		if err != nil {
			return err
		}
		if strings.Contains(string(log), text) {
			_, err = n.command(ctx, hub, "coordinator", "--state", n.state(hub), "exclude", client, "--why", "its answers are unlike those of the others")
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// over waits until every party that is supposed to end has ended.
func (a attack) over(n *network) error {
	for _, id := range slices.Sorted(maps.Keys(a.exits)) {
		code, err := n.exit(id, most)
		if err != nil {
			return err
		}
		if code != a.exits[id] {
			return fmt.Errorf("%s ends with exit code %d, want %d: see %s.log", id, code, a.exits[id], n.state(id))
		}
	}
	return nil
}

// again runs a client, and starts it again whenever it ends, until stop is called.
func (n *network) again(ctx context.Context, id string) (stop func()) {
	alone := *n
	alone.running = map[string]*exec.Cmd{}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil && alone.start(ctx, id) == nil {
			c, ended := alone.running[id], make(chan struct{})
			go func() {
				defer close(ended)
				_ = c.Wait() // the exit code does not matter
			}()
			select {
			case <-ended:
			case <-ctx.Done():
				_ = c.Process.Kill() // it may have ended
				<-ended
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// cost returns the number of rounds that an attack cost the others: the rounds charged to another
// client or, if the attacker was excluded, the rounds in which its answers were accepted. It
// returns an error if there are more than mostRounds, or if the finder's log does not report the
// attack.
func (a attack) cost(n *network) (rounds int, err error) {
	payer, says := "client-2", "an answer was charged"
	if a.excluded {
		payer, says = a.by, "an answer was accepted"
	}
	paid, err := os.ReadFile(n.state(payer) + ".log")
	if err != nil {
		return 0, err
	}
	rounds = strings.Count(string(paid), says)
	log, err := os.ReadFile(n.state(a.finder) + ".log")
	switch {
	case err != nil:
		return 0, err
	case !strings.Contains(string(log), a.log):
		return 0, fmt.Errorf("%s.log does not say %q", n.state(a.finder), a.log)
	case rounds > mostRounds:
		return 0, fmt.Errorf("it cost %d rounds, and may cost %d: see %s.log", rounds, mostRounds, n.state(payer))
	}
	return rounds, nil
}

// invent replaces the attacker's records by 200,000 copies of a single record.
func invent(records string) error {
	path := filepath.Join(records, evilClient+".csv")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(text), "\n")
	return os.WriteFile(path, []byte(lines[0]+strings.Repeat(lines[1], 200_000)), 0o600)
}
