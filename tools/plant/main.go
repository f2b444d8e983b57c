// Command plant adds faults to copies of the code that protects records. It checks that sim audit
// finds each fault and reports nothing about the unchanged code.
//
// A fault is a few lines that an overlay of the go command adds to a file, so the repository
// contains no hooks.
//
// With -worlds it adds faults to the daemons, which the simulations (called worlds) of
// internal/testing/chaos must find. With -tests it adds faults that named tests must find: faults
// of secure sums, and faults that break the promise that no party can spoil a study unnoticed.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
)

func main() {
	var o options
	flag.IntVar(&o.repeat, "repeat", 20, "audits of the program as it is, and of each fault, with as many seeds")
	flag.IntVar(&o.runs, "runs", 600, "how often an attack is played in each world")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "audits at a time")
	worlds := flag.Int("worlds", 0, "simulated worlds for each fault of the daemons, in the place of audits")
	tests := flag.Bool("tests", false, "plant faults that named tests must find, in the place of audits")
	flag.StringVar(&o.only, "only", "", "names of faults, separated by commas; by default all")
	flag.StringVar(&o.root, "root", ".", "folder of the repository")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "Plant faults in a copy of the code, and see whether sim audit finds them.\n\n  go run ./tools/plant              all of them, twenty times\n  go run ./tools/plant -repeat 1    a quick look\n  go run ./tools/plant -worlds 1000 faults of the daemons, in simulated worlds\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	look := o.run
	if *worlds > 0 {
		look = func(w io.Writer) error { return o.worlds(w, *worlds) }
	}
	if *tests {
		look = o.tested
	}
	if err := look(os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "plant: %v\n", err)
		os.Exit(1)
	}
}
