package main

import (
	"fmt"
	"os"

	"fedpvi/gpu/device"
	"fedpvi/sim"
)

// deviceFlag chooses where private gradient steps are computed.
type deviceFlag struct {
	Device device.Choice `help:"Where private gradient steps are computed: auto (a GPU where there is one that can), cpu, or cuda:N and nothing else." default:"auto" placeholder:"DEVICE"`
}

// devices returns those of the choice. It says on standard error which they are.
func (f deviceFlag) devices(quiet bool) *sim.Devices {
	return sim.NewDevices(f.Device, func(line string) {
		if !quiet {
			fmt.Fprintln(os.Stderr, line)
		}
	})
}
