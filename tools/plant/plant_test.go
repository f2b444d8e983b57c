package main

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedpvi/tools/plant/overlay"
	"fedpvi/tools/plant/planted"
)

var root = filepath.Join("..", "..")

// One audit must find every fault, and must find nothing in the unchanged program. The command make
// audit runs twenty audits of each program.
func TestFaultsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the simulator twice and audits it with every fault, which takes half a minute")
	}
	var table strings.Builder
	o := options{repeat: 1, runs: 300, workers: 2, root: root}
	if err := o.run(&table); err != nil {
		t.Errorf("%v\n%s", err, table.String())
	}
}

// All faults of the daemons, and all faults that named tests must find, must fit the current code
// and compile. The command make chaos-plants checks that simulations and tests find them.
func TestFaultsCompile(t *testing.T) {
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, edits := range map[string][]overlay.Edit{"daemons": editsOf(daemonFaults), "tests": editsOf(faultsOf(testedFaults))} {
		file, err := overlay.Write(root, t.TempDir(), planted.Package, edits)
		if err != nil {
			t.Fatalf("faults of %s: %v", name, err)
		}
		var packages []string
		for _, e := range edits {
			packages = append(packages, "./"+path.Dir(e.File))
		}
		slices.Sort(packages)
		if err := overlay.Build(root, file, "", slices.Compact(packages)...); err != nil {
			t.Errorf("faults of %s: %v", name, err)
		}
	}
}

func TestFoundFaultsExist(t *testing.T) {
	for name := range foundIn {
		if !slices.ContainsFunc(faults, func(f fault) bool { return f.name == name }) {
			t.Errorf("no fault has the name %q", name)
		}
	}
}

// judge must return an error if a fault is missed, and if a promise is broken without a fault.
func TestJudgement(t *testing.T) {
	for _, c := range []struct {
		find  find
		fails bool
	}{
		{find{}, false},
		{find{world: 3}, true},
		{find{fault: fault{name: "f"}, world: 3}, false},
		{find{fault: fault{name: "f"}}, true},
	} {
		if err := judge([]find{c.find}, 10); (err != nil) != c.fails {
			t.Errorf("%+v: %v", c.find, err)
		}
	}
}

// verdict must return an error if a fault is missed, and if something is found in the unchanged
// program.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		subject subject
		fails   bool
	}{
		{subject{}, false},
		{subject{found: 1}, true},
		{subject{fault: "f", found: 3}, false},
		{subject{fault: "f", found: 2}, true},
	} {
		if err := verdict([]subject{c.subject}, 3); (err != nil) != c.fails {
			t.Errorf("%+v: %v", c.subject, err)
		}
	}
}
