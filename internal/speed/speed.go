// Package speed says what a machine can compute with, and how fast: private steps of a fixed
// problem of made-up records, by the processor and by every GPU, and copies of memory.
package speed

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"fedpvi/gpu/device"
)

// A Report is what a machine has and does.
type Report struct {
	// Problem is that of the steps, in words, Network that of a network's.
	Problem   string    `json:"problem"`
	Network   string    `json:"network"`
	Processor Processor `json:"processor"`
	device.Found
	GPUs []GPU `json:"gpus,omitempty"`
}

// Processor is what the processor does. Rates are of a second.
type Processor struct {
	Cores int `json:"cores"`
	// Steps are those of one thread, Network those of the network by all cores.
	Steps   float64 `json:"steps_per_second"`
	Network float64 `json:"network_steps_per_second"`
	// Copy is of bytes, each read and written, in a copy larger than caches.
	Copy float64 `json:"copy_bytes_per_second"`
}

// GPU is what a GPU does, if it is fit.
type GPU struct {
	Name string `json:"name"`
	// Failed says why this program cannot use it; empty if it can.
	Failed string `json:"failed,omitempty"`
	// Steps are those of one visit, with its records' way to the GPU; Many those of a number of
	// visits at once.
	Steps float64 `json:"steps_per_second,omitempty"`
	Many  float64 `json:"steps_per_second_many,omitempty"`
	// Network are private steps of the network, Plain steps without privacy.
	Network float64 `json:"network_steps_per_second,omitempty"`
	Plain   float64 `json:"network_steps_per_second_plain,omitempty"`
	// Copies of bytes: within its memory, each read and written, to it, and from it.
	Within float64 `json:"copy_within_bytes_per_second,omitempty"`
	To     float64 `json:"copy_to_bytes_per_second,omitempty"`
	From   float64 `json:"copy_from_bytes_per_second,omitempty"`
}

// Examine measures the processor and all GPUs that the program can use. It takes some
// seconds.
func Examine() (*Report, error) {
	r := &Report{Problem: words, Network: networkWords, Found: device.Find()}
	r.Processor.Cores = runtime.NumCPU()
	p, err := newProblem()
	if err != nil {
		return nil, err
	}
	if r.Processor.Steps, err = rate(func(steps int) error { return p.visit(steps, nil) }); err != nil {
		return nil, err
	}
	if r.Processor.Network, err = networkRate(); err != nil {
		return nil, err
	}
	r.Processor.Copy = copies()
	for i, d := range r.Devices {
		g := GPU{Name: d.Name, Failed: d.Unfit}
		if g.Failed == "" {
			if err := g.measure(p, i); err != nil {
				g = GPU{Name: d.Name, Failed: err.Error()}
			}
		}
		r.GPUs = append(r.GPUs, g)
	}
	return r, nil
}

// measure has a GPU take the steps.
func (g *GPU) measure(p *problem, ordinal int) (err error) {
	devices, _, err := device.CUDA(ordinal).Take() // tested
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close(devices)) }()
	d := devices[0]
	if g.Steps, err = rate(func(steps int) error { return p.visit(steps, d) }); err != nil {
		return err
	}
	g.Many, err = rate(func(steps int) error { return p.visits(steps, d) })
	if err != nil {
		return err
	}
	g.Many *= many
	if g.Network, err = networkRateOn(d, true); err != nil {
		return err
	}
	if g.Plain, err = networkRateOn(d, false); err != nil {
		return err
	}
	c, err := device.Measure(ordinal)
	if err != nil {
		return err
	}
	g.Within, g.To, g.From = c.Within, c.To, c.From
	return nil
}

// Work has first few steps and then as many as fill the time, within limits. Then the best
// of several tries counts, which other work on the machine disturbs least; work that is slow
// is tried until it has taken enough.
const (
	fewSteps  = 2
	mostSteps = 2000
	fill      = 20 * time.Millisecond
	tries     = 30
	enough    = 3 * time.Second
)

// rate returns how many steps a second work takes.
func rate(work func(steps int) error) (best float64, err error) {
	steps := fewSteps
	var spent time.Duration
	for try := 0; try < tries && spent < enough; {
		began := time.Now()
		if err := work(steps); err != nil {
			return 0, err
		}
		took := max(time.Since(began), time.Microsecond)
		if steps == mostSteps || took >= fill {
			spent += took
			best = max(best, float64(steps)/took.Seconds())
			try++
			continue
		}
		steps = min(mostSteps, max(steps+1, int(1.2*float64(steps)*float64(fill)/float64(took))))
	}
	return best, nil
}

// copies returns the rate at which the processor copies, the best of several.
func copies() (most float64) {
	const size = 64 << 20
	a, b := make([]byte, size), make([]byte, size)
	for i := range a {
		a[i] = byte(i)
	}
	for range tries {
		began := time.Now()
		copy(b, a)
		most = max(most, 2*size/time.Since(began).Seconds())
	}
	return most
}

// A Line is a check of the report, in words.
type Line struct {
	Check, Found string
	// Fix says what helps; empty where nothing is wrong.
	Fix string
}

// Lines returns the report in words.
func (r *Report) Lines() []Line {
	built := "no: make cuda builds a program that knows GPUs"
	if r.Built {
		built = "yes"
	}
	all := []Line{
		{Check: "processor", Found: fmt.Sprintf("%d cores; one takes %s private steps a second (%s) and copies %s; all take %s of a network (%s)", r.Processor.Cores, count(r.Processor.Steps), r.Problem, bytes(r.Processor.Copy), count(r.Processor.Network), r.Network)},
		{Check: "built for GPUs", Found: built},
	}
	if r.Built && r.Missing != "" {
		return append(all, Line{Check: "GPUs", Found: "none, the processor computes: " + r.Missing})
	}
	if r.Built {
		all = append(all, Line{Check: "driver", Found: "offers CUDA " + r.Driver})
	}
	for i, g := range r.GPUs {
		d := r.Devices[i]
		found := fmt.Sprintf("%s, %d multiprocessors, compute capability %s, %.1f GiB", d.Model, d.Multiprocessors, d.Capability, float64(d.Memory)/(1<<30))
		if g.Failed != "" {
			all = append(all, Line{Check: g.Name, Found: found + "; it cannot be used: " + g.Failed, Fix: "do what it says, or compute without it: --device cpu"})
			continue
		}
		all = append(all, Line{Check: g.Name, Found: fmt.Sprintf("%s; computes as the processor does; %s private steps a second, %s of %d problems at once, %s of the network; copies %s within, %s to it, %s from it",
			found, count(g.Steps), count(g.Many), many, count(g.Network), bytes(g.Within), bytes(g.To), bytes(g.From))})
	}
	return all
}

// count writes a number with two digits that count.
func count(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.1f million", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%.0f,000", x/1e3)
	}
	return fmt.Sprintf("%.0f", x)
}

func bytes(rate float64) string { return fmt.Sprintf("%.1f GB/s", rate/1e9) }
