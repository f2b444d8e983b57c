package pvi

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
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

// The test checks which studies a device can work on. OnDevice must decide this from public
// numbers, so a client's number of records must not change its result.
func TestWhichStudiesADeviceTakes(t *testing.T) {
	for name, c := range map[string]struct {
		overrides []study.Override
		want      string // part of the expected error; empty if there is none
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
		st, err := study.Parse("s.toml", []byte(descentStudy), c.overrides...)
		if err != nil {
			t.Fatal(name, err)
		}
		p, err := NewProtocol(st, []ClientID{"a", "b"})
		check(t, err)
		err = p.OnDevice()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if c.want != "" {
			continue
		}
		for _, n := range []int{0, 1, 2, 100, 101} {
			s := descentShard(p, n)
			site, err := p.NewSite("a", s)
			if err != nil {
				continue // The study needs more than n records, so NewSite returns an error.
			}
			for _, selection := range []dpmech.Selection{dpmech.Exact, dpmech.Feistel} {
				if err := site.OnDevice(s, solver.Accelerator{Selection: selection}); err != nil {
					t.Errorf("%s, %d records, %v: %v", name, n, selection, err)
				}
			}
		}
	}
}

// The test checks that a site whose device fails still completes the study. It must make the same
// number of releases at the same cost as a site without a device.
func TestSiteWithoutItsDevice(t *testing.T) {
	for _, rate := range []string{"1.0", "0.1"} {
		p := descentProtocol(t, set("inference.sampling_rate", rate))
		failures := 0
		play := func(a *solver.Accelerator) (releases [][]int64, n int) {
			server := NewServer(p)
			var sites []*Site
			for m, id := range p.Roster() {
				s := descentShard(p, 30*m) // The first client, with m = 0, has no records.
				site, err := p.NewSite(id, s)
				check(t, err)
				if a != nil {
					check(t, site.OnDevice(s, *a))
				}
				sites = append(sites, site)
			}
			src := seeded.Stream(1, "device")
			for {
				plan, ok := server.Next()
				if !ok {
					return releases, sites[0].Releases()
				}
				for _, site := range sites {
					if !slices.Contains(plan.Participants, site.ID()) {
						continue
					}
					var r Release
					check(t, site.Propose(&r, &plan, src))
					releases = append(releases, slices.Clone(r.Change))
					outcome, err := server.Collect(&r)
					check(t, err)
					for _, other := range sites {
						if outcome != nil {
							check(t, other.Settle(outcome))
						}
					}
				}
			}
		}
		want, charged := play(nil)
		got, now := play(&solver.Accelerator{Device: noDevice{}, Failed: func(err error) error {
			if !errors.Is(err, errNoDevice) {
				t.Errorf("failed with %v", err)
			}
			failures++
			return nil
		}})
		if failures != len(got) || len(got) != len(want) || now != charged {
			t.Errorf("rate %s: %d failures, %d releases, %d charged; without a device %d releases, %d charged", rate, failures, len(got), now, len(want), charged)
		}
	}
}
