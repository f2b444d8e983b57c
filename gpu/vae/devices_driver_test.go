//go:build cuda

package vae

import (
	"fmt"
	"os"
	"testing"

	"fedpvi/gpu/cuda"
	"fedpvi/gpu/cuda/driver"
	"fedpvi/gpu/cuda/kernel"
)

// devices has the driver's first GPU, which may be emulated.
var devices []cuda.Device

func TestMain(m *testing.M) {
	d, err := driver.Start(0, kernel.PTX)
	if err != nil {
		fmt.Println("no test of kernels was run:", err)
		return
	}
	fmt.Println("kernels run on", d.Name())
	devices = []cuda.Device{d}
	code := m.Run()
	if err := d.Close(); err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}
