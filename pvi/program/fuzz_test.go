package program_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"fedpvi/internal/testing/memory"
	"fedpvi/pvi/program"
	"fedpvi/pvi/program/syntax"
)

// perByte is the number of words of the tree for each byte of a text, roughly.
const perByte = 8

// The parser and the compiler do not panic, and the memory that they allocate is bounded. They
// refuse a program with messages that can be printed.
func FuzzCompile(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.stan")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
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
