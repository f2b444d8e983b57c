package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// A siege runs one study many times. It kills processes, makes the network unreliable, and limits
// the size of files as if the disk were full.
type siege struct {
	base  string
	proxy *proxy
	net   *network // state that each run copies, in which all clients have joined and approved
	kills int
	full  int
}

const (
	roundTime = 20 * time.Second
	runTime   = 4 * time.Minute
)

// besiege runs the study number times. The seeds are consecutive and begin at from.
func besiege(ctx context.Context, number, from string) error {
	runs, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		return err
	}
	s := &siege{base: filepath.Join(dir, "siege")}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	began, wrong := time.Now(), 0
	for i := range runs {
		err := s.run(ctx, seed+uint64(i))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			wrong++
			say("run %d (seed %d) went wrong, its folder is kept: %v", i+1, seed+uint64(i), err)
		}
		if done := i + 1; done%10 == 0 || done == runs {
			took := time.Since(began)
			say("%d of %d runs, %d wrong, %d processes killed, %d on a full disk, %d connections cut, %.0f s, %.0f s left",
				done, runs, wrong, s.kills, s.full, s.proxy.cuts, took.Seconds(), took.Seconds()/float64(done)*float64(runs-done))
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d runs went wrong", wrong, runs)
	}
	return nil
}

// prepare creates the state that each run copies, in which all clients have joined and approved the
// study.
func (s *siege) prepare(ctx context.Context) error {
	records := filepath.Join(s.base, "records")
	clients, err := deal(ctx, records, "experiments/demo/hospitals.toml", "--set", "simulation.clients=3", "--set", "federation.min_clients=2",
		"--set", "inference.rounds=6", "--set", "privacy.epsilon=4.0")
	if err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	if s.proxy, err = newProxy(address); err != nil {
		return err
	}
	if s.net, err = found(ctx, filepath.Join(s.base, "before"), records, clients, bin, address, s.proxy.address()); err != nil {
		return err
	}
	defer s.net.stop()
	if err := s.net.start(ctx, hub); err != nil {
		return err
	}
	if err := each(clients, func(id string) error { return s.net.join(ctx, id) }); err != nil {
		return err
	}
	if err := s.net.kill(hub); err != nil {
		return err
	}
	// The state must not have the socket, because sockets cannot be copied.
	return os.Remove(filepath.Join(s.net.state(hub), "admin.sock"))
}

func (s *siege) run(ctx context.Context, seed uint64) error {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	n := *s.net
	n.dir = filepath.Join(s.base, fmt.Sprint("seed-", seed))
	if err := os.RemoveAll(n.dir); err != nil {
		return err
	}
	if err := copyState(n.dir, s.net.dir); err != nil {
		return err
	}
	s.proxy.behave(seed%3 != 0, seed)
	b := &battle{siege: s, net: &n, rng: rand.New(rand.NewPCG(seed, 0)), ends: make(chan end), lives: map[string]*exec.Cmd{}, done: map[string]bool{}}
	if err := b.fight(ctx); err != nil {
		return err
	}
	s.proxy.behave(false, seed)
	if err := n.whole(ctx); err != nil {
		return err
	}
	return os.RemoveAll(n.dir)
}

// A battle is a single run in a siege.
type battle struct {
	siege *siege
	net   *network
	rng   *rand.Rand
	ends  chan end
	lives map[string]*exec.Cmd
	done  map[string]bool
	limit map[string]bool // processes whose file size is limited
}

type end struct {
	id  string
	err error
}

// fight kills and restarts processes until all clients have finished.
func (b *battle) fight(ctx context.Context) error {
	b.limit = map[string]bool{}
	defer b.stop()
	everybody := append([]string{hub}, b.net.clients...)
	if err := each(everybody, b.start); err != nil {
		return err
	}
	left := 1 + b.rng.IntN(6)
	strike := time.NewTimer(b.upTo(1500 * time.Millisecond))
	defer strike.Stop()
	for len(b.done) < len(b.net.clients) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("it did not end: %w, %v have", ctx.Err(), b.done)
		case e := <-b.ends:
			if err := b.ended(e); err != nil {
				return err
			}
		case <-strike.C:
			if left--; left >= 0 {
				b.strike(everybody[b.rng.IntN(len(everybody))])
				strike.Reset(b.upTo(1500 * time.Millisecond))
			}
		}
	}
	return nil
}

func (b *battle) upTo(most time.Duration) time.Duration {
	return time.Duration(b.rng.Int64N(int64(most)))
}

// strike kills the given process with probability 4/5. Otherwise it cuts all connections.
func (b *battle) strike(id string) {
	if b.rng.IntN(5) == 0 {
		b.siege.proxy.cut()
		return
	}
	if c := b.lives[id]; c != nil {
		b.siege.kills++
		_ = c.Process.Kill() // the process may already have ended
	}
}

// start starts a process. At random, it limits the size of the process's files as if the disk were
// full.
func (b *battle) start(id string) error {
	args := []string{"serve", "--listen", b.net.address, "--round-deadline", roundTime.String(), "--log", "json"}
	program := "coordinator"
	if id != hub {
		program = "client"
		args = []string{"--log", "json", "run", "--round-deadline", roundTime.String(), "--data", filepath.Join(b.net.records, id+".csv"), "--result", b.net.result(id)}
		// If the process was killed before, it may have left an incomplete result.
		if err := os.RemoveAll(b.net.result(id)); err != nil {
			return err
		}
	}
	line := append([]string{filepath.Join(b.net.programs[id], program), "--state", b.net.state(id)}, args...)
	b.limit[id] = b.rng.IntN(6) == 0
	if b.limit[id] {
		b.siege.full++
		blocks := strconv.Itoa(40 + b.rng.IntN(200)) // maximum file size in blocks of 1024 bytes
		line = append([]string{"bash", "-c", "ulimit -f \"$0\" && exec \"$@\"", blocks}, line...)
	}
	c, err := b.net.launch(id, line)
	if err != nil {
		return err
	}
	b.lives[id] = c
	go func() { b.ends <- end{id, c.Wait()} }()
	if b.limit[id] {
		// The process restarts after it is killed, this time perhaps without the limit.
		time.AfterFunc(3*time.Second, func() { _ = c.Process.Kill() })
	}
	return nil
}

// ended deals with the end of a process. If the process was killed or had a temporary problem, it
// starts it again.
func (b *battle) ended(e end) error {
	full := b.limit[e.id]
	delete(b.lives, e.id)
	var exit *exec.ExitError
	switch {
	case e.err == nil && e.id != hub:
		b.done[e.id] = true
		return nil
	case !errors.As(e.err, &exit):
		return fmt.Errorf("%s ended: %v", e.id, e.err)
	case exit.ExitCode() >= 0 && exit.ExitCode() != unreachable && !full:
		return fmt.Errorf("%s stopped with exit code %d: see %s.log", e.id, exit.ExitCode(), b.net.state(e.id))
	}
	return b.start(e.id)
}

// unreachable is the exit code of a client that cannot reach the coordinator (see
// docs/use/exit-codes.md).
const unreachable = 6

// stop kills all running processes: the coordinator and, after an error, the clients.
func (b *battle) stop() {
	for _, c := range b.lives {
		_ = c.Process.Kill() // the process may already have ended
	}
	for range b.lives {
		<-b.ends
	}
}

// whole verifies all ledgers and the transcript. It returns an error if the clients have different
// posteriors.
func (n *network) whole(ctx context.Context) error {
	if err := n.verify(ctx); err != nil {
		return err
	}
	var first []byte
	for _, id := range n.clients {
		result, err := os.ReadFile(n.result(id))
		if err != nil {
			return err
		}
		if first == nil {
			first = result
		}
		if len(result) == 0 || !bytes.Equal(result, first) {
			return fmt.Errorf("%s and %s have different posteriors", n.clients[0], id)
		}
	}
	return nil
}

func (n *network) result(id string) string { return n.state(id) + ".posterior.json" }
