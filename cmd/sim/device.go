package main

import (
	"fmt"
	"os"

	"fedpvi/gpu/device"
	"fedpvi/sim"
)

// deviceFlag selects where private gradient steps are computed.
type deviceFlag struct {
	Device device.Choice `help:"Where to compute private gradient steps: auto (a suitable GPU, else the processor), cpu, or cuda:N and nothing else." default:"auto" placeholder:"DEVICE"`
}

// devices returns the selected devices. It prints them on standard error unless quiet is set.
func (f deviceFlag) devices(quiet bool) *sim.Devices {
	return sim.NewDevices(f.Device, func(line string) {
		if !quiet {
			fmt.Fprintln(os.Stderr, line)
		}
	})
}
