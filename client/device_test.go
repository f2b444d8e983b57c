package client_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fedpvi/client"
	"fedpvi/gpu/device"
)

type gone struct{}

var errGone = errors.New("it fell off the bus")

func (gone) Name() string                                  { return "cuda:7" }
func (gone) Alloc(int) (uint64, error)                     { return 0, errGone }
func (gone) Free(uint64) error                             { return errGone }
func (gone) Write(uint64, []uint64) error                  { return errGone }
func (gone) Read([]uint64, uint64) error                   { return errGone }
func (gone) Launch(string, int, int, int, ...uint64) error { return errGone }
func (gone) Close() error                                  { return nil }

// source is a device.Source that returns fixed devices.
type source struct {
	devices  []device.Device
	demanded bool
	taken    chan struct{} // receives a value each time a client opens a device
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

func TestDevicesInSimulatorAndDaemonsAgree(t *testing.T) {
	for name, d := range devicesOfTests() {
		st, records, _, natural := simulatedOn(t, federatedStudy(logistic, everyone, ofRecords, ""), []device.Device{d})
		n := newRealNetwork(t, st, records)
		s := newSource(false, d)
		n.device = s
		n.finds(natural)
		if len(s.taken) != len(n.clients) {
			t.Errorf("%s: %d clients took a device", name, len(s.taken))
		}
	}
}

// Clients with different numbers of records must log the same, so that the log does not reveal the
// number.
func TestLogsOfFailedDevices(t *testing.T) {
	var reasons [2][]string
	for world, added := range []string{"", "0.5,a,yes\n"} {
		st, records, _, _ := simulated(t, federatedStudy(logistic, everyone, ofRecords, ""))
		n := newRealNetwork(t, st, records)
		n.device = newSource(false, gone{})
		f, err := os.OpenFile(filepath.Join(records, "client-1.csv"), os.O_APPEND|os.O_WRONLY, 0)
		check(t, err)
		_, err = f.WriteString(added)
		check(t, errors.Join(err, f.Close()))
		var log bytes.Buffer
		n.log = slog.New(slog.NewTextHandler(&log, nil))
		n.play()
		for line := range strings.Lines(log.String()) {
			if _, why, ok := strings.Cut(line, "the processor computes the steps"); ok {
				reasons[world] = append(reasons[world], why)
			}
		}
		slices.Sort(reasons[world])
	}
	if len(reasons[0]) == 0 || !slices.Equal(reasons[0], reasons[1]) {
		t.Errorf("without the record\n%q\nand with it\n%q", reasons[0], reasons[1])
	}
}

// A listener is a device that notes the kind of each batch, and then fails.
type listener struct {
	gone
	mutex sync.Mutex
	next  uint64
	kinds []uint64
}

func (l *listener) Alloc(bytes int) (uint64, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.next += 1 << 40
	return l.next, nil
}

func (l *listener) Free(uint64) error { return nil }

func (l *listener) Write(memory uint64, words []uint64) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	// words is a job for the device. Its first word is the address of a batch description, and the
	// first word of that is the kind of the batch.
	if plan := (words[0] - memory) / 8; plan < uint64(len(words)) {
		l.kinds = append(l.kinds, words[plan])
	}
	return nil
}

// The client must draw the batches itself, so that the privacy guarantee does not depend on the
// device.
func TestBatchesForADeviceAreListed(t *testing.T) {
	const listed = 2 // kind of a batch that is a list of its records
	st, records, _, _ := simulated(t, federatedStudy(logistic, someOfThem, ofRecords, ""))
	n := newRealNetwork(t, st, records)
	device := new(listener)
	s := newSource(false, device)
	n.device = s
	for _, e := range n.play() {
		if e == nil {
			t.Fatal("no posterior")
		}
	}
	if len(s.taken) != len(n.clients) {
		t.Errorf("%d clients took a device", len(s.taken))
	}
	if want := slices.Repeat([]uint64{listed}, 2*len(n.clients)); !slices.Equal(device.kinds, want) {
		t.Errorf("kinds of batches are %v, want %v", device.kinds, want)
	}
}

func TestDemandedDevice(t *testing.T) {
	st, records, _, _ := simulated(t, federatedStudy(logistic, everyone+"\ndraws = 2", ofRecords, ""))
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
		if err := <-done; err == nil || client.CodeOf(err) != client.Usage || !strings.Contains(err.Error(), "one draw") {
			t.Errorf("a study that no device can compute: %v", err)
		}
	}
	if len(s.taken) > 0 {
		t.Error("a device was taken and not used")
	}
}
