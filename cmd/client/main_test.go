package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fedpvi/internal/testing/manual"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"client": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true})
}

func TestManualPageHasEveryCommandAndFlag(t *testing.T) {
	manual.Check(t, run, new(commands), program.Words)
}
