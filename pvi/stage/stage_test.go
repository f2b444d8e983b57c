package stage

import (
	"strings"
	"testing"

	"fedpvi/dpmech/seeded"
	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// plane is a study of two coefficients; edits replace parts of its text.
const plane = `
[study]
version = 1
name = "plane"
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "y"
type = "numeric"
bounds = [-10, 10]
[model]
family = "linear"
outcome = "y"
terms = ["x"]
standardise = "none"
noise_sd = 0.5
[inference]
rounds = 3
#inference
[privacy]
#privacy
[federation]
max_records = 1000
#federation
`

// Privacy settings for plane.
const (
	noPrivacy     = `unit = "none"`
	recordPrivacy = "unit = \"record\"\nnoise_multiplier = 0.5\ndelta = 1e-5"
	clientPrivacy = "unit = \"client\"\nnoise_multiplier = 0.05\ndelta = 1e-5\nclip = 60"
)

func planeStudy(t testing.TB, privacy, inference, federation string) *study.Study {
	t.Helper()
	source := strings.NewReplacer("#privacy", privacy, "#inference", inference, "#federation", federation).Replace(plane)
	st, err := study.Parse("plane.toml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func planeRecords(n int) *shard.Records {
	records := new(shard.Records)
	for i := range n {
		x := float64(i%7)/3.5 - 1
		records.Append([]float64{x, 2*x - 1})
	}
	return records
}

// A study runs to its end, and a release is charged as often as something is released.
func TestStudyRuns(t *testing.T) {
	roster := []pvi.ClientID{"north", "south"}
	for privacy, charges := range map[string]int{noPrivacy: 0, recordPrivacy: 1, clientPrivacy: 3} {
		st := planeStudy(t, privacy, "", "")
		server, err := NewServer(st, roster)
		if err != nil {
			t.Fatal(err)
		}
		var sites []*Site
		for _, id := range roster {
			site, err := NewSite(st, roster, id, planeRecords(20))
			if err != nil {
				t.Fatal(err)
			}
			sites = append(sites, site)
		}
		charged := 0
		for !server.Done() {
			plan, ok, err := server.Next()
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			var outcome *Entry
			for m, site := range sites {
				if err := site.Follow(plan); err != nil {
					t.Fatal(err)
				}
				a, err := site.Answer(seeded.Stream(1, "stage", uint64(m), uint64(plan.Ask)))
				if err != nil {
					t.Fatal(err)
				}
				if m == 0 && len(a.Spent) > 0 {
					charged++
				}
				if outcome, err = server.Collect(roster[m], a.Ask, a.Release); err != nil {
					t.Fatal(err)
				}
			}
			for _, site := range sites {
				if err := site.Follow(*outcome); err != nil {
					t.Fatal(err)
				}
			}
		}
		if charged != charges {
			t.Errorf("%s: %d releases were charged, want %d", privacy, charged, charges)
		}
	}
}
