package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fedpvi/pvi/words"
	"fedpvi/tools/plant/planted"
)

// A find tells how simulations (called worlds) of the daemons with one fault turned out.
type find struct {
	fault fault
	world int // number of the first world that broke a promise; 0 if none did
	says  string
	err   error
}

// worlds simulates the daemons with each fault until a simulation, called a world, breaks a
// promise. For each fault it simulates at most most worlds. It also simulates most worlds without a
// fault.
func (o options) worlds(w io.Writer, most int) error {
	began := time.Now()
	g, err := o.plant(daemonFaults)
	if err != nil {
		return err
	}
	defer g.remove()
	program, err := g.buildTest("internal/testing/chaos")
	if err != nil {
		return err
	}
	finds := []find{{fault: fault{says: "nothing"}}}
	for _, f := range daemonFaults {
		finds = append(finds, find{fault: f})
	}
	var all errgroup.Group // try several faults at the same time
	all.SetLimit(o.workers)
	for i := range finds {
		all.Go(func() error {
			finds[i].play(g.root, program, most)
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if err := tableOfFinds(w, finds, most); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe worlds took %.0f s.\n", time.Since(began).Seconds())
	return judge(finds, most)
}

// foundMark begins the line in which a simulation reports the world and the broken promise.
const foundMark = "FOUND IN WORLD "

// play simulates the daemons with a fault until a world breaks a promise. It simulates at most most
// worlds.
func (f *find) play(root, program string, most int) {
	command := exec.Command(program, "-test.run", "PromisesHold", "-test.timeout", "0", "-runs", strconv.Itoa(most), "-until")
	command.Dir = filepath.Join(root, "internal", "testing", "chaos")
	command.Env = append(os.Environ(), planted.Variable+"="+f.fault.name, "GOGC=400")
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	for line := range strings.Lines(out.String()) {
		if rest, ok := strings.CutPrefix(line, foundMark); ok {
			number, says, _ := strings.Cut(strings.TrimSpace(rest), ": ")
			f.world, f.err = strconv.Atoi(number)
			f.says = says
			return
		}
	}
	if err != nil {
		f.err = fmt.Errorf("fault %q: %w\n%s", f.fault.name, err, out.String())
	}
}

func tableOfFinds(w io.Writer, finds []find, most int) error {
	rows := [][]string{{"planted fault", "found in world", "message"}}
	for _, f := range finds {
		at := fmt.Sprintf("none of %d", most)
		if f.world > 0 {
			at = strconv.Itoa(f.world)
		}
		rows = append(rows, []string{f.fault.says, at, shorten(f.says)})
	}
	return words.Table(w, "", 3, rows)
}

// shorten cuts a message to the width of a table cell.
func shorten(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most-1] + "…"
	}
	return s
}

// judge returns an error if a fault was missed, or if a promise was broken without any fault.
func judge(finds []find, most int) error {
	var errs []error
	for _, f := range finds {
		switch {
		case f.err != nil:
			errs = append(errs, f.err)
		case f.fault.name == "" && f.world > 0:
			errs = append(errs, fmt.Errorf("world %d of the program as it is went wrong: %s", f.world, f.says))
		case f.fault.name != "" && f.world == 0:
			errs = append(errs, fmt.Errorf("fault %s was found in none of %d worlds", f.fault.name, most))
		}
	}
	return errors.Join(errs...)
}
