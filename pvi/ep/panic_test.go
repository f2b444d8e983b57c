package ep

import (
	"slices"
	"testing"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// broken is a Tilted in which one record has a site that is not finite, or panics.
type broken struct {
	Tilted
	record int
	panics bool
}

func (b broken) Site(dst []float64, record int) {
	b.Tilted.Site(dst, record)
	if record == b.record {
		fillNaN(dst)
		if b.panics {
			panic(dst)
		}
	}
}

// A record whose site panics counts as zero: charge, noise and the other contributions are as for a
// site that is not finite.
//
//abuse:case A13 a record whose computation panics counts as zero; nobody can tell
func TestDPSEPWithARecordThatPanics(t *testing.T) {
	release := func(panics bool) (dst []float64, events int) {
		s := private(t, outcomes(t, study.Logistic, 90, 3, 2), "diagonal", dpmech.SampledConfig{Sampling: dpmech.Poisson{Rate: 0.7}, Steps: 6, Clip: 1, NoiseMultiplier: 0.1}, sepOptions(90, 0.7), 1)
		s.factor.tilted = broken{s.factor.tilted, 7, panics}
		dst = make([]float64, 6)
		spent, err := s.Propose(dst, asked(s), seeded.Stream(1, "panic"))
		if err != nil {
			t.Fatal(err)
		}
		return dst, len(spent)
	}
	got, events := release(true)
	if want, _ := release(false); !slices.Equal(got, want) || events != 6 {
		t.Errorf("%d events: the factor is %v, without the record %v", events, got, want)
	}
}

// Tilted moments for a negative binomial outcome are computed without a panic, and for moderate
// counts and cavities they are finite. Newton's method passes points at which the dispersion φ
// underflows.
func TestSitesOfLargeCounts(t *testing.T) {
	tilted := newTilts(solver.Outcome{Family: study.NegativeBinomial}.Response(), 1)
	for _, y := range []float64{33, 400, 1e4, 1e6, 1 << 53} {
		for _, mean := range [][]float64{{-6, 0}, {-3, 1}, {0, 2}, {3, 8}, {800, -800}} {
			for _, root := range [][]float64{{.3, 0, 0, 4}, {2, 0, 1, 2}, {4, 0, 0, 1.6}} {
				if !tilted.match(y, mean, root) && y <= 1e4 && mean[0] < 100 {
					t.Errorf("a count of %g and a cavity of mean %v and root %v have no moments", y, mean, root)
				}
			}
		}
	}
}
