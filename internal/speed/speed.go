// Package speed measures how fast a machine is. On the CPU and on every GPU, it times private steps
// of a fixed regression on generated records, and memory copies.
package speed

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"fedpvi/gpu/device"
)

// A Report describes the CPU and the GPUs of a machine and how fast they are.
type Report struct {
	// Problem describes the regression whose steps are timed.
	Problem   string    `json:"problem"`
	Processor Processor `json:"processor"`
	device.Found
	GPUs []GPU `json:"gpus,omitempty"` // one entry for each element of Devices, in the same order
}

// Processor describes the speed of the CPU.
type Processor struct {
	Cores int `json:"cores"`
	// Steps is the number of private steps per second on one thread.
	Steps float64 `json:"steps_per_second"`
	// Copy is the speed in bytes per second of a copy that exceeds the caches. Each byte counts
	// twice, because it is read and written.
	Copy float64 `json:"copy_bytes_per_second"`
}

// GPU describes the speed of a GPU. All rates are zero if Failed is not empty.
type GPU struct {
	Name string `json:"name"`
	// Failed is the reason why this program cannot use the GPU, or empty if it can.
	Failed string `json:"failed,omitempty"`
	// Steps is the number of private steps per second for one problem, including the time to upload
	// the records. Many is the total number per second for many problems at once.
	Steps float64 `json:"steps_per_second,omitempty"`
	Many  float64 `json:"steps_per_second_many,omitempty"`
	// Within, To and From are copying speeds in bytes per second: within the GPU's memory, where
	// each byte counts twice, to the GPU, and from the GPU.
	Within float64 `json:"copy_within_bytes_per_second,omitempty"`
	To     float64 `json:"copy_to_bytes_per_second,omitempty"`
	From   float64 `json:"copy_from_bytes_per_second,omitempty"`
}

// Examine measures the CPU and every GPU that the program can use. It takes a few seconds.
func Examine() (*Report, error) {
	r := &Report{Problem: words, Found: device.Find()}
	r.Processor.Cores = runtime.NumCPU()
	p, err := newProblem()
	if err != nil {
		return nil, err
	}
	if r.Processor.Steps, err = Rate(func(steps int) error { return p.visit(steps, nil) }); err != nil {
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

// measure opens the GPU with the given ordinal, tests it, and measures its speed.
func (g *GPU) measure(p *problem, ordinal int) (err error) {
	devices, _, err := device.CUDA(ordinal).Take()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close(devices)) }()
	d := devices[0]
	if g.Steps, err = Rate(func(steps int) error { return p.visit(steps, d) }); err != nil {
		return err
	}
	g.Many, err = Rate(func(steps int) error { return p.visits(steps, d) })
	if err != nil {
		return err
	}
	g.Many *= many
	c, err := device.Measure(ordinal)
	if err != nil {
		return err
	}
	g.Within, g.To, g.From = c.Within, c.To, c.From
	return nil
}

// [Rate] first calls work with fewSteps steps. It increases this number until a call takes at least
// the time fill or has mostSteps steps. Then it repeats such calls until there have been tries of
// them, or until they have taken the time enough in total.
const (
	fewSteps  = 2
	mostSteps = 2000
	fill      = 20 * time.Millisecond
	tries     = 30
	enough    = 3 * time.Second
)

// Rate calls work several times, with numbers of steps that it chooses. It returns the steps per
// second of the fastest call, which other programs slowed down least. If work returns an error, so
// does Rate.
func Rate(work func(steps int) error) (best float64, err error) {
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

// copies makes several copies on the CPU, and returns the highest speed in bytes per second.
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

// A Line is one line in the readable report.
type Line struct {
	Check, Found string
	// Fix is advice for the user, or empty if nothing is wrong.
	Fix string
}

// Lines returns the report as lines of text.
func (r *Report) Lines() []Line {
	built := "no: make cuda builds a program that can use GPUs"
	if r.Built {
		built = "yes"
	}
	all := []Line{
		{Check: "processor", Found: fmt.Sprintf("%d cores; one takes %s private steps a second (%s) and copies %s", r.Processor.Cores, Count(r.Processor.Steps), r.Problem, bytes(r.Processor.Copy))},
		{Check: "built for GPUs", Found: built},
	}
	if r.Built && r.Missing != "" {
		return append(all, Line{Check: "GPUs", Found: "none; the processor computes: " + r.Missing})
	}
	if r.Built {
		all = append(all, Line{Check: "driver", Found: "offers CUDA " + r.Driver})
	}
	for i, g := range r.GPUs {
		d := r.Devices[i]
		found := fmt.Sprintf("%s, %d multiprocessors, compute capability %s, %.1f GiB", d.Model, d.Multiprocessors, d.Capability, float64(d.Memory)/(1<<30))
		if g.Failed != "" {
			all = append(all, Line{Check: g.Name, Found: found + "; it cannot be used: " + g.Failed, Fix: "follow the message, or compute on the processor: --device cpu"})
			continue
		}
		all = append(all, Line{Check: g.Name, Found: fmt.Sprintf("%s; computes as the processor does; %s private steps a second, %s of %d problems at once; copies %s within, %s to it, %s from it",
			found, Count(g.Steps), Count(g.Many), many, bytes(g.Within), bytes(g.To), bytes(g.From))})
	}
	return all
}

// Count formats a number with about two significant digits.
func Count(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.1f million", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%.0f,000", x/1e3)
	}
	return fmt.Sprintf("%.0f", x)
}

func bytes(rate float64) string { return fmt.Sprintf("%.1f GB/s", rate/1e9) }
