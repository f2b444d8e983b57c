//go:build cuda

package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A program that was built with CUDA starts without a driver, and uses one that is there:
// here the one of make test-cuda, which runs the kernels on the processor.
func TestCUDAScripts(t *testing.T) {
	library := os.Getenv("FEDPVI_EMULATED")
	if library == "" {
		t.Skip("FEDPVI_EMULATED names no folder with a driver that emulates: make test-cuda")
	}
	testscript.Run(t, testscript.Params{Dir: "testdata/cuda", RequireExplicitExec: true, Setup: func(e *testscript.Env) error {
		e.Setenv("EMULATED", library)
		return nil
	}})
}
