package pvi

import (
	"fmt"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/solver"
)

// diverging is a solver that returns ErrDiverged. still is a solver that proposes no change.
type (
	diverging struct{ solver.Solver }
	still     struct{ solver.Solver }
)

func (diverging) Propose([]float64, solver.Problem, *dpmech.Stream) ([]accountant.Event, error) {
	return nil, fmt.Errorf("%w: on these records", solver.ErrDiverged)
}

func (still) Propose(dst []float64, p solver.Problem, _ *dpmech.Stream) ([]accountant.Event, error) {
	for i, q := range p.Natural {
		dst[i] = q - p.Cavity[i]
	}
	return nil, nil
}

// Whether a client's solver converges is private. If the privacy unit is the client, a client
// whose solver diverges answers as if its factor did not change, and is charged. In a study
// without a privacy promise Propose returns the solver's error.
func TestDivergenceIsPrivate(t *testing.T) {
	release := func(privacy string, wrap func(solver.Solver) solver.Solver) (*Release, *Site, error) {
		h := newHouse(t, planeStudy(t, privacy, "", ""), 3, 1)
		s := h.around(0, wrap)
		plan, _ := h.server.Next()
		r := new(Release)
		return r, s, s.Propose(r, &plan, seeded.Stream(1, "diverged"))
	}
	lost, site, err := release(clientPrivacy, func(s solver.Solver) solver.Solver { return diverging{s} })
	if err != nil || site.Releases() != 1 {
		t.Fatalf("a protected client that finds nothing: %v, %d releases charged", err, site.Releases())
	}
	same, _, err := release(clientPrivacy, func(s solver.Solver) solver.Solver { return still{s} })
	if err != nil || !slices.Equal(lost.Change, same.Change) {
		t.Errorf("it releases %v, one without a change %v, %v", lost.Change, same.Change, err)
	}
	if _, _, err := release(`unit = "none"`, func(s solver.Solver) solver.Solver { return diverging{s} }); err == nil {
		t.Error("without a promise a client that finds nothing says nothing")
	}
}
