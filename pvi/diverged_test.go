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

// These solvers diverge, panic, or propose the factor that they were given.
type (
	diverging struct{ solver.Solver }
	panicking struct{ solver.Solver }
	still     struct{ solver.Solver }
)

func (panicking) Propose(dst []float64, _ solver.Problem, _ *dpmech.Stream) ([]accountant.Event, error) {
	dst[0] = 1
	panic("on these records")
}

func (diverging) Propose([]float64, solver.Problem, *dpmech.Stream) ([]accountant.Event, error) {
	return nil, fmt.Errorf("%w: on these records", solver.ErrDiverged)
}

func (still) Propose(dst []float64, p solver.Problem, _ *dpmech.Stream) ([]accountant.Event, error) {
	for i, q := range p.Natural {
		dst[i] = q - p.Cavity[i]
	}
	return nil, nil
}

// A solver may converge with some records and not with others, so a failure must stay private. If a
// client's solver diverges or panics, the client answers as if its factor had not changed, and pays
// for the answer. Propose returns the error only in studies without a privacy guarantee.
func TestDivergenceIsPrivate(t *testing.T) {
	release := func(privacy string, wrap func(solver.Solver) solver.Solver) (*Release, *Site, error) {
		h := newHouse(t, planeStudy(t, privacy, "", ""), 3, 1)
		s := h.around(0, wrap)
		plan, _ := h.server.Next()
		r := new(Release)
		return r, s, s.Propose(r, &plan, seeded.Stream(1, "diverged"))
	}
	same, _, err := release(clientPrivacy, func(s solver.Solver) solver.Solver { return still{s} })
	check(t, err)
	for name, wrap := range map[string]func(solver.Solver) solver.Solver{
		"finds nothing": func(s solver.Solver) solver.Solver { return diverging{s} },
		"panics":        func(s solver.Solver) solver.Solver { return panicking{s} },
	} {
		lost, site, err := release(clientPrivacy, wrap)
		if err != nil || site.Releases() != 1 {
			t.Fatalf("a protected client that %s: %v, %d releases charged", name, err, site.Releases())
		}
		if !slices.Equal(lost.Change, same.Change) {
			t.Errorf("a client that %s releases %v, one without a change %v", name, lost.Change, same.Change)
		}
	}
	if _, _, err := release(`unit = "none"`, func(s solver.Solver) solver.Solver { return diverging{s} }); err == nil {
		t.Error("in a study without privacy, Propose of a client whose solver failed returned no error")
	}
}
