//go:build emulator

package speed

import (
	"testing"

	"fedpvi/gpu/cuda/emulator"
)

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
