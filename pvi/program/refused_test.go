package program_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedpvi/pvi/model/ir"
	"fedpvi/pvi/program"
	"fedpvi/pvi/program/syntax"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// usual returns data with all columns and constants that the refused programs use.
func usual() program.Data {
	column := func(name string, low, high float64, whole bool, entries ...string) ir.Column {
		return ir.Column{Name: name, Lower: low, Upper: high, Integer: whole, Entries: ir.NamesOf(entries...)}
	}
	return program.Data{
		Name: "test", Records: "N",
		Columns: map[string]ir.Column{
			"x": column("x", -5, 5, false), "z": column("z", -5, 5, false), "age": column("age", 18, 100, false),
			"y": column("y", 0, 1, true), "k": column("k", 0, 50, true), "g": column("g", 1, 12, true),
			"w": column("w", -9, 9, false, "a", "b", "c"),
		},
		Constants: map[string]program.Constant{
			"J": {Values: []float64{10}}, "K": {Values: []float64{2}}, "T": {Values: []float64{3}},
			"mean(age)": {Values: []float64{54}}, "sd(age)": {Values: []float64{15}}, "max(age)": {Values: []float64{100}},
		},
	}
}

// used removes columns from data that the program does not declare, because Compile would refuse it
// otherwise.
func used(tree *syntax.Program, data program.Data) program.Data {
	declared := map[string]bool{}
	for _, d := range tree.Data {
		declared[d.Name] = true
	}
	for name := range data.Columns {
		if !declared[name] {
			delete(data.Columns, name)
		}
	}
	return data
}

// compileUsual compiles a program with the data from usual.
func compileUsual(text string, predict bool) (*program.Compiled, error) {
	tree, err := syntax.Parse(text)
	if err != nil {
		return nil, err
	}
	data := used(tree, usual())
	data.Predict = predict
	return program.Compile(tree, data)
}

// The first line of each program in testdata/refused says with which code, and at which place, the
// program must be refused.
func TestRefusedPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/refused/*.stan")
	if err != nil || len(files) < 16 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".stan"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			check(t, err)
			_, err = compileUsual(string(text), false)
			var found *syntax.Errors
			if !errors.As(err, &found) {
				t.Fatalf("not refused: %v", err)
			}
			first := found.Messages[0]
			line, column := syntax.Place(found.Text, first.At.From)
			got := fmt.Sprintf("// %s at %d:%d", first.Code, line, column)
			if want, _, _ := strings.Cut(string(text), "\n"); got != want {
				t.Errorf("%s, not %s:\n%v", got, want, err)
			}
			if strings.Contains(err.Error(), "%!") {
				t.Errorf("the message is malformed: %v", err)
			}
		})
	}
}

// Each program in testdata/followed is the refused program of the same name, changed according to
// the advice in the message. It must be accepted.
func TestFollowedAdvice(t *testing.T) {
	files, err := filepath.Glob("testdata/followed/*.stan")
	if err != nil || len(files) < 35 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		if _, err := os.Stat(filepath.Join("testdata/refused", filepath.Base(file))); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(file)
		check(t, err)
		if _, err := compileUsual(string(text), false); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
