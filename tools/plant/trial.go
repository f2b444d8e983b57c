package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fedpvi/sim/audit"
	"fedpvi/sim/report"
	"fedpvi/tools/plant/overlay"
	"fedpvi/tools/plant/planted"
)

type options struct {
	repeat, runs, workers int
	root, only            string
}

// run builds the program with and without faults, audits both, and writes the table.
func (o options) run(w io.Writer) error {
	if o.repeat < 1 || o.runs < 1 || o.workers < 1 {
		return errors.New("repeat, runs and workers must be at least 1")
	}
	began := time.Now()
	folder, err := os.MkdirTemp("", "plant")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	files, err := overlay.Write(root, folder, planted.Package, editsOf(faults))
	if err != nil {
		return err
	}
	shipped, broken := filepath.Join(folder, "sim"), filepath.Join(folder, "sim-planted")
	if err := errors.Join(overlay.Build(root, "", shipped, "./cmd/sim"), overlay.Build(root, files, broken, "./cmd/sim")); err != nil {
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

// foundIn maps the names of some faults to the cases in which audits find them. In the usual order
// these cases come late.
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

// A subject is a program under audit, with one active fault or none.
type subject struct {
	program, fault, says string

	found int            // number of audits that found something
	ahead string         // case in which the last audit found the fault; its checks come first
	by    map[string]int // number of audits by the name of the first failed check
}

// auditAll audits every subject with every seed. Several audits run concurrently.
func (o options) auditAll(subjects []subject) error {
	type stretch struct {
		subject    *subject
		seed, many int
	}
	tasks := make(chan stretch)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for range o.workers {
		wg.Go(func() {
			for t := range tasks {
				mu.Lock()
				ahead := t.subject.ahead
				mu.Unlock()
				reports, err := t.subject.audit(t.seed, t.many, o.runs, ahead)
				mu.Lock()
				if err != nil {
					errs = append(errs, err)
				}
				for _, r := range reports {
					t.subject.note(r)
				}
				mu.Unlock()
			}
		})
	}
	for i := range subjects {
		s := &subjects[i]
		s.by = map[string]int{}
		// Without a fault, one process runs all audits, so that it computes the claimed bounds
		// only once. With a fault, each audit has its own process, because most audits find the
		// fault before they need these bounds.
		many := 1
		if s.fault == "" {
			many = (o.repeat + o.workers - 1) / o.workers
		}
		for seed := 0; seed < o.repeat; seed += many {
			tasks <- stretch{s, seed + 1, min(many, o.repeat-seed)}
		}
	}
	close(tasks)
	wg.Wait()
	return errors.Join(errs...)
}

// audit runs the given number of audits. With a fault, each audit stops at the first finding. It
// begins with the checks of the case ahead, because an audit with another seed has found the fault
// there. The order does not change the checks, so an audit has a finding in one order if and only
// if it has one in every other order.
func (s *subject) audit(seed, many, runs int, ahead string) ([]*audit.Report, error) {
	command := exec.Command(s.program, "audit", "--json", "--quiet", "--workers", "1",
		"--seed", fmt.Sprint(seed), "--repeat", fmt.Sprint(many), "--runs", fmt.Sprint(runs))
	if s.fault != "" {
		command.Args = append(command.Args, "--first", "--ahead", ahead)
	}
	// The garbage collector is set to run rarely, because audits keep little of the memory that
	// they allocate.
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
	return report.Table(w, "", 3, rows)
}

// mostly returns the name of the check that most often found the fault.
func (s *subject) mostly() string {
	names := make([]string, 0, len(s.by))
	for name := range s.by {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if s.by[a] != s.by[b] {
			return s.by[b] - s.by[a]
		}
		return strings.Compare(a, b)
	})
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// verdict returns an error if an audit found something in the unchanged program, or if audits
// missed a fault.
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
