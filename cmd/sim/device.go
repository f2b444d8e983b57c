package main

import (
	"fmt"
	"os"

	"fedpvi/gpu/device"
	"fedpvi/sim"
)

// deviceFlag selects the CPU or GPUs for private gradient steps.
type deviceFlag struct {
	Device device.Choice `help:"Where to compute private gradient steps: auto (a suitable GPU, or else the processor), cpu, or cuda:N (only this GPU)." default:"auto" placeholder:"DEVICE"`
}

// devices prepares the selected devices, and prints their names unless quiet is set.
func (f deviceFlag) devices(quiet bool) *sim.Devices {
	return sim.NewDevices(f.Device, func(line string) {
		if !quiet {
			fmt.Fprintln(os.Stderr, line)
		}
	})
}
