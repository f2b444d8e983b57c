//go:build emulator

package speed

import (
	"testing"

	"fedpvi/gpu/cuda/emulator"
)

// The test runs the steps of one visit on a device, and then the steps of many visits at once.
func TestWorkOnADevice(t *testing.T) {
	p, err := newProblem()
	if err != nil {
		t.Fatal(err)
	}
	d := &emulator.Device{}
	if err := p.visit(2, d); err != nil {
		t.Error(err)
	}
	if err := p.visits(1, d); err != nil {
		t.Error(err)
	}
}
