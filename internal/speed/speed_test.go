package speed

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fedpvi/gpu/device"
)

// A rate is the best of work that has grown until it fills the time, or has all its steps.
func TestRate(t *testing.T) {
	var asked []int
	r, err := rate(func(steps int) error {
		asked = append(asked, steps)
		began := time.Now()
		for time.Since(began) < time.Duration(steps)*50*time.Microsecond { // at most so fast
		}
		return nil
	})
	if last := asked[len(asked)-1]; err != nil || asked[0] != fewSteps || last <= 10 || r > 20_000 || r <= 0 {
		t.Errorf("%g a second after %v, %v", r, asked, err)
	}
	burnt := errors.New("it burns")
	if _, err := rate(func(int) error { return burnt }); !errors.Is(err, burnt) {
		t.Errorf("work that fails: %v", err)
	}
}

// The problem can be solved, and with different noise each time.
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
	network, err := newTrainer()
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	if err := network.Step(); err != nil {
		t.Error(err)
	}
}

func TestLines(t *testing.T) {
	r := &Report{Problem: "p", Processor: Processor{Cores: 2, Steps: 123_456, Network: 117, Copy: 7.9e9}, Found: device.Found{Built: true, Driver: "13.0", Devices: []device.Info{
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
