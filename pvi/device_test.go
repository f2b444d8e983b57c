package pvi

import (
	"errors"
	"strings"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// noDevice is a device that always fails.
type noDevice struct{}

var errNoDevice = errors.New("not there")

func (noDevice) Name() string                                  { return "none" }
func (noDevice) Alloc(int) (uint64, error)                     { return 0, errNoDevice }
func (noDevice) Free(uint64) error                             { return errNoDevice }
func (noDevice) Write(uint64, []uint64) error                  { return errNoDevice }
func (noDevice) Read([]uint64, uint64) error                   { return errNoDevice }
func (noDevice) Launch(string, int, int, int, ...uint64) error { return errNoDevice }

// The answer of OnDevice depends on public numbers only, not on how many records a client has.
func TestWhichStudiesADeviceTakes(t *testing.T) {
	for name, c := range map[string]struct {
		overrides []study.Override
		want      string // part of the expected error, or empty
	}{
		"full batches":    {[]study.Override{set("inference.sampling_rate", "1.0")}, ""},
		"poisson batches": {[]study.Override{set("inference.sampling_rate", "0.1")}, ""},
		"fixed batches":   {[]study.Override{set("inference.sampling_rate", "0.1"), set("inference.sampling", `"without-replacement"`), set("privacy.adjacency", `"replace-one"`), set("federation.nominal_records", "100")}, ""},
		"probit":          {[]study.Override{set("model.family", `"probit"`)}, ""},
		"network":         {[]study.Override{set("model.family", `"neural-network"`), set("model.hidden", "2"), set("privacy.clip", "1.0")}, "neural-network"},
		"draws":           {[]study.Override{set("inference.draws", "2")}, "one draw"},
		"joint":           {[]study.Override{set("inference.gradients", `"joint"`)}, "aligned"},
		"sgd":             {[]study.Override{set("inference.optimiser", `"sgd"`), set("inference.step_size", "0.01")}, "Adam"},
		"ascent":          {[]study.Override{set("privacy", `{ unit = "none" }`), set("inference", `{ rounds = 5, solver = "svi" }`)}, "svi"},
		"sums":            {[]study.Override{set("federation.opens", `"sums"`), set("inference", `{ rounds = 5 }`)}, "sums"},
	} {
		p := descentProtocol(t, c.overrides...)
		err := p.OnDevice()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if c.want != "" {
			continue
		}
		for _, n := range []int{0, 1, 2, 100, 101} {
			s := descentShard(p, n)
			site, err := p.NewSite(clientID(0), s)
			if err != nil {
				continue // this study needs more records
			}
			for _, selection := range []dpmech.Selection{dpmech.Exact, dpmech.Feistel} {
				if err := site.OnDevice(s, solver.Accelerator{Selection: selection}); err != nil {
					t.Errorf("%s, %d records, %v: %v", name, n, selection, err)
				}
			}
		}
	}
}

// A site whose device fails still completes the study, with the same releases and at the same cost.
func TestSiteWithoutItsDevice(t *testing.T) {
	for _, rate := range []string{"1.0", "0.1"} {
		p := descentProtocol(t, set("inference.sampling_rate", rate))
		// The first client has no records.
		without, with := houseOf(t, p, 1, descentShard(p, 0), descentShard(p, 30)), houseOf(t, p, 1, descentShard(p, 0), descentShard(p, 30))
		failures := 0
		for m, s := range with.sites {
			check(t, s.OnDevice(with.shards[m], solver.Accelerator{Device: noDevice{}, Failed: func(err error) error {
				if !errors.Is(err, errNoDevice) {
					t.Errorf("failed with %v", err)
				}
				failures++
				return nil
			}}))
		}
		without.run()
		with.run()
		if got, want := with.sites[0].Releases(), without.sites[0].Releases(); failures != 2*p.Plans() || got != want {
			t.Errorf("rate %s: %d failures in %d answers, %d releases charged; without a device %d", rate, failures, 2*p.Plans(), got, want)
		}
	}
}
