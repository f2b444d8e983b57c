package study

import "fedpvi/internal/document"

// Fitting returns the solvers that a family can use under a unit, the default
// first; none if there is no such solver yet.
func Fitting(m *Model, unit Unit) []Solver {
	switch {
	case unit == Record && m.Conjugate():
		return []Solver{ClippedAnalytical}
	case unit == Record:
		return nil
	case m.Conjugate():
		return []Solver{Conjugate, NaturalGradient, SVI, Laplace}
	case m.Family == Mixture || m.Family == NeuralNetwork:
		return []Solver{SVI, NaturalGradient}
	case len(m.Groups) > 0:
		return []Solver{NaturalGradient, SVI} // where groups hardly differ the joint mode has no curvature
	default:
		return []Solver{NaturalGradient, SVI, Laplace}
	}
}

func readSolver(s *Study, t *document.Table) {
	in := &s.Inference
	fitting := Fitting(&s.Model, s.Privacy.Unit)
	if len(fitting) > 0 {
		in.Solver = fitting[0]
	} else if s.Model.Family != "" && s.Privacy.Unit == Record {
		t.Errorf("solver", `there is none that protects a record of a %s model yet: privacy.unit = "record" works with family = "linear" and a known noise_sd; write privacy.unit = "client" or "none"`, s.Model.Family)
	}
	var options []string
	for _, o := range []Solver{Conjugate, NaturalGradient, SVI, Laplace, ClippedAnalytical} {
		options = append(options, string(o))
	}
	if v, ok := t.Choice("solver", options...); ok && len(fitting) > 0 {
		in.Solver = Solver(v)
		checkSolver(s, t, fitting)
	}
	readAscent(s, t)
}

// checkSolver refuses a solver that the model or the unit cannot use.
func checkSolver(s *Study, t *document.Table, fitting []Solver) {
	for _, f := range fitting {
		if f == s.Inference.Solver {
			return
		}
	}
	switch {
	case s.Privacy.Unit == Record || s.Inference.Solver == ClippedAnalytical:
		t.Errorf("solver", "with privacy.unit = %q the solver is %q", s.Privacy.Unit, fitting[0])
	case s.Inference.Solver == Laplace:
		t.Errorf("solver", `the mode of a model with group terms, clusters or hidden units says little about where its posterior lies: write %q`, fitting[0])
	default:
		t.Errorf("solver", `%q is for family = "linear" with a known noise_sd: write %q`, s.Inference.Solver, fitting[0])
	}
}

const maxSteps, maxDraws = 1_000_000, 10_000

func readAscent(s *Study, t *document.Table) {
	a := &s.Inference.Ascent
	if s.Inference.Solver != SVI {
		for _, key := range []string{"steps", "step_size", "draws"} {
			if t.Has(key) {
				t.Errorf(key, `is used only with solver = "svi"`)
			}
			t.Value(key)
		}
		return
	}
	*a = Ascent{Steps: 200, StepSize: 0.05, Draws: 8}
	if v, ok := t.Int("steps"); ok {
		a.Steps = between(t, "steps", v, 1, maxSteps)
	}
	if v, ok := t.Float("step_size"); ok {
		a.StepSize = positive(t, "step_size", v)
	}
	if v, ok := t.Int("draws"); ok {
		a.Draws = between(t, "draws", v, 1, maxDraws)
	}
}
