//go:build cuda

package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A program built with CUDA must start without a GPU driver, and must use a driver if one is
// installed. In make test-cuda, the driver is an emulator that runs the kernels on the CPU.
func TestCUDAScripts(t *testing.T) {
	library := os.Getenv("FEDPVI_EMULATED")
	if library == "" {
		t.Skip("FEDPVI_EMULATED names no folder with an emulated driver: run make test-cuda")
	}
	testscript.Run(t, testscript.Params{Dir: "testdata/cuda", RequireExplicitExec: true, Setup: func(e *testscript.Env) error {
		e.Setenv("EMULATED", library)
		for name, n := range map[string]int{"train.idx": 200, "test.idx": 20} {
			if err := os.WriteFile(filepath.Join(e.WorkDir, name), images(n), 0o600); err != nil {
				return err
			}
		}
		return nil
	}})
}

// images returns an IDX file with n images of 6 by 5 pixels. Each image shows a bar.
func images(n int) (file []byte) {
	for _, x := range []int{0x803, n, 6, 5} {
		file = binary.BigEndian.AppendUint32(file, uint32(x))
	}
	for i := range n {
		for j := range 30 {
			file = append(file, map[bool]byte{true: 250, false: 3}[j%5 == i%5])
		}
	}
	return file
}
