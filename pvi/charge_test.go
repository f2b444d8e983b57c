package pvi

import (
	"errors"
	"strings"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/pvi/solver"
)

// A client pays for each release of its statistics: once if factors are exact, and in every round
// if they are published.
func TestRecordsPayOnce(t *testing.T) {
	for factors, want := range map[string]int{"exact": 1, "published": 6} {
		h := newHouse(t, planeStudy(t, recordPrivacy, `factors = "`+factors+`"`, ""), 3, 1)
		h.run()
		for _, s := range h.sites {
			if s.Releases() != want || h.protocol.Releases() != want {
				t.Errorf("%s: client %s was charged %d times, the protocol states %d charges, want %d", factors, s.ID(), s.Releases(), h.protocol.Releases(), want)
			}
		}
	}
}

// A release is charged even if the client then fails to send it, because others can see the
// failure.
func TestErrorsAreCharged(t *testing.T) {
	for factors, want := range map[string]int{"exact": 1, "published": 2} {
		st := planeStudy(t, recordPrivacy, "q = \"diagonal\"\nfactors = \""+factors+"\"", "")
		st.Prior.Mean = 1e12 // large enough to overflow a message with a diagonal factor
		h := newHouse(t, st, 3, 1)
		plan, _ := h.server.Next()
		r := new(Release)
		for range 2 {
			if err := h.sites[0].Propose(r, &plan, seeded.Stream(1, "error")); err == nil || len(r.Change) != 0 {
				t.Fatalf("%s: release %v, %v; want an error and nothing released", factors, r, err)
			}
		}
		if got := h.sites[0].Releases(); got != want {
			t.Errorf("%s: %d releases were charged, want %d", factors, got, want)
		}
	}
}

// failing is a solver that makes its releases and then returns an error.
type failing struct{ solver.Solver }

func (f failing) Propose(dst []float64, p solver.Problem, src *dpmech.Stream) ([]accountant.Event, error) {
	events, err := f.Solver.Propose(dst, p, src)
	return events, errors.Join(err, errors.New("no power"))
}

// A site whose solver fails pays for the releases that the solver made and for its own noise, even
// after a restart.
func TestSolverErrorsAreCharged(t *testing.T) {
	for _, c := range []struct {
		privacy, inference string
		refused            bool // whether Propose must refuse the plan at the second attempt
		want               int
	}{
		{recordPrivacy, "", false, 1},
		{recordPrivacy, "factors = \"published\"", false, 2},
		{clientPrivacy, "", true, 1},
	} {
		h := newHouse(t, planeStudy(t, c.privacy, c.inference, ""), 3, 1)
		s := h.around(0, func(s solver.Solver) solver.Solver { return failing{s} })
		plan, _ := h.server.Next()
		r := new(Release)
		if err := s.Propose(r, &plan, seeded.Stream(1, "failing")); err == nil || !strings.Contains(err.Error(), "no power") || len(r.Change) != 0 {
			t.Fatalf("%s: release %v, %v", c.privacy, r, err)
		}
		if s.Releases() != 1 {
			t.Errorf("%s: %d releases were charged, want one", c.privacy, s.Releases())
		}
		if err := h.newSite(0).Restore(saved(t, s)); err != nil {
			t.Errorf("%s: %v", c.privacy, err)
		}
		err := s.Propose(r, &plan, seeded.Stream(2, "failing"))
		var refused *Refused
		if errors.As(err, &refused) != c.refused || s.Releases() != c.want {
			t.Errorf("%s: the second attempt: %v, charged %d times, want %d", c.privacy, err, s.Releases(), c.want)
		}
	}
}

// drawn is a solver that fails the test if it is called before the site has drawn its noise.
type drawn struct {
	solver.Solver
	t      *testing.T
	before uint64 // first number of the random stream, which the noise must consume
}

func (d drawn) Propose(dst []float64, p solver.Problem, src *dpmech.Stream) ([]accountant.Event, error) {
	if src.Uint64() == d.before {
		d.t.Error("the solver looks at the records before the noise is drawn")
	}
	return d.Solver.Propose(dst, p, src)
}

func TestNoiseIsDrawnFirst(t *testing.T) {
	h := newHouse(t, planeStudy(t, clientPrivacy, "", ""), 3, 1)
	s := h.around(0, func(s solver.Solver) solver.Solver { return drawn{s, t, seeded.Stream(1, "first").Uint64()} })
	plan, _ := h.server.Next()
	check(t, s.Propose(new(Release), &plan, seeded.Stream(1, "first")))
}
