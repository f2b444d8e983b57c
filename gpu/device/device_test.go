package device

import (
	"encoding/json"
	"strings"
	"testing"

	"fedpvi/gpu/cuda"
)

func TestChoices(t *testing.T) {
	for text, want := range map[string]Choice{"auto": Auto, "cpu": CPU, "cuda:0": CUDA(0), "cuda:17": CUDA(17)} {
		var c Choice
		if err := json.Unmarshal([]byte(`"`+text+`"`), &c); err != nil || c != want || c.String() != text {
			t.Errorf("%q is %v, %v", text, c, err)
		}
		if c.Demanded() != strings.HasPrefix(text, "cuda") {
			t.Errorf("%v: demanded: %t", c, c.Demanded())
		}
	}
	for _, text := range []string{"", "gpu", "CPU", "cuda", "cuda:", "cuda:-1", "cuda:+1", "cuda:01", "cuda:1 ", "cuda:99999", "cuda:0x1"} {
		c := CPU
		if err := c.UnmarshalText([]byte(text)); err == nil || c != CPU {
			t.Errorf("%q is %v", text, c)
		} else if !strings.Contains(err.Error(), "auto, cpu, or cuda:0") {
			t.Errorf("%q: the error %v has no remedy", text, err)
		}
	}
}

// A program without CUDA must compute on the CPU. If the user requires a GPU, it must return an
// error that says why it cannot use one.
func TestWithoutCUDA(t *testing.T) {
	if Built {
		t.Skip("this program was built with CUDA")
	}
	for _, c := range []Choice{Auto, CPU} {
		if devices, notice, err := c.Take(); len(devices) > 0 || notice != nil || err != nil {
			t.Errorf("%v: %v, %v, %v", c, devices, notice, err)
		}
	}
	if _, _, err := CUDA(0).Take(); err == nil || !strings.Contains(err.Error(), "make cuda") {
		t.Errorf("cuda:0: %v", err)
	}
	if f := Find(); f.Built || len(f.Devices) > 0 || !strings.Contains(f.Missing, "make cuda") {
		t.Errorf("found %+v", f)
	}
}

// A still is a device that allocates memory but runs no kernels.
type still struct {
	memory map[uint64][]uint64
	next   uint64
}

func (*still) Name() string { return "still" }

func (s *still) Alloc(bytes int) (uint64, error) {
	s.next += 1 << 32
	s.memory[s.next] = make([]uint64, (bytes+7)/8)
	return s.next, nil
}

func (s *still) at(address uint64) []uint64 {
	for base, words := range s.memory {
		if base <= address && address < base+uint64(8*len(words)) {
			return words[(address-base)/8:]
		}
	}
	return nil
}

func (s *still) Free(address uint64) error { delete(s.memory, address); return nil }

func (s *still) Write(address uint64, words []uint64) error { copy(s.at(address), words); return nil }

func (s *still) Read(words []uint64, address uint64) error   { copy(words, s.at(address)); return nil }
func (*still) Launch(string, int, int, int, ...uint64) error { return nil }

var _ cuda.Device = new(still)

// For a device that runs no kernels, Test must return an error and free all memory.
func TestIdleDeviceFailsTheTest(t *testing.T) {
	s := &still{memory: map[uint64][]uint64{}}
	err := Test(s)
	if err == nil || !strings.Contains(err.Error(), "differs from the processor's") {
		t.Errorf("it passes: %v", err)
	}
	if len(s.memory) > 0 {
		t.Errorf("%d pieces of memory are left", len(s.memory))
	}
}
