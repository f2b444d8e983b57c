//go:build emulator && !cuda

package vae

import (
	"fedpvi/gpu/cuda"
	"fedpvi/gpu/cuda/emulator"
)

// devices run threads in different orders with the same results.
var devices = []cuda.Device{
	&emulator.Device{Order: emulator.Forward}, &emulator.Device{Order: emulator.Backward}, &emulator.Device{Order: emulator.Shuffled},
}
