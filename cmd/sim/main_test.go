package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fedpvi/internal/testing/manual"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sim": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, Setup: func(e *testscript.Env) error {
		e.Setenv("GOGC", os.Getenv("GOGC")) // testscript does not pass this variable on
		return nil
	}})
}

func TestManualPageHasEveryCommandAndFlag(t *testing.T) {
	manual.Check(t, run, new(commands), program.Words)
}
