package study

import (
	"slices"
	"strconv"
	"strings"

	"fedpvi/internal/document"
)

// fitting returns the solvers that the study can use. The default is the first one. From version 2
// on, it is [Scoring] instead if that is in the list.
func (s *Study) fitting() []Solver {
	unit := s.Privacy.Unit
	if s.partitioned() {
		unit = None // the solver sees the records of a part without noise
	}
	all := s.Model.solvers(unit)
	if s.Model.scores(unit) {
		all = append(all, Scoring)
	}
	return all
}

// solvers returns the solvers that can fit the model under a privacy unit, apart from [Scoring].
func (m *Model) solvers(unit Unit) []Solver {
	switch {
	case unit.OfRecords() && m.Conjugate():
		return []Solver{ClippedAnalytical, DPSVI, DPSEP}
	case unit.OfRecords() && m.Family == ByProgram:
		return []Solver{DPSVI}
	case unit.OfRecords():
		return []Solver{DPSVI, DPSEP}
	case m.Conjugate():
		return []Solver{Conjugate, NaturalGradient, SVI, Laplace}
	case m.Family == ByProgram:
		return []Solver{NaturalGradient, SVI}
	case m.general():
		return []Solver{SVI, NaturalGradient}
	case len(m.Groups) > 0 && m.Family == Poisson:
		// SVI comes before NaturalGradient, because the latter needs the expected rate under q. That is
		// infinite, since the log rate contains an effect times the exponential of a Gaussian.
		return []Solver{SVI, NaturalGradient}
	case len(m.Groups) > 0:
		return []Solver{NaturalGradient, SVI} // Laplace needs the joint mode of the coefficients and the standard deviations, and there is none if groups hardly differ
	default:
		return []Solver{NaturalGradient, SVI, Laplace}
	}
}

func readSolver(s *Study, t *document.Table) {
	in := &s.Inference
	fitting := s.fitting()
	in.Solver = fitting[0]
	if s.Version > 1 && slices.Contains(fitting, Scoring) {
		in.Solver = Scoring
	}
	if readChoice(t, "solver", &in.Solver, Conjugate, NaturalGradient, SVI, Laplace, ClippedAnalytical, DPSVI, DPSEP, Scoring) {
		checkSolver(s, t, fitting)
	}
	refuseUnused(s, t)
	switch in.Solver {
	case SVI:
		in.Ascent = DefaultAscent
		readCount(t, "steps", &in.Ascent.Steps, maxSteps)
		readPositive(t, "step_size", &in.Ascent.StepSize)
		readCount(t, "draws", &in.Ascent.Draws, maxDraws)
	case DPSVI:
		readDescent(s, t)
	case DPSEP:
		readPropagation(s, t)
	}
	readNoiseAware(s, t)
}

func checkSolver(s *Study, t *document.Table, fitting []Solver) {
	if slices.Contains(fitting, s.Inference.Solver) {
		return
	}
	switch {
	case s.partitioned() && (s.Inference.Sampled() || s.Inference.Solver == ClippedAnalytical):
		t.Errorf("solver", `%q adds noise of its own to hide records, but with inference.partitions the noise is added to the sum over the parts: write %q`, s.Inference.Solver, fitting[0])
	case s.Inference.Sampled() && s.Privacy.Unit == Client:
		t.Errorf("solver", `%q hides a record in every step. If the noise hides a client only in the sum over all clients, several steps would reveal more than the sum, so a client may take one step a round: with privacy.unit = "client" write %q`, s.Inference.Solver, fitting[0])
	case s.Inference.Solver == DPSEP && s.Privacy.Unit.OfRecords():
		t.Errorf("solver", `%q is for models that a family names, and not for formulas and programs: write %q`, DPSEP, fitting[0])
	case s.Inference.Sampled():
		t.Errorf("solver", `%q is for privacy.unit = "record": with privacy.unit = "none" write "svi"`, s.Inference.Solver)
	case !s.partitioned() && s.Privacy.Unit.OfRecords() || s.Inference.Solver == ClippedAnalytical:
		t.Errorf("solver", "with privacy.unit = %q the solver is %q", s.Privacy.Unit, fitting[0])
	case s.Inference.Solver == Scoring:
		t.Errorf("solver", `%s: write %q`, s.whyNotScored(), fitting[0])
	case s.Inference.Solver == Laplace:
		t.Errorf("solver", `the mode of a program, or of a model with group terms, clusters or hidden units, says little about where its posterior lies: write %q`, fitting[0])
	default:
		t.Errorf("solver", `%q is for family = "linear" with a known noise_sd: write %q`, s.Inference.Solver, fitting[0])
	}
}

const maxSteps, maxDraws = 1_000_000, 10_000

// steppers lists the keys about steps of iterative solvers, and the solvers that use them.
var steppers = []struct {
	keys []string
	used []Solver
}{
	{[]string{"steps", "step_size"}, []Solver{SVI, DPSVI, DPSEP}},
	{[]string{"draws"}, []Solver{SVI, DPSVI}},
	{[]string{"sampling", "sampling_rate", "initial_sd", "start"}, []Solver{DPSVI, DPSEP}},
	{[]string{"gradients", "optimiser", "step_decay", "average", "start_share"}, []Solver{DPSVI}},
	{[]string{"start_at", "recency", "power", "precision_weight", "contribution", "sites", "improper", "reseat"}, []Solver{DPSEP}},
}

func refuseUnused(s *Study, t *document.Table) {
	for _, k := range steppers {
		if !slices.Contains(k.used, s.Inference.Solver) {
			refuseAll(t, k.keys, `is used only with solver = %s`, anyOf(k.used))
		}
	}
}

func anyOf(solvers []Solver) string {
	names := make([]string, len(solvers))
	for i, s := range solvers {
		names[i] = strconv.Quote(string(s))
	}
	return strings.Join(names, " or ")
}

// DefaultAscent holds the default options of the solver SVI.
var DefaultAscent = Ascent{Steps: 200, StepSize: 0.05, Draws: 8}
