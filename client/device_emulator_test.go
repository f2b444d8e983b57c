//go:build emulator

package client_test

import (
	"fedpvi/gpu/cuda/emulator"
	"fedpvi/gpu/device"
)

type emulated struct{ emulator.Device }

func (*emulated) Close() error { return nil }

func devicesOfTests() map[string]device.Device {
	return map[string]device.Device{"one that fails": gone{}, "one that works": new(emulated)}
}
