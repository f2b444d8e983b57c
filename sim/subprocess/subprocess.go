// Package subprocess runs a solver of simulations as another program, such as one in Python.
//
// The program reads requests from standard input and writes answers to standard output, each as one
// JSON object on one line. The first request describes the client:
//
//	{"family": "full", "names": ["intercept", "x"], "records": [{"x": [1, 0.5], "y": 2}, ...]}
//
// Here x has the regressors and y the outcome of a record, on the model's scale. The answer is {}.
// Each further request asks for a factor:
//
//	{"mean": [...], "natural": [...], "cavity": [...], "weight": 2, "tied": false}
//
// These are the fields of [solver.Problem]. Natural parameters are in the order of package
// gaussian. The answer is {"factor": [...]}, the natural parameters of the new factor. An answer
// {"error": "text"} ends the simulation. The program ends when its input ends.
package subprocess

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi/solver"
	"fedpvi/sim"
)

const (
	maxAnswer = 64 << 20 // maximum length of an answer in bytes
	maxNotes  = 4 << 10  // maximum number of bytes from standard error that an error message quotes
)

// A Command is a program that computes factors.
type Command struct {
	Args    []string // path of the program and its arguments; no shell reads them
	Timeout time.Duration
}

// New starts the program for the client of, and returns a solver that asks the program for factors.
// It is a [sim.NewSolver]. When the solver becomes unreachable, the program's input is closed, so
// that the program ends.
func (c Command) New(of sim.Client) (solver.Solver, error) {
	if len(c.Args) == 0 || c.Timeout <= 0 {
		return nil, errors.New("a solver in another program needs a command and a time limit for its answers")
	}
	run := exec.Command(c.Args[0], c.Args[1:]...)
	p := &process{command: c, run: run, notes: new(tail)}
	run.Stderr = p.notes
	run.WaitDelay = c.Timeout
	input, err := run.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := run.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := run.Start(); err != nil {
		return nil, err
	}
	p.input, p.lines = input, bufio.NewScanner(output)
	p.lines.Buffer(nil, maxAnswer)
	runtime.AddCleanup(p, end, ending{input, run})
	if err := p.ask(describe(of), &struct{}{}); err != nil {
		return nil, err
	}
	return p, nil
}

// An ending holds the resources of a process that must be released when the solver has become
// unreachable. It must not refer to the solver.
type ending struct {
	input io.Closer
	run   *exec.Cmd
}

// end closes a program's input, so that the program ends, and releases its resources in the
// background. If the program has ended before, its errors were reported then.
func end(e ending) {
	_ = e.input.Close()
	go func() { _ = e.run.Wait() }()
}

type record struct {
	X []float64 `json:"x"`
	Y float64   `json:"y"`
}

type client struct {
	Family  string   `json:"family"`
	Names   []string `json:"names"`
	Records []record `json:"records"`
}

func describe(of sim.Client) client {
	out := client{Family: of.Model.Study.Inference.Q, Names: of.Model.Names(), Records: []record{}}
	for i := range of.Records.Len() {
		x, y := of.Records.Record(i)
		out.Records = append(out.Records, record{x, y})
	}
	return out
}

// A process is a running program.
type process struct {
	command Command
	run     *exec.Cmd
	input   io.WriteCloser
	lines   *bufio.Scanner
	notes   *tail
	dead    error // reason why the program was stopped; nil while it runs
}

// ask sends a request and reads the answer. If that fails, it stops the program.
func (p *process) ask(request, answer any) error {
	if p.dead != nil {
		return p.dead
	}
	line, err := json.Marshal(request)
	if err == nil {
		err = p.exchange(append(line, '\n'), answer)
	}
	if err != nil {
		_ = p.input.Close()
		_ = p.run.Process.Kill() // the program may have ended already
		_ = p.run.Wait()
		p.dead = fmt.Errorf("the solver %q: %w%s", p.command.Args[0], err, p.notes.text())
	}
	return p.dead
}

// exchange writes a line to the program and reads its answer, which must come within the command's
// Timeout.
func (p *process) exchange(line []byte, answer any) error {
	ended := make(chan error, 1)
	go func() {
		_, err := p.input.Write(line)
		if p.lines.Scan() {
			err = nil
		} else {
			err = errors.Join(errors.New("it ended without an answer"), err, p.lines.Err())
		}
		ended <- err
	}()
	timer := time.NewTimer(p.command.Timeout)
	defer timer.Stop()
	select {
	case err := <-ended:
		if err != nil {
			return err
		}
	case <-timer.C:
		return fmt.Errorf("no answer within %v", p.command.Timeout)
	}
	var failed struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(p.lines.Bytes(), &failed); err != nil {
		return fmt.Errorf("its answer is not a JSON object: %w", err)
	}
	if failed.Error != "" {
		return errors.New(failed.Error)
	}
	return json.Unmarshal(p.lines.Bytes(), answer)
}

type problem struct {
	Mean    []float64 `json:"mean"`
	Natural []float64 `json:"natural"`
	Cavity  []float64 `json:"cavity"`
	Weight  float64   `json:"weight"`
	Tied    bool      `json:"tied"`
}

// Propose implements [solver.Solver]. All numbers in an answer are finite, because JSON has neither
// NaN nor infinity.
func (p *process) Propose(dst []float64, of solver.Problem, _ *dpmech.Stream) ([]accountant.Event, error) {
	var answer struct {
		Factor []float64 `json:"factor"`
	}
	if err := p.ask(problem{of.Mean, of.Natural, of.Cavity, of.Weight, of.Tied}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Factor) != len(dst) {
		return nil, fmt.Errorf("the solver %q answered with a factor of %d numbers, not %d", p.command.Args[0], len(answer.Factor), len(dst))
	}
	copy(dst, answer.Factor)
	return nil, nil
}

// State implements [solver.Solver]. Simulations are not resumed, so there is no state to save.
func (p *process) State() []byte { return nil }

// Restore implements [solver.Solver].
func (p *process) Restore(state []byte) error {
	if state != nil {
		return errors.New("a solver in another program has no state to restore")
	}
	return nil
}

// A tail stores the last bytes that were written to it.
type tail struct {
	lock sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.kept = append(t.kept, b...)
	t.kept = t.kept[max(0, len(t.kept)-maxNotes):]
	return len(b), nil
}

// text returns the last part of the program's standard error, for an error message.
func (t *tail) text() string {
	t.lock.Lock()
	defer t.lock.Unlock()
	if len(t.kept) == 0 {
		return ""
	}
	return "\nIts standard error ends with:\n" + string(t.kept)
}
