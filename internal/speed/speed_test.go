package speed

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fedpvi/gpu/device"
)

func TestRate(t *testing.T) {
	var calls []int
	r, err := Rate(func(steps int) error {
		calls = append(calls, steps)
		began := time.Now()
		for time.Since(began) < time.Duration(steps)*50*time.Microsecond { // makes a step take at least 50 µs
		}
		return nil
	})
	if last := calls[len(calls)-1]; err != nil || calls[0] != fewSteps || last <= 10 || r > 20_000 || r <= 0 {
		t.Errorf("%g a second after %v, %v", r, calls, err)
	}
	burnt := errors.New("it burns")
	if _, err := Rate(func(int) error { return burnt }); !errors.Is(err, burnt) {
		t.Errorf("work that fails: %v", err)
	}
}

func TestProblem(t *testing.T) {
	p, err := newProblem()
	if err != nil {
		t.Fatal(err)
	}
	ones := 0
	for _, y := range p.here.Outcomes {
		ones += int(y)
	}
	if ones < records/4 || ones > 3*records/4 {
		t.Errorf("%d of %d outcomes are one", ones, records)
	}
	if err := p.visit(3, nil); err != nil {
		t.Error(err)
	}
}

func TestLines(t *testing.T) {
	r := &Report{Problem: "p", Processor: Processor{Cores: 2, Steps: 123_456, Copy: 7.9e9}, Found: device.Found{Built: true, Driver: "13.0", Devices: []device.Info{
		{Name: "cuda:0", Model: "Good", Capability: "9.0", Multiprocessors: 3, Memory: 1 << 31},
		{Name: "cuda:1", Model: "Bad", Capability: "7.0"},
	}}, GPUs: []GPU{{Name: "cuda:0", Steps: 2e6, Many: 3e7, Within: 1e12}, {Name: "cuda:1", Failed: "too old"}}}
	lines := r.Lines()
	if len(lines) != 5 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, want := range []string{"2 cores; one takes 123,000 private steps", "yes", "CUDA 13.0", "Good, 3 multiprocessors, compute capability 9.0, 2.0 GiB", "too old"} {
		if !strings.Contains(lines[i].Found, want) || (lines[i].Fix != "") != (i == 4) {
			t.Errorf("line %d is %+v, want %q", i, lines[i], want)
		}
	}
	r = &Report{Found: device.Found{Missing: "x"}}
	if lines := r.Lines(); len(lines) != 2 || !strings.Contains(lines[1].Found, "make cuda") {
		t.Errorf("without CUDA: %+v", lines)
	}
}
