package parts

import (
	"fmt"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/testing/linestudy"
	"fedpvi/pvi/lambda"
	"fedpvi/pvi/method"
	"fedpvi/pvi/phase"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// These solvers diverge, or propose the factor that they were given.
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

// A part may diverge with some records and not with others, so this must stay private. A part that
// diverges adds nothing to the sum. The client answers as usual and pays for the answer.
func TestDivergenceOfAPartIsPrivate(t *testing.T) {
	st, err := study.Parse("line.toml", linestudy.Document(linestudy.Parts{
		Privacy: "unit = \"record\"\nnoise_multiplier = 0.01\ndelta = 1e-5\nclip = 3", Inference: "rounds = 1\npartitions = 3",
	}))
	check(t, err)
	s, err := method.NewSetting(st, phase.Roster{Clients: []phase.ClientID{"a"}, Fewest: 1}, phase.Digest{})
	check(t, err)
	draft, err := New(s)
	check(t, err)
	m, err := draft(0.01)
	check(t, err)
	records := new(shard.Records)
	for i := range 40 {
		records.Append([]float64{float64(i%5)/2 - 1, float64(i%7) - 3})
	}
	mean := make([]float64, s.Family.Dim())
	check(t, s.Family.Mean(mean, s.Prior()))
	release := func(wrap func(solver.Solver) solver.Solver) []int64 {
		half, err := m.NewClient(shard.Design(st, records))
		check(t, err)
		c := half.(*client)
		check(t, c.deal(seeded.Stream(2, "deal")))
		c.solvers[1] = wrap(c.solvers[1])
		dst := make([]int64, s.Family.Size())
		task := &method.Task{
			Number: 1, Lambda: make([]lambda.Wide, s.Family.Size()), Natural: s.Prior(), Mean: mean,
			Centre: make([]int64, s.Coordinates.CentreSize()), Weight: 1,
		}
		if drawn, err := c.Release(dst, task, seeded.Stream(1, "diverged")); err != nil || !drawn || c.Spent().Changes != 1 {
			t.Fatalf("%v, noise drawn: %v, %d releases charged", err, drawn, c.Spent().Changes)
		}
		return dst
	}
	lost := release(func(s solver.Solver) solver.Solver { return diverging{s} })
	same := release(func(s solver.Solver) solver.Solver { return still{s} })
	found := release(func(s solver.Solver) solver.Solver { return s })
	if !slices.Equal(lost, same) || slices.Equal(lost, found) {
		t.Errorf("with a part that finds nothing the client releases %v, with one that does not change %v, as it is %v", lost, same, found)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
