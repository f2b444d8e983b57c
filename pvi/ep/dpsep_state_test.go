package ep

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/study"
)

// A solver that is saved and restored between visits computes the same bits as one that is not. It
// charges every step once and takes no more than planned.
func TestDPSEPRestored(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of one thread: without -short")
	}
	const n, visits, steps = 60, 3, 4
	r := outcomes(t, study.Probit, n, 2, 1)
	for _, name := range []string{"diagonal", "full"} {
		for _, sampling := range []dpmech.Sampling{dpmech.Poisson{Rate: 0.5}, dpmech.RandomAllocation{Steps: 2, Picks: 1}} {
			if _, slow := sampling.(dpmech.RandomAllocation); slow && name == "full" {
				continue
			}
			o := sepOptions(n, 0.5)
			o.StartMean, o.StartSD = []float64{0.5, 0.5}, 0.2
			c := dpmech.SampledConfig{Sampling: sampling, Steps: visits * steps, Clip: 1, NoiseMultiplier: 1}
			whole, cut := private(t, r, name, c, o, visits), private(t, r, name, c, o, visits)
			a, b := make([]float64, len(whole.outer)), make([]float64, len(whole.outer))
			for visit := range visits {
				state := cut.State()
				cut = private(t, r, name, c, o, visits)
				if err := cut.Restore(state); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(cut.State(), state) {
					t.Fatalf("%s, %T: the state changed on the way", name, sampling)
				}
				for _, run := range []struct {
					s   *DPSEP
					dst []float64
				}{{whole, a}, {cut, b}} {
					spent, err := run.s.Propose(run.dst, asked(run.s), seeded.Stream(uint64(visit), "visit"))
					if err != nil || len(spent) != steps || run.s.Releases() != (visit+1)*steps {
						t.Fatalf("%s, %T: visit %d: %d events, %d steps, %v", name, sampling, visit, len(spent), run.s.Releases(), err)
					}
				}
				if !slices.Equal(a, b) {
					t.Fatalf("%s, %T: visit %d differs after a restart", name, sampling, visit)
				}
			}
			spent, err := cut.Propose(b, asked(cut), seeded.Stream(9, "visit"))
			if !errors.Is(err, dpmech.ErrNoSteps) || len(spent) > 0 {
				t.Errorf("a visit that was not planned: %d events, %v", len(spent), err)
			}
		}
	}
}

func TestDPSEPRefusesForeignStates(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of one thread: without -short")
	}
	r := outcomes(t, study.Probit, 10, 2, 1)
	s := private(t, r, "diagonal", dpmech.SampledConfig{Sampling: dpmech.RandomAllocation{Steps: 2, Picks: 1}, Steps: 4, Clip: 1, NoiseMultiplier: 1}, sepOptions(10, 0.5), 2)
	four := `"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="` // four float64 zeros in base64
	two := `"AAAAAAAAAAAAAAAAAAAAAA=="`
	moved := `,"Velocity":` + two + `,"Average":` + two + `}`
	for _, state := range []string{
		`{`, `{"Taken":5}`, `{"Taken":-1}`, `{"Taken":0}`,
		`{"Taken":2,"Raw":` + four + `,"Used":` + four + `,"Start":"AAAA"` + moved,
		`{"Taken":2,"Raw":` + four + `,"Used":` + four + `,"Start":` + four + `,"Velocity":` + two + `}`,
		// This state is in the middle of an epoch.
		`{"Taken":1,"Raw":` + four + `,"Used":` + four + `,"Start":` + four + moved,
		`{"Taken":6,"Raw":` + four + `,"Used":` + four + `,"Start":` + four + moved,
	} {
		if err := s.Restore([]byte(state)); err == nil {
			t.Errorf("state %s was taken up", state)
		}
		if s.Releases() != 0 {
			t.Errorf("state %s left a trace", state)
		}
	}
	if err := s.Restore([]byte(`{"Taken":2,"Raw":` + four + `,"Used":` + four + `,"Start":` + four + moved)); err != nil || s.Releases() != 2 {
		t.Errorf("a state of two steps: %v", err)
	}
}

// The events that Propose returns compose to the cost of all steps, by the accountant's formula.
func TestDPSEPEventsAddUp(t *testing.T) {
	if testing.Short() {
		t.Skip("arithmetic of one thread: without -short")
	}
	epsilon := func(e accountant.Event) float64 {
		p, err := accountant.Account(e)
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Epsilon(1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return b.Upper
	}
	r := outcomes(t, study.Probit, 50, 2, 1)
	for _, c := range []struct {
		sampling dpmech.Sampling
		want     accountant.Event
	}{
		{dpmech.Poisson{Rate: 0.2}, accountant.Repeated{Event: accountant.Poisson{Rate: 0.2, Sigma: 1.3, Adjacency: accountant.AddRemove}, Times: 30}},
		{dpmech.RandomAllocation{Steps: 5, Picks: 1}, accountant.Repeated{Event: accountant.RandomAllocation{Steps: 5, Picks: 1, Sigma: 1.3, Adjacency: accountant.AddRemove}, Times: 6}},
		{dpmech.FullBatch{}, accountant.Repeated{Event: accountant.Gaussian{Sigma: 1.3, Sensitivity: 1, Adjacency: accountant.AddRemove}, Times: 30}},
	} {
		s := private(t, r, "diagonal", dpmech.SampledConfig{Sampling: c.sampling, Steps: 30, Clip: 0.7, NoiseMultiplier: 1.3}, sepOptions(50, 0.2), 3)
		var all accountant.Composed
		for range 3 {
			spent, err := s.Propose(make([]float64, 4), asked(s), seeded.Stream(1, "visit"))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, spent...)
		}
		got, want := epsilon(all), epsilon(c.want)
		if math.Abs(got/want-1) > 1e-4 || got < want*(1-1e-6) {
			t.Errorf("%T: ε = %.8g from the events, %.8g from the sampling", c.sampling, got, want)
		}
		if own := epsilon(s.mechanism.Event()); math.Abs(own/got-1) > 1e-4 {
			t.Errorf("%T: ε = %.8g from the events, want %.8g as from the mechanism", c.sampling, got, own)
		}
	}
}
