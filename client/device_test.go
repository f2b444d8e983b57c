package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"fedpvi/client"
	"fedpvi/gpu/device"
)

// gone is a device that was there when it was taken.
type gone struct{}

var errGone = errors.New("it fell off the bus")

func (gone) Name() string                                  { return "cuda:7" }
func (gone) Alloc(int) (uint64, error)                     { return 0, errGone }
func (gone) Free(uint64) error                             { return errGone }
func (gone) Write(uint64, []uint64) error                  { return errGone }
func (gone) Read([]uint64, uint64) error                   { return errGone }
func (gone) Launch(string, int, int, int, ...uint64) error { return errGone }
func (gone) Close() error                                  { return nil }

// source hands devices out.
type source struct {
	devices  []device.Device
	demanded bool
	taken    chan struct{} // one for each time
}

func newSource(demanded bool, devices ...device.Device) *source {
	return &source{devices, demanded, make(chan struct{}, 100)}
}

func (s *source) Take() ([]device.Device, error, error) {
	s.taken <- struct{}{}
	return s.devices, nil, nil
}

func (s *source) Demanded() bool { return s.demanded }

const (
	ofRecords  = "unit = \"record\"\nnoise_multiplier = 20.0\ndelta = 1e-5"
	everyone   = "rounds = 2\nsteps = 3"
	someOfThem = "rounds = 2\nsteps = 3\nsampling_rate = 0.3"
)

// With devices the daemons say what the simulator says with devices, to the last bit: and
// the same where the devices fail and the processor takes over.
func TestDevicesOfTheSimulatorAndTheDaemons(t *testing.T) {
	for name, d := range devicesOfTests() {
		st, records, _, natural := simulatedOn(t, federatedStudy(logistic, everyone, ofRecords, ""), []device.Device{d})
		n := newRealNetwork(t, st, records)
		s := newSource(false, d)
		n.device = s
		for m, e := range n.play() {
			if e == nil {
				t.Fatal(name)
			}
			var result struct {
				Natural []float64 `json:"natural"`
			}
			check(t, json.Unmarshal(e.Result, &result))
			for i, x := range natural {
				if math.Float64bits(x) != math.Float64bits(result.Natural[i]) {
					t.Errorf("%s: λ[%d] of %s is %v, in the simulator %v", name, i, n.clients[m], result.Natural[i], x)
				}
			}
		}
		if len(s.taken) != len(n.clients) {
			t.Errorf("%s: %d clients have taken a device", name, len(s.taken))
		}
	}
}

// Batches that a device draws assume more than those of the processor: nobody's device
// does so unasked, and what is then released is what it would be without one.
func TestADeviceDrawsNoBatchesUnasked(t *testing.T) {
	sampled := federatedStudy(logistic, someOfThem, ofRecords, "")
	st, records, _, natural := simulated(t, sampled)
	n := newRealNetwork(t, st, records)
	s := newSource(false, gone{})
	n.device = s
	for _, e := range n.play() {
		if e == nil || !strings.Contains(string(e.Result), fmt.Sprint(natural[0])) {
			t.Errorf("another posterior: %s", e.Result)
		}
	}
	if len(s.taken) > 0 {
		t.Errorf("a device was taken %d times", len(s.taken))
	}
}

// Who demands a device gets it or an error, not the processor.
func TestADemandedDevice(t *testing.T) {
	probit := strings.Replace(string(federatedStudy(logistic, everyone, ofRecords, "")), `family = "logistic"`, `family = "probit"`, 1)
	st, records, _, _ := simulated(t, []byte(probit))
	n := newRealNetwork(t, st, records)
	s := newSource(true, gone{})
	n.device = s
	done := make(chan error)
	for m := range n.clients {
		go func() {
			_, err := n.run(t.Context(), m)
			done <- err
		}()
	}
	for range n.clients {
		if err := <-done; err == nil || client.CodeOf(err) != client.Usage || !strings.Contains(err.Error(), "probit") {
			t.Errorf("a study that no device takes: %v", err)
		}
	}
	if len(s.taken) > 0 {
		t.Error("a device was taken for nothing")
	}
}
