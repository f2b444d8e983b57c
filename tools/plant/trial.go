package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fedpvi/pvi/words"
	"fedpvi/sim/audit"
	"fedpvi/tools/plant/overlay"
	"fedpvi/tools/plant/planted"
)

type options struct {
	repeat, runs, workers int
	root, only            string
}

// run builds the program with and without faults, audits both builds, and writes the table.
func (o options) run(w io.Writer) error {
	if o.repeat < 1 || o.runs < 1 || o.workers < 1 {
		return errors.New("repeat, runs and workers must be at least 1")
	}
	began := time.Now()
	g, err := o.plant(faults)
	if err != nil {
		return err
	}
	defer g.remove()
	shipped, broken := g.path("sim"), g.path("sim-planted")
	if err := errors.Join(overlay.Build(g.root, "", shipped, "./cmd/sim"), overlay.Build(g.root, g.files, broken, "./cmd/sim")); err != nil {
		return err
	}
	subjects := []subject{{program: shipped, says: "as it is"}}
	for _, f := range faults {
		if o.only == "" || slices.Contains(strings.Split(o.only, ","), f.name) {
			subjects = append(subjects, subject{program: broken, fault: f.name, says: f.says, ahead: foundIn[f.name]})
		}
	}
	if err := o.auditAll(subjects); err != nil {
		return err
	}
	if err := table(w, subjects, o.repeat); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d audits in %.0f s.\n", o.repeat*len(subjects), time.Since(began).Seconds())
	return verdict(subjects, o.repeat)
}

// A garden is the repository with faults planted in it.
type garden struct {
	root, folder string // folder of the repository, and folder with the edited copies of its files
	files        string // overlay file for the go command
}

// plant writes copies of the repository's files with faults in them.
func (o options) plant(faults []fault) (g *garden, err error) {
	g = new(garden)
	if g.root, err = filepath.Abs(o.root); err != nil {
		return nil, err
	}
	if g.folder, err = os.MkdirTemp("", "plant"); err != nil {
		return nil, err
	}
	if g.files, err = overlay.Write(g.root, g.folder, planted.Package, editsOf(faults)); err != nil {
		g.remove()
	}
	return g, err
}

func (g *garden) path(name string) string { return filepath.Join(g.folder, name) }

func (g *garden) remove() { os.RemoveAll(g.folder) }

// buildTest builds a package's tests with the faults, and returns the path of the test program.
func (g *garden) buildTest(of string) (string, error) {
	program := g.path(strings.ReplaceAll(of, "/", "-"))
	build := exec.Command("go", "test", "-c", "-o", program, "-overlay", g.files, "./"+of)
	build.Dir = g.root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(build.Args[1:], " "), err, out)
	}
	return program, nil
}

// foundIn gives the cases in which an audit finds certain faults. Audits of these faults begin with
// these cases, because they come late in the usual order.
var foundIn = map[string]string{
	"secure-share":    "secure sums, the coordinator and one of three clients",
	"batch-lost":      "statistics, add-remove",
	"tables-quarter":  "tables, add-remove",
	"sites-in-order":  "joint sampled gradients, 0 others, add-remove",
	"person-split":    "gradients of a person",
	"panic-for-one":   "clients",
	"refusal-for-one": "clients",
	"log-for-one":     "clients",
	"retry-for-one":   "clients",
}

// A subject is a program to audit. It has one active fault, or none.
type subject struct {
	program, fault, says string

	found int            // number of audits that found something
	ahead string         // case in which the last audit found the fault, and with which the next one begins
	by    map[string]int // number of audits, by the check that failed first
}

// auditAll audits every subject with every seed. Several audits run concurrently.
func (o options) auditAll(subjects []subject) error {
	var all errgroup.Group
	all.SetLimit(o.workers)
	var mu sync.Mutex // guards the subjects
	for i := range subjects {
		s := &subjects[i]
		s.by = map[string]int{}
		// Without a fault, a single process runs all audits, so that it computes the claimed bounds
		// only once. With a fault, each audit gets its own process, because most audits find the
		// fault before they need these bounds.
		many := 1
		if s.fault == "" {
			many = (o.repeat + o.workers - 1) / o.workers
		}
		for seed := 0; seed < o.repeat; seed += many {
			all.Go(func() error {
				mu.Lock()
				ahead := s.ahead
				mu.Unlock()
				reports, err := s.audit(seed+1, min(many, o.repeat-seed), o.runs, ahead)
				mu.Lock()
				defer mu.Unlock()
				for _, r := range reports {
					s.note(r)
				}
				return err
			})
		}
	}
	return all.Wait()
}

// audit audits the program the given number of times. With a fault, each audit stops at its first
// finding. It begins with the case ahead, in which an audit with another seed has found the fault.
// The order of the checks does not affect their results.
func (s *subject) audit(seed, many, runs int, ahead string) ([]*audit.Report, error) {
	command := exec.Command(s.program, "audit", "--json", "--quiet", "--workers", "1",
		"--seed", fmt.Sprint(seed), "--repeat", fmt.Sprint(many), "--runs", fmt.Sprint(runs))
	if s.fault != "" {
		command.Args = append(command.Args, "--first", "--ahead", ahead)
	}
	// An audit keeps little of the memory that it allocates, so it is faster if the garbage
	// collector rarely runs.
	command.Env = append(os.Environ(), planted.Variable+"="+s.fault, "GOGC=1600")
	var out, messages bytes.Buffer
	command.Stdout, command.Stderr = &out, &messages
	err := command.Run()
	var reports []*audit.Report
	for lines := json.NewDecoder(&out); len(reports) < many; {
		r := new(audit.Report)
		if jsonErr := lines.Decode(r); jsonErr != nil {
			return nil, fmt.Errorf("%s, seed %d: %w: %s", s.says, seed, errors.Join(err, jsonErr), messages.String())
		}
		reports = append(reports, r)
	}
	return reports, nil
}

func (s *subject) note(r *audit.Report) {
	if findings := r.Findings(); len(findings) > 0 {
		s.found++
		s.ahead = findings[0].Case
		s.by[findings[0].Name+" ("+findings[0].Case+")"]++
	}
}

func table(w io.Writer, subjects []subject, repeat int) error {
	rows := [][]string{{"the program", "found", "first by"}}
	for _, s := range subjects {
		rows = append(rows, []string{s.says, fmt.Sprintf("%d/%d", s.found, repeat), s.mostly()})
	}
	return words.Table(w, "", 3, rows)
}

// mostly returns the check that found the fault most often.
func (s *subject) mostly() string {
	if len(s.by) == 0 {
		return ""
	}
	return slices.MinFunc(slices.Collect(maps.Keys(s.by)), func(a, b string) int {
		return cmp.Or(s.by[b]-s.by[a], strings.Compare(a, b))
	})
}

// verdict returns an error if an audit found something in the unchanged program, or missed a fault.
func verdict(subjects []subject, repeat int) error {
	var errs []error
	for _, s := range subjects {
		switch {
		case s.fault == "" && s.found > 0:
			errs = append(errs, fmt.Errorf("%d of %d audits of the program as it is raised an alarm: %s", s.found, repeat, s.mostly()))
		case s.fault != "" && s.found < repeat:
			errs = append(errs, fmt.Errorf("fault %s was missed in %d of %d audits", s.fault, repeat-s.found, repeat))
		}
	}
	return errors.Join(errs...)
}
