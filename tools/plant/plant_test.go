package main

import (
	"path/filepath"
	"strings"
	"testing"
)

var root = filepath.Join("..", "..")

// Every fault can be planted in the code as it is, and the audit finds it once; and
// nothing where nothing is planted. make audit does so twenty times.
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

// Every fault of the daemons can be planted in the code as it is. make chaos-plants has
// simulated worlds look for them.
func TestFaultsOfTheDaemonsArePlanted(t *testing.T) {
	if _, err := overlay(root, t.TempDir(), daemonFaults); err != nil {
		t.Error(err)
	}
}

// An anchor that the code has moved away from is an error, not a fault that is
// never planted.
func TestLostAnchors(t *testing.T) {
	for _, text := range []string{"nothing\n", "anchor\nanchor\n"} {
		if _, err := (edit{file: "a.go", anchor: "anchor", after: "x"}).apply(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	if _, err := overlay(root, t.TempDir(), []fault{{name: "lost", edits: []edit{{file: "dpmech/gate.go", anchor: "no such line"}}}}); err == nil {
		t.Error("a lost anchor gives no error")
	}
}

// So it is in simulated worlds.
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

// A missed fault and a false alarm are failures.
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
