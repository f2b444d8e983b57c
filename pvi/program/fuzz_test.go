package program_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/formula"
	"fedpvi/pvi/program"
	"fedpvi/pvi/program/syntax"
)

// perByte is roughly the number of machine words in the syntax tree per byte of the program.
const perByte = 8

// The parser and the compiler never panic, and use a limited amount of memory. If they refuse a
// program, the messages can be printed.
func FuzzCompile(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.stan")
	check(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		var tree *syntax.Program
		memory.Bound(t, perByte*len(text), func() { tree, err = syntax.Parse(text) })
		if err == nil {
			_, err = program.Compile(tree, used(tree, usual()))
		}
		var found *syntax.Errors
		if err != nil && !errors.As(err, &found) {
			t.Fatalf("no message: %v", err)
		}
		if found != nil {
			_ = found.Error()
		}
	})
}

// A formula either becomes a program that compiles, or is refused with a message. Nothing panics.
func FuzzFormula(f *testing.F) {
	columns := formulas(f)["gaussian"].Columns
	for _, r := range formulas(f) {
		f.Add(r.Formula, r.Family)
	}
	f.Add("score ~ (age + bmi + dose + years)^8", "gaussian")
	f.Add("score ~ practice*grade*region*smoking", "student(identity)")
	f.Fuzz(func(t *testing.T, text, family string) {
		if len(text) > 1024 || len(family) > 256 {
			return
		}
		w, err := formula.Write(formula.Request{Formula: text, Family: family, Columns: columns})
		var found *syntax.Errors
		var ofFamily *formula.FamilyError
		switch {
		case errors.As(err, &found):
			_ = found.Error()
		case err != nil && !errors.As(err, &ofFamily):
			t.Fatalf("no message: %v", err)
		case err == nil:
			if _, err := syntax.Parse(w.Text); err != nil {
				t.Fatalf("the program of a formula cannot be read: %v", err)
			}
			_, err = compileFormula(w, columns)
			if err != nil && !errors.As(err, &found) {
				t.Fatalf("no message: %v", err)
			}
		}
	})
}
