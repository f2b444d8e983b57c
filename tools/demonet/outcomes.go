package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fedpvi/sim/audit"
	"fedpvi/tools/demonet/seen"
	"fedpvi/tools/plant/overlay"
)

// These are the clients in studies whose outcomes are compared. There are two files for the first
// client.
const first, second = "first", "second"

// outcomes checks that no observer can distinguish two files of one client. It runs each study
// twice, with the same noise but different files of the first client, and compares everything that
// others can observe. If all is true, it runs more studies, and checks with twenty seeds that every
// fault in processFaults is found.
func outcomes(ctx context.Context, all bool) error {
	began := time.Now()
	programs, err := builtWith("observed", append(observing(), faultEdits()...))
	if err != nil {
		return err
	}
	pairs := audit.Pairs(all)
	tasks := make([]func() error, len(pairs))
	for i, p := range pairs {
		tasks[i] = func() error {
			t := trial{pair: p, dir: filepath.Join(dir, fmt.Sprint(i)), programs: programs, seed: i + 1}
			found, err := t.run(ctx)
			if err == nil && found != "" {
				err = errors.New(found)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
			return nil
		}
	}
	if err := together(tasks); err != nil {
		return err
	}
	say("%d studies of processes, each with and without records at every corner of the domain: presence, sizes, exit codes, logs and metrics are equal, and first answers within the sensitivity. %.0f s.", len(pairs), time.Since(began).Seconds())
	if !all {
		return nil
	}
	return findFaults(ctx, programs, pairs[0])
}

// together runs tasks in parallel and returns their joined errors.
func together(tasks []func() error) error {
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	errs := make([]error, len(tasks))
	for i, task := range tasks {
		g.Go(func() error {
			errs[i] = task()
			return nil
		})
	}
	_ = g.Wait() // always nil, because the errors are in errs
	return errors.Join(errs...)
}

// observer is the package whose functions the edits call.
const observer = "fedpvi/tools/demonet/seen"

func builtWith(name string, edits []overlay.Edit) (string, error) {
	folder, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	// not in the repository, where the go command would treat the copies as a package
	copies, err := os.MkdirTemp("", "outcomes")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(copies)
	files, err := overlay.Write(root, copies, observer, edits)
	if err != nil {
		return "", err
	}
	return folder, overlay.Build(root, files, folder+string(filepath.Separator), "./cmd/client", "./cmd/coordinator")
}

// A trial runs a study with each of the two files of a pair and compares the runs.
type trial struct {
	pair     audit.Pair
	dir      string
	programs string
	seed     int
	fault    string // fault in the programs; empty for none
}

// run describes the first observable difference between the runs with the two files, or returns ""
// if there is none.
func (t *trial) run(ctx context.Context) (string, error) {
	if err := t.files(); err != nil {
		return "", err
	}
	n, err := foundAnywhere(ctx, filepath.Join(t.dir, "joined"), filepath.Join(t.dir, "0"), []string{first, second}, t.programs)
	if err != nil {
		return "", err
	}
	defer n.stop()
	if err := t.joined(ctx, n); err != nil {
		return "", err
	}
	var worlds [2]*world
	for k := range worlds {
		if worlds[k], err = t.play(ctx, n, k); err != nil {
			return "", err
		}
	}
	if d := worlds[1].differs(worlds[0]); d != "" {
		return d, nil
	}
	return t.pair.Far(worlds[0].answer, worlds[1].answer)
}

// files writes the study and the record files for both runs.
func (t *trial) files() error {
	for k, text := range t.pair.Files {
		records := filepath.Join(t.dir, fmt.Sprint(k))
		if err := os.MkdirAll(records, 0o700); err != nil {
			return err
		}
		for name, text := range map[string]string{"study.toml": t.pair.Study, first + ".csv": text, second + ".csv": t.pair.Others} {
			if err := os.WriteFile(filepath.Join(records, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// joined makes the clients join and approve the study, and then stops the coordinator.
func (t *trial) joined(ctx context.Context, n *network) error {
	n.environment = t.environment
	if err := n.start(ctx, hub); err != nil {
		return err
	}
	if err := each(n.clients, func(id string) error { return n.join(ctx, id) }); err != nil {
		return err
	}
	if err := n.ask(hub, os.Interrupt); err != nil {
		return err
	}
	return os.RemoveAll(n.socket())
}

// environment returns the variables for a party's process: the seed of its noise, the file in which
// it records its actions, and the fault.
func (t *trial) environment(id, state string) []string {
	seed := 3 * t.seed
	if id == second {
		seed++
	}
	return []string{seen.SeedVariable + "=" + fmt.Sprint(seed), seen.SeenVariable + "=" + state + ".seen", seen.FaultVariable + "=" + t.fault}
}

// A process is killed after this time, because it may wait for ever if another process has failed.
const most = time.Minute

// play runs the study with file k of the first client, in a copy of joined. It returns everything
// that others can observe.
func (t *trial) play(ctx context.Context, joined *network, k int) (*world, error) {
	n := *joined
	n.dir, n.records, n.running = filepath.Join(t.dir, fmt.Sprintf("world-%d", k)), filepath.Join(t.dir, fmt.Sprint(k)), map[string]*exec.Cmd{}
	defer n.stop()
	parties := []string{hub, first, second}
	if err := each(parties, func(id string) error { return copyState(n.state(id), joined.state(id)) }); err != nil {
		return nil, err
	}
	if err := n.start(ctx, parties...); err != nil {
		return nil, err
	}
	w := &world{exits: map[string]int{}, logs: map[string][]string{}, metrics: map[string][]string{}}
	for _, id := range []string{first, second, hub} {
		code, err := n.exit(id, most)
		if err != nil {
			return nil, err
		}
		if w.exits[id] = code; code != 0 {
			break // otherwise the remaining processes would wait for ever
		}
	}
	n.stop()
	if err := each(parties, func(id string) error { return w.read(id, n.state(id)) }); err != nil {
		return nil, err
	}
	if t.pair.Asynchronous {
		w.forgetOrder()
	}
	return w, nil
}

// copyState copies one or more state directories. Other users cannot read the copy.
func copyState(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if d.IsDir() {
			mode = 0o700
		}
		return os.Chmod(path, mode)
	})
}

// exit waits for the end of a process and returns its exit code. After the time most, it kills the
// process and returns −1.
func (n *network) exit(id string, most time.Duration) (int, error) {
	c := n.running[id]
	timer := time.AfterFunc(most, func() { _ = c.Process.Kill() }) // the process may already have ended
	defer timer.Stop()
	delete(n.running, id)
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	return c.ProcessState.ExitCode(), nil
}

// A world is everything that others can observe while a study runs once.
type world struct {
	exits   map[string]int
	logs    map[string][]string
	metrics map[string][]string
	sizes   [][]int // for each message of the first client, the plan's number and the sizes in bytes
	plans   []int   // plans that the first client answered
	answer  []byte  // first answer of the first client
}

// differs describes the first difference between two worlds, or returns "" if there is none.
func (w *world) differs(from *world) string {
	switch {
	case !reflect.DeepEqual(w.exits, from.exits):
		return fmt.Sprintf("exit codes are %v, without the records %v", w.exits, from.exits)
	case !slices.Equal(w.plans, from.plans):
		return fmt.Sprintf("plans %v were answered, without the records %v", w.plans, from.plans)
	case !reflect.DeepEqual(w.sizes, from.sizes):
		return fmt.Sprintf("messages have the sizes %v, without the records %v", w.sizes, from.sizes)
	}
	for _, id := range []string{first, second, hub} {
		for _, kind := range []struct {
			says    string
			of, was []string
		}{{"log", w.logs[id], from.logs[id]}, {"metrics", w.metrics[id], from.metrics[id]}} {
			if slices.Equal(kind.of, kind.was) {
				continue
			}
			i := 0
			for i < min(len(kind.of), len(kind.was)) && kind.of[i] == kind.was[i] {
				i++
			}
			return fmt.Sprintf("the %s of the %s say %q, without the records %q", kind.says, id, kind.of[i:min(i+1, len(kind.of))], kind.was[i:min(i+1, len(kind.was))])
		}
	}
	return ""
}

// read reads the log and the recorded actions of a party.
func (w *world) read(id, state string) error {
	log, err := os.ReadFile(state + ".log")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(log)) {
		if !released.MatchString(line) {
			w.logs[id] = append(w.logs[id], timeless(line))
		}
	}
	if id == hub { // the operating system decides which client calls first
		slices.Sort(w.logs[id])
	}
	file, err := os.Open(state + ".seen")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	for lines := json.NewDecoder(file); lines.More(); {
		var s seen.Deed
		if err := lines.Decode(&s); err != nil {
			return err
		}
		w.note(id, s)
	}
	return nil
}

func (w *world) note(id string, s seen.Deed) {
	w.metrics[id] = append(w.metrics[id], slices.DeleteFunc(s.Metrics, released.MatchString)...)
	if id != first {
		return
	}
	if s.Release != nil {
		w.plans = append(w.plans, s.Plan)
		if w.answer == nil {
			w.answer = s.Release
		}
	}
	if s.Sizes != nil {
		w.sizes = append(w.sizes, append([]int{s.Plan}, s.Sizes...))
	}
}

// forgetOrder removes details that depend on the clock from an asynchronous study: plan numbers,
// the order of log lines, and how often clients asked for new entries.
func (w *world) forgetOrder() {
	clear(w.plans)
	for _, s := range w.sizes {
		s[0] = 0
	}
	for _, lines := range w.logs {
		for i, line := range lines {
			lines[i] = numbers.ReplaceAllString(line, "")
		}
		slices.Sort(lines)
	}
	for id, lines := range w.metrics {
		w.metrics[id] = slices.DeleteFunc(lines, func(line string) bool {
			return strings.Contains(line, "Standing") || strings.Contains(line, "Entry")
		})
	}
}

// numbers matches the numbers of plans and entries in log lines.
var numbers = regexp.MustCompile(`"(ask|entry|question)":\d+,?`)

// released matches lines and metrics about a round's verdict and about the influence of answers.
// Both follow from released numbers, which may differ between the runs.
var released = regexp.MustCompile("a round was (accepted|rejected)|verdict|influence of an answer|an answer is unlike the others|fedpvi_answer_norm")

func timeless(line string) string {
	fields := map[string]any{}
	if json.Unmarshal([]byte(line), &fields) != nil {
		return line
	}
	delete(fields, "time")
	text, err := json.Marshal(fields)
	if err != nil {
		return line
	}
	return string(text)
}
