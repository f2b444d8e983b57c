package audit

import (
	"os"
	"testing"
	"time"

	"fedpvi/pvi/study"
)

func mustStudy(t *testing.T, c combination) *study.Study {
	t.Helper()
	st, err := c.study()
	if err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	return st
}

// If FEDPVI_LONG is set, the test compares outcomes for every combination that the study language
// accepts, with records at every corner of its domain. Otherwise it tries two corners for every
// combination in the sample.
func TestOutcomesOfNeighbours(t *testing.T) {
	began := time.Now()
	pairs, combinations, skipped := 0, 0, map[string]string{}
	play := func(c combination, corners []string) {
		st := mustStudy(t, c)
		combinations++
		for i, corner := range corners {
			found, err := c.compare(st, []string{corner}, uint64(i))
			if err != nil {
				skipped[c.String()] = err.Error()
				return
			}
			if found != "" {
				t.Errorf("%s, record %q: %s", c, corner, found)
			}
			pairs++
		}
	}
	if os.Getenv("FEDPVI_LONG") != "" {
		grid(func(c combination) { play(c, c.corners()) })
	} else {
		for i, c := range sample() {
			corners := c.corners()
			play(c, []string{corners[i%len(corners)], corners[(i+len(corners)/2)%len(corners)]})
			found, err := c.compare(mustStudy(t, c), corners, 1)
			if err != nil || found != "" {
				t.Errorf("%s, all corners: %s, %v", c, found, err)
			}
		}
	}
	for c, why := range skipped {
		t.Errorf("%s: %s", c, why)
	}
	t.Logf("%d pairs of neighbouring files in %d combinations, in %v", pairs, combinations, time.Since(began).Round(time.Second))
}

// grid calls f with every combination that the study language accepts.
func grid(f func(c combination)) {
	for _, family := range outcomeFamilies {
		for _, m := range outcomeModes {
			for _, q := range []string{"full", "diagonal"} {
				for _, adjacency := range m.adjacencies() {
					for _, factors := range []study.Factors{study.Tied, study.Exact} {
						for _, schedule := range []study.Schedule{study.Synchronous, study.Sequential, study.Asynchronous} {
							c := combination{family, m, q, adjacency, factors, schedule}
							if !m.hasFactors() && factors == study.Exact {
								continue // this combination lacks the setting
							}
							if _, err := c.study(); err == nil {
								f(c)
							}
						}
					}
				}
			}
		}
	}
}
