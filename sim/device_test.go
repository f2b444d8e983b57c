package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"fedpvi/gpu/device"
	"fedpvi/pvi/study"
)

const deviceStudy = `
column = [
  { name = "x", type = "numeric", bounds = [-1, 1] },
  { name = "y", type = "numeric", bounds = [0, 1] },
]
study = { version = 1, name = "device" }
model = { family = "logistic", outcome = "y", positive = ">= 0.5", terms = ["x"], standardise = "none" }
inference = { rounds = 3, steps = 20, sampling_rate = 0.2 }
privacy = { unit = "record", epsilon = 1.0, delta = 1e-5 }
federation = { max_records = 500 }
[simulation]
clients = 3
[simulation.synthetic]
records_per_client = 300
columns.x = { mean = 0, sd = 0.5 }
`

// source is a device.Source that returns fixed devices.
type source struct {
	devices  []device.Device
	notice   error
	demanded bool
	taken    int
}

func (s *source) Take() ([]device.Device, error, error) {
	s.taken++
	return s.devices, s.notice, nil
}

func (s *source) Demanded() bool { return s.demanded }

// gone is a device that opens but fails at the first launch.
type gone struct{ closed int }

var errGone = errors.New("it fell off the bus")

func (*gone) Name() string                                  { return "cuda:7" }
func (*gone) Alloc(int) (uint64, error)                     { return 0, errGone }
func (*gone) Free(uint64) error                             { return errGone }
func (*gone) Write(uint64, []uint64) error                  { return errGone }
func (*gone) Read([]uint64, uint64) error                   { return errGone }
func (*gone) Launch(string, int, int, int, ...uint64) error { return errGone }
func (g *gone) Close() error                                { g.closed++; return nil }

// playOn runs a study with the devices of from. It also returns the messages to the user.
func playOn(t *testing.T, from device.Source, workers int, overrides ...study.Override) (*Play, *Result, []string, error) {
	t.Helper()
	st := parse(t, "s.toml", deviceStudy, overrides...)
	p := prepare(t, st, Options{Seed: 1, Workers: workers})
	var said []string
	devices := NewDevices(from, func(line string) { said = append(said, line) })
	defer func() {
		if err := devices.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := devices.Use(p.Federation, 0, 1); err != nil {
		return p, nil, said, err
	}
	r, err := p.Run(context.Background(), func(Status) error { return nil })
	return p, r, said, err
}

// If a device fails, the CPU must compute the steps of all clients and rounds, and the user must
// get one message. If the user requires the device, the run must return an error.
func TestFailingDevice(t *testing.T) {
	g := new(gone)
	p, r, said, err := playOn(t, &source{devices: []device.Device{g}}, 2)
	if err != nil || r.Accepted != 3 || g.closed != 1 {
		t.Fatalf("%v; %d rounds; closed %d times", err, r.Accepted, g.closed)
	}
	if len(said) != 2 || said[0] != "computing on cuda:7" || !strings.HasPrefix(said[1], "the processor takes over: ") || !strings.Contains(said[1], errGone.Error()) {
		t.Errorf("said %q", said)
	}
	if r.ComputedOn != "cuda:7" {
		t.Errorf("computed on %q", r.ComputedOn)
	}
	onCPU, plain, said, err := playOn(t, device.CPU, 1)
	if err != nil || len(said) > 0 || plain.ComputedOn != "" {
		t.Errorf("on the CPU: error %v, messages %q, computed on %q", err, said, plain.ComputedOn)
	}
	if cost := r.Privacy.Epsilon; cost != plain.Privacy.Epsilon {
		t.Errorf("ε = %g, without a device %g", cost, plain.Privacy.Epsilon)
	}
	if p.Federation.Protocol.Digest() != onCPU.Federation.Protocol.Digest() {
		t.Error("another protocol")
	}
	if _, _, _, err := playOn(t, &source{devices: []device.Device{g}, demanded: true}, 1); !errors.Is(err, errGone) {
		t.Errorf("demanded: %v", err)
	}
}

func TestStudiesWithoutDevice(t *testing.T) {
	draws := study.Override{Key: "inference.draws", Value: "2"}
	s := &source{devices: []device.Device{new(gone)}}
	if _, r, said, err := playOn(t, s, 1, draws); err != nil || s.taken != 0 || r.ComputedOn != "" || len(said) != 1 || !strings.Contains(said[0], "one draw") {
		t.Errorf("error %v, devices opened %d times, messages %q", err, s.taken, said)
	}
	s.demanded = true
	if _, _, _, err := playOn(t, s, 1, draws); err == nil || !strings.Contains(err.Error(), "one draw") {
		t.Errorf("demanded: %v", err)
	}
	none := &source{notice: errors.New("no driver")}
	if _, r, said, err := playOn(t, none, 1); err != nil || r.ComputedOn != "" || !slices.Equal(said, []string{"computing on the processor: no driver"}) {
		t.Errorf("without a device: error %v, messages %q", err, said)
	}
}

// Clients must use the devices in turn. The worker passes the index of the first device.
func TestDevicesAreSharedInTurn(t *testing.T) {
	st := parse(t, "s.toml", deviceStudy)
	two := []device.Device{&named{name: "a"}, &named{name: "b"}}
	d := NewDevices(&source{devices: two}, func(string) {})
	for first, want := range []string{"a, b", "b, a", "a, b"} {
		p := prepare(t, st, Options{Seed: 1})
		if err := d.Use(p.Federation, first, 1); err != nil || p.Federation.computedOn != want {
			t.Errorf("worker %d computes on %q, want %q: %v", first, p.Federation.computedOn, want, err)
		}
	}
}

type named struct {
	gone
	name string
}

func (n *named) Name() string { return n.name }
