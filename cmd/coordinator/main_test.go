package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fedpvi/internal/testing/manual"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"coordinator": func() { os.Exit(run(os.Args[1:])) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata"})
}

func TestManualPageHasEveryCommandAndFlag(t *testing.T) { manual.Check(t, run, new(commands), nil) }
