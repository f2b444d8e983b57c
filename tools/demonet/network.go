package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// hub is the name of the coordinator's process and folder.
const hub = "coordinator"

// A network is a federation whose parties are processes.
type network struct {
	dir, records, address string
	clients               []string
	running               map[string]*exec.Cmd
	programs              map[string]string // folder with the programs that a party runs, by name of the party

	// environment, if not nil, returns further environment variables for a process. The standard
	// output of such a process is discarded, and only its logs are kept.
	environment func(id, state string) []string

	deadline time.Duration // time for which a round waits for answers
}

const (
	bin         = "bin" // folder with this build's programs
	interrupted = 130   // exit code of a process that was asked to stop
)

// deal writes each client's records to a file and returns the clients' names.
func deal(ctx context.Context, records, study string, settings ...string) (clients []string, err error) {
	args := []string{"deal", study, "--out", records, "--json"}
	text, err := command(ctx, bin, "sim", append(args, settings...)...)
	if err != nil {
		return nil, err
	}
	var dealt struct {
		Files []struct {
			Client string `json:"client"`
		} `json:"files"`
	}
	if err := json.Unmarshal(text, &dealt); err != nil {
		return nil, fmt.Errorf("sim deal: %w", err)
	}
	for _, f := range dealt.Files {
		if f.Client != "" {
			clients = append(clients, f.Client)
		}
	}
	return clients, nil
}

// found creates the study and an invitation for each client. The coordinator listens at the address
// listens, and clients connect to the address called.
func found(ctx context.Context, dir, records string, clients []string, programs, listens, called string) (*network, error) {
	n := &network{dir: dir, records: records, address: listens, clients: clients, running: map[string]*exec.Cmd{}, programs: map[string]string{hub: programs}, deadline: 10 * time.Minute}
	for _, id := range clients {
		n.programs[id] = programs
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	_, err := n.command(ctx, hub, "coordinator", "--state", n.state(hub), "init", filepath.Join(records, "study.toml"),
		"--clients", strings.Join(clients, ","), "--address", called, "--out", filepath.Join(dir, "invitations"))
	return n, err
}

// foundAnywhere is like found, with an unused address of this machine.
func foundAnywhere(ctx context.Context, dir, records string, clients []string, programs string) (*network, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	return found(ctx, dir, records, clients, programs, address, address)
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (n *network) state(id string) string { return filepath.Join(n.dir, id) }

// each calls do for one party after the other. It stops at the first error.
func each(ids []string, do func(id string) error) error {
	for _, id := range ids {
		if err := do(id); err != nil {
			return err
		}
	}
	return nil
}

// start starts or restarts processes. A client that has not yet joined joins first.
func (n *network) start(ctx context.Context, ids ...string) error {
	return each(ids, func(id string) error { return n.begin(ctx, id) })
}

func (n *network) begin(ctx context.Context, id string) error {
	if id == hub {
		// A killed coordinator leaves its socket behind. Remove it, so that the next socket shows
		// that the new coordinator is serving. A command that ran earlier could lock the
		// coordinator's state.
		if err := os.Remove(n.socket()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		err := n.run(id, "coordinator", "--state", n.state(id), "serve", "--listen", n.address, "--round-deadline", n.deadline.String(), "--until-done", "--log", "json")
		return errors.Join(err, n.serving(ctx))
	}
	if _, err := os.Stat(n.state(id)); errors.Is(err, os.ErrNotExist) {
		if err := n.join(ctx, id); err != nil {
			return err
		}
	}
	return n.run(id, "client", "--state", n.state(id), "--log", "json", "run", "--data", filepath.Join(n.records, id+".csv"))
}

func (n *network) socket() string { return filepath.Join(n.state(hub), "admin.sock") }

func (n *network) serving(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if _, err := os.Lstat(n.socket()); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the coordinator does not serve: see %s.log", n.state(hub))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// join makes a client join the study and approve it, with a policy that permits any study.
func (n *network) join(ctx context.Context, id string) error {
	if _, err := n.command(ctx, id, "client", "--state", n.state(id), "join", filepath.Join(n.dir, "invitations", id+".invitation")); err != nil {
		return err
	}
	if err := permit(filepath.Join(n.state(id), "policy.toml")); err != nil {
		return err
	}
	text, err := n.command(ctx, id, "client", "--state", n.state(id), "--json", "review")
	if err != nil {
		return err
	}
	var review struct {
		Digest string `json:"digest"`
	}
	if err := json.Unmarshal(text, &review); err != nil {
		return fmt.Errorf("the review of %s: %w", id, err)
	}
	_, err = n.command(ctx, id, "client", "--state", n.state(id), "approve", "--yes", review.Digest)
	return err
}

// permit writes a policy that permits any study. It is safe only for generated or public records.
func permit(path string) error {
	policy, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	policy = regexp.MustCompile(`(?m)^epsilon = .*$`).ReplaceAll(policy, []byte("epsilon = 1000.0\npublic = true"))
	policy = regexp.MustCompile(`(?m)^trust = .*$`).ReplaceAll(policy, []byte("trust = true"))
	return os.WriteFile(path, policy, 0o600)
}

// run starts a program of the given party in the background.
func (n *network) run(id, program string, args ...string) error {
	c, err := n.launch(id, append([]string{filepath.Join(n.programs[id], program)}, args...))
	if err == nil {
		n.running[id] = c
	}
	return err
}

// launch starts a command in the background. The command's output is appended to the log of a
// party.
func (n *network) launch(id string, line []string) (*exec.Cmd, error) {
	log, err := os.OpenFile(n.state(id)+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own copy of the file
	c := exec.Command(line[0], line[1:]...)
	c.Stdout, c.Stderr = log, log
	if n.environment != nil {
		c.Stdout, c.Env = nil, append(os.Environ(), n.environment(id, n.state(id))...)
	}
	return c, c.Start()
}

// kill kills a process at once, as a power failure would.
func (n *network) kill(id string) error {
	c := n.running[id]
	if err := c.Process.Kill(); err != nil {
		return fmt.Errorf("killing %s: %w", id, err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
		return fmt.Errorf("%s had ended before it was killed", id)
	}
	delete(n.running, id)
	return nil
}

// ask sends a signal to a process and waits for its end.
func (n *network) ask(id string, signal os.Signal) error {
	c := n.running[id]
	if err := c.Process.Signal(signal); err != nil {
		return fmt.Errorf("stopping %s: %w", id, err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != interrupted) {
		return fmt.Errorf("%s: %w: see %s.log", id, err, n.state(id))
	}
	delete(n.running, id)
	return nil
}

// wait waits for the end of a process. It returns an error unless the exit code is 0.
func (n *network) wait(id string) error {
	c := n.running[id]
	delete(n.running, id)
	if err := c.Wait(); err != nil {
		return fmt.Errorf("%s: %w: see %s.log", id, err, n.state(id))
	}
	return nil
}

func (n *network) stop() {
	for _, c := range n.running {
		_ = c.Process.Kill() // the process may already have ended
		_ = c.Wait()
	}
}

func (n *network) restart(ctx context.Context, ids ...string) error {
	if err := each(ids, n.kill); err != nil {
		return err
	}
	return n.start(ctx, ids...)
}

// disturb kills a client and the coordinator halfway through the study, and restarts them.
func disturb(ctx context.Context, n *network) error {
	victim := n.clients[1]
	round, err := n.halfWay(ctx)
	if err != nil {
		return err
	}
	if err := each([]string{victim, hub}, n.kill); err != nil {
		return err
	}
	say("  round %d: %s and the coordinator were killed (SIGKILL)", round, victim)
	began := time.Now()
	if err := n.start(ctx, hub, victim); err != nil {
		return err
	}
	again, err := n.watch(ctx, func(s status) bool { return s.Asked > round })
	if err != nil {
		return err
	}
	say("  round %d: going on %.1f s after both were started again", again, time.Since(began).Seconds())
	return nil
}

// status has those fields of a study's status that demonet reads.
type status struct {
	Asked int `json:"asked"`
	Of    int `json:"questions"`
	Open  []struct {
		Step string `json:"step"`
	} `json:"open"`
}

func (n *network) halfWay(ctx context.Context) (round int, err error) {
	return n.watch(ctx, func(s status) bool { return s.Of > 0 && 2*s.Asked >= s.Of })
}

// watch waits until done returns true for the study's status. It returns the current round.
func (n *network) watch(ctx context.Context, done func(status) bool) (round int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(n.programs[hub], "coordinator"), "--state", n.state(hub), "watch", "--json", "--every", "10ms")
	var failed bytes.Buffer
	c.Stderr = &failed
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := c.Start(); err != nil {
		return 0, err
	}
	defer func() {
		cancel()
		_ = c.Wait() // Wait returns an error because the process was killed
	}()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var s status
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return 0, fmt.Errorf("coordinator watch: %w", err)
		}
		if done(s) {
			return s.Asked, nil
		}
	}
	return 0, fmt.Errorf("the study was not seen where it was waited for: %s", failed.String())
}

// verify runs the commands with which clients and outsiders verify a run.
func (n *network) verify(ctx context.Context) error {
	bundle := filepath.Join(n.dir, "bundle")
	if _, err := n.command(ctx, hub, "coordinator", "--state", n.state(hub), "bundle", "--out", bundle); err != nil {
		return err
	}
	if _, err := n.command(ctx, hub, "coordinator", "verify", bundle); err != nil {
		return err
	}
	return each(n.clients, func(id string) error {
		_, err := n.command(ctx, id, "client", "--state", n.state(id), "ledger", "verify")
		return err
	})
}

func (n *network) check(ctx context.Context) (*posterior, error) {
	if err := n.verify(ctx); err != nil {
		return nil, err
	}
	say("  the bundle and %d ledgers are as they should be", len(n.clients))
	exact, err := n.command(ctx, hub, "coordinator", "--state", n.state(hub), "posterior", "--csv")
	if err != nil {
		return nil, err
	}
	table, err := n.command(ctx, hub, "coordinator", "--state", n.state(hub), "posterior")
	if err != nil {
		return nil, err
	}
	return &posterior{exact, string(table)}, os.WriteFile(filepath.Join(n.dir, "posterior.csv"), exact, 0o600)
}

// command runs a program of the given party and returns its output.
func (n *network) command(ctx context.Context, id, program string, args ...string) ([]byte, error) {
	return command(ctx, n.programs[id], program, args...)
}

// command runs a program in a folder and returns its output.
func command(ctx context.Context, folder, program string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, filepath.Join(folder, program), args...)
	var failed bytes.Buffer
	c.Stderr = &failed
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(append([]string{program}, args...), " "), err, failed.String())
	}
	return out, nil
}
