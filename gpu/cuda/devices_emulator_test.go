//go:build emulator && !cuda

package cuda

import "fedpvi/gpu/cuda/emulator"

// devices are emulated devices that run threads in different orders. All must give the
// same results.
var devices = []Device{
	&emulator.Device{Order: emulator.Forward}, &emulator.Device{Order: emulator.Backward}, &emulator.Device{Order: emulator.Shuffled},
}
