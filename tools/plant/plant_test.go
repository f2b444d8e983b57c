package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedpvi/tools/plant/overlay"
	"fedpvi/tools/plant/planted"
)

var root = filepath.Join("..", "..")

// The test checks that every fault can be added to the current code and that one audit finds it.
// An audit of the unchanged program must find nothing. The command make audit runs twenty audits
// of each.
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

// The test checks that every fault of the daemons can be added to the current code. The command
// make chaos-plants checks that simulations find these faults.
func TestFaultsOfTheDaemonsArePlanted(t *testing.T) {
	if _, err := overlay.Write(root, t.TempDir(), planted.Package, editsOf(daemonFaults)); err != nil {
		t.Error(err)
	}
}

// The test checks that every fault that a named test must find can be added to the current code. The
// command make chaos-plants checks that the tests find these faults.
func TestTestedFaultsArePlanted(t *testing.T) {
	if _, err := overlay.Write(root, t.TempDir(), planted.Package, editsOf(faultsOf(testedFaults))); err != nil {
		t.Error(err)
	}
}

// The test checks that foundIn names faults.
func TestFoundFaultsExist(t *testing.T) {
	for name := range foundIn {
		if !slices.ContainsFunc(faults, func(f fault) bool { return f.name == name }) {
			t.Errorf("no fault has the name %q", name)
		}
	}
}

// The test checks that judge returns an error for a missed fault, and for a broken promise
// without a fault.
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

// The test checks that verdict returns an error for a missed fault, and for a finding about the
// unchanged program.
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
