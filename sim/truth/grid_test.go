package truth

import (
	"bytes"
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// One of the twelve settings multiplies the default clip and step size by 1. It must have the same
// scores as a study that sets neither.
func TestGrid(t *testing.T) {
	cell := find(t, "family=logistic,records=400,coefficients=3,unit=record,clients<=10")
	out := filepath.Join(t.TempDir(), "grid")
	o := Options{Cells: []Cell{*cell}, Replications: 1, Seed: 1, Grid: true, Out: out, Clock: noClock}
	if err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	outcomes, err := Read(out)
	if err != nil {
		t.Fatal(err)
	}
	grid := outcomes[0].Replications[0].Grid
	if len(grid) != 12 {
		t.Fatalf("%d settings", len(grid))
	}
	f, err := cell.federation(1, []study.Override{
		{Key: "inference.solver", Value: `"dp-svi"`}, {Key: "inference.intervals", Value: `"none"`}, {Key: "inference.rounds", Value: gridRounds},
	})
	if err != nil {
		t.Fatal(err)
	}
	rule := f.score(context.Background())
	if at := grid[7]; at.Log != rule.Log || *at.Accuracy != *rule.Accuracy || grid[0].Log == rule.Log {
		t.Errorf("the setting with both multiples 1 has the scores %+v, and the rule has %+v", at, rule)
	}
	var text bytes.Buffer
	if err := WriteGrid(&text, outcomes); err != nil || !strings.Contains(text.String(), "Loss of the default") {
		t.Errorf("%v, table:\n%s", err, &text)
	}
}

// If a file has outcomes without the grid, outcomes with the grid must not be added to it.
func TestGridNeedsItsOwnFile(t *testing.T) {
	cell := find(t, "family=linear,records=400,coefficients=3,unit=record,clients<=10")
	o := Options{Cells: []Cell{*cell}, Replications: 1, Seed: 1, Out: filepath.Join(t.TempDir(), "plain"), Clock: noClock}
	if err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	o.Grid = true
	if err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "without the grid") {
		t.Errorf("error %v", err)
	}
}

// The best setting is the one with the best average. A setting that failed once does not count.
func TestLossOf(t *testing.T) {
	scores := func(first, rule, last float64) (grid []Score) {
		for range 12 {
			grid = append(grid, Score{Log: -9})
		}
		grid[0].Log, grid[7].Log, grid[11].Log = first, rule, last
		return grid
	}
	a := &Replication{Log: -1, Grid: scores(-.5, -2, -1)}
	b := &Replication{Log: -3, Grid: scores(-.5, -1, -2)}
	b.Grid[0].Failed = "a step was not finite"
	b.Grid[11].Log = -1.5
	l, ok := lossOf([]Outcome{{Replications: []*Replication{a}}, {Replications: []*Replication{b}}})
	if !ok || l.log != -2 || l.rule != -1.5 || l.best != -1.25 || l.clip != 2 || l.size != 2 || l.settled != 11 || !math.IsNaN(l.accuracy) {
		t.Errorf("loss %+v, %v", l, ok)
	}
	if _, ok := lossOf([]Outcome{{Replications: []*Replication{{}}}}); ok {
		t.Error("a replication without a grid has a loss")
	}
	var text bytes.Buffer
	astray := Outcome{Cell: Cell{Number: 51}, Replications: []*Replication{{Grid: scores(1, 2, 3), Failed: "the posterior overflows"}}}
	if err := WriteGrid(&text, []Outcome{astray}); err != nil || !strings.Contains(text.String(), "failed: [51]") {
		t.Errorf("%v, text %q", err, &text)
	}
}
