//go:build !emulator

package client_test

import "fedpvi/gpu/device"

func devicesOfTests() map[string]device.Device {
	return map[string]device.Device{"one that fails": gone{}}
}
