package solver

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/gpu/cuda"
	"fedpvi/pvi/study"
)

type broken struct{ call string }

var errBurnt = errors.New("it burns")

func (b broken) fails(call string) error {
	if b.call == call {
		return errBurnt
	}
	return nil
}

func (b broken) Name() string                                  { return "broken" }
func (b broken) Alloc(int) (uint64, error)                     { return 1 << 20, b.fails("alloc") }
func (b broken) Free(uint64) error                             { return b.fails("free") }
func (b broken) Write(uint64, []uint64) error                  { return b.fails("write") }
func (b broken) Read(w []uint64, _ uint64) error               { return b.fails("read") }
func (b broken) Launch(string, int, int, int, ...uint64) error { return b.fails("launch") }

// An onDeviceCase is a solver that is called twice. here is how the CPU draws its batches, and
// there how the device does.
type onDeviceCase struct {
	records, dim int
	here, there  dpmech.Sampling
}

var onDeviceCases = []onDeviceCase{
	{400, 5, dpmech.Poisson{Rate: 0.1}, dpmech.Poisson{Rate: 0.1, Selection: dpmech.Feistel}},
	{400, 5, dpmech.Poisson{Rate: 0.1}, dpmech.Poisson{Rate: 0.1}},
	{90, 3, dpmech.FullBatch{}, dpmech.FullBatch{}},
}

func (c onDeviceCase) config(s dpmech.Sampling) dpmech.SampledConfig {
	return dpmech.SampledConfig{Sampling: s, Records: c.records, Steps: 60, Dim: c.dim, Clip: 0.5, NoiseMultiplier: 2}
}

func (c onDeviceCase) solver(t *testing.T, a Accelerator) *DPSVI {
	t.Helper()
	rate := 1.0
	if p, ok := c.here.(dpmech.Poisson); ok {
		rate = p.Rate
	}
	m, columns := logistic(t, c.records, c.dim)
	s := private(t, program(t, m, c.records, columns), c.config(c.here), options(30, rate))
	records := cuda.Regression{Family: cuda.Logistic, Dim: c.dim, Rows: columns[1], Outcomes: columns[0]}
	if err := s.On(a, sampled(t, c.config(c.there)), records); err != nil {
		t.Fatal(err)
	}
	return s
}

// visits runs both visits on the device of a. It returns the proposals, the events and the final
// state.
func (c onDeviceCase) visits(t *testing.T, a Accelerator) (proposed []float64, events []accountant.Event, state []byte) {
	t.Helper()
	s := c.solver(t, a)
	src := seeded.Stream(3, "device")
	for range 2 {
		dst := make([]float64, 2*c.dim)
		spent, err := s.Propose(dst, standard(c.dim), src)
		if err != nil {
			t.Fatal(err)
		}
		proposed, events = append(proposed, dst...), append(events, spent...)
	}
	return proposed, events, s.State()
}

// If a call to the device fails and Failed accepts the failure, the CPU takes the steps of the
// visit, at the same cost.
func TestAVisitThatADeviceFails(t *testing.T) {
	for _, c := range onDeviceCases {
		var want []float64
		for _, call := range []string{"alloc", "write", "launch", "free"} {
			failures := 0
			proposed, events, _ := c.visits(t, Accelerator{Device: broken{call}, Failed: func(err error) error {
				if !errors.Is(err, errBurnt) {
					t.Errorf("%s: failed with %v", call, err)
				}
				failures++
				return nil
			}})
			if failures != 2 || len(events) != 60 {
				t.Errorf("%s: %d failures, %d steps were charged", call, failures, len(events))
			}
			if want == nil {
				want = proposed
			}
			// Memory is freed after the steps, so their results are kept.
			if call != "free" && !slices.Equal(proposed, want) {
				t.Errorf("%s: another result", call)
			}
		}
		stop := errors.New("stop")
		s := c.solver(t, Accelerator{Device: broken{"launch"}, Failed: func(error) error { return stop }})
		events, err := s.Propose(make([]float64, 2*c.dim), standard(c.dim), seeded.Stream(3, "device"))
		if !errors.Is(err, stop) || len(events) != 30 || s.Taken() != 30 {
			t.Errorf("a demanded device fails: %v, %d steps charged, %d taken", err, len(events), s.Taken())
		}
	}
}

// The steps of a visit cost the same with and without a device.
func TestOnADeviceStepsCostTheSame(t *testing.T) {
	for _, c := range onDeviceCases {
		_, events, _ := c.visits(t, Accelerator{Device: broken{"launch"}, Failed: func(error) error { return nil }})
		want, err := sampled(t, c.config(c.here)).EventFor(1, accountant.AddRemove)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if !reflect.DeepEqual(e, want) {
				t.Fatalf("an event is %+v, want %+v", e, want)
			}
		}
	}
}

func TestWhatNoDeviceTakes(t *testing.T) {
	c := onDeviceCases[0]
	m, columns := logistic(t, c.records, c.dim)
	records := cuda.Regression{Family: cuda.Logistic, Dim: c.dim, Rows: columns[1], Outcomes: columns[0]}
	for name, x := range map[string]struct {
		options func(*DPSVIOptions)
		config  func(*dpmech.SampledConfig)
		want    string
	}{
		"two draws":       {func(o *DPSVIOptions) { o.Draws = 2 }, nil, "one draw"},
		"joint gradients": {func(o *DPSVIOptions) { o.Gradients = study.Joint }, nil, "aligned"},
		"AdaGrad":         {func(o *DPSVIOptions) { o.Optimiser = study.AdaGrad }, nil, "Adam"},
		"another noise":   {nil, func(c *dpmech.SampledConfig) { c.NoiseMultiplier = 1.9 }, "not the study's"},
		"another rate":    {nil, func(c *dpmech.SampledConfig) { c.Sampling = dpmech.Poisson{Rate: 0.09, Selection: dpmech.Feistel} }, "not the study's"},
		"another clip":    {nil, func(c *dpmech.SampledConfig) { c.Clip = 0.6 }, "not the study's"},
		"another size":    {nil, func(c *dpmech.SampledConfig) { c.Records++ }, "not the study's"},
		"another length":  {nil, func(c *dpmech.SampledConfig) { c.Steps = 90 }, "not the study's"},
	} {
		o, config := options(30, 0.1), c.config(c.here)
		if x.options != nil {
			x.options(&o)
		}
		config.Dim = o.size(c.dim)
		s := private(t, program(t, m, c.records, columns), config, o)
		config.Sampling = c.there
		if x.config != nil {
			x.config(&config)
		}
		err := s.On(Accelerator{Device: broken{}, Failed: nil}, sampled(t, config), records)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
		if s.device != nil || s.mechanism.NoiseMultiplier() != 2 {
			t.Errorf("%s: something changed", name)
		}
	}
}

// launches is a device that counts kernel launches and computes nothing.
type launches struct {
	broken
	n *int
}

func (l launches) Launch(string, int, int, int, ...uint64) error { *l.n++; return nil }

// Propose uses several plans if its batches have more records than one [dpmech.Plan] can hold.
func TestAVisitOfManyRecordsOnADevice(t *testing.T) {
	const records, steps = 1 << 20, 20
	batches := dpmech.Poisson{Rate: 0.9}
	m, columns := logistic(t, records, 1)
	config := dpmech.SampledConfig{Sampling: batches, Records: records, Steps: steps, Dim: 1, Clip: 0.5, NoiseMultiplier: 2}
	s := private(t, program(t, m, records, columns), config, options(steps, 0.9))
	if most := s.mechanism.MaxPlan(); most != 17 {
		t.Fatalf("a plan has %d steps at most", most)
	}
	n := 0
	data := cuda.Regression{Family: cuda.Logistic, Dim: 1, Rows: columns[1], Outcomes: columns[0]}
	if err := s.On(Accelerator{Device: launches{n: &n}}, sampled(t, config), data); err != nil {
		t.Fatal(err)
	}
	events, err := s.Propose(make([]float64, 2), standard(1), seeded.Stream(3, "many records"))
	if err != nil {
		t.Fatal(err)
	}
	if n != 2 || s.Taken() != steps || len(events) != steps {
		t.Errorf("%d launches, %d steps taken, %d charged", n, s.Taken(), len(events))
	}
}
