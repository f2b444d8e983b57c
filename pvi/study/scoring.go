package study

import (
	"fmt"

	"fedpvi/internal/document"
)

// A scoringLimit has the limits that apply to the solver Scoring under one privacy unit.
type scoringLimit struct {
	rounds       int    // default number of rounds
	least        int    // smallest number of rounds
	coefficients int    // largest number of coefficients d, because messages contain d×d matrices
	remedy       Solver // solver to recommend to studies beyond a limit
}

// scoringLimits lists the privacy units that the solver Scoring can protect. For the unit client,
// fewer coefficients are allowed: each round sends two matrices, and the time to compute the
// posterior grows with the sixth power of the number of coefficients.
var scoringLimits = map[Unit]scoringLimit{
	Record: {rounds: 13, least: 4, coefficients: 200, remedy: DPSVI},
	Person: {rounds: 13, least: 4, coefficients: 200, remedy: DPSVI},
	Client: {rounds: 10, least: 3, coefficients: 50, remedy: NaturalGradient},
}

// mostScoringRounds is the largest number of rounds of the solver Scoring. If there were more,
// noise would hide nearly all information in each release.
const mostScoringRounds = 100

// A Target says which population the posterior describes.
type Target string

const (
	// Population is the population that the clients are a sample of. The posterior takes differences
	// between clients into account.
	Population Target = "population"
	// Pooled means the records of all clients together. Differences between clients are ignored.
	Pooled Target = "pooled"
)

// scores reports whether the solver Scoring can fit the model under the given privacy unit.
func (m *Model) scores(unit Unit) bool {
	_, ok := scoringLimits[unit]
	switch {
	case m.Family == ByProgram:
		return unit.OfRecords() || unit == Client && m.Formula != nil && !m.Formula.Varying
	case m.general():
		return false
	}
	return ok && (len(m.Groups) == 0 || unit == Record)
}

// whyNotScored explains in an error message why the solver Scoring cannot fit the model.
func (s *Study) whyNotScored() string {
	switch {
	case s.Privacy.Unit == Client && s.Model.Formula != nil:
		return "With whole clients protected, intervals are not known to hold for effects of groups, s() and mo(), whose parameters are multiplied or have a spread that is learned"
	case s.Privacy.Unit == Client && s.Model.Family == ByProgram:
		return "With whole clients protected, intervals are known to hold for formulas alone, not for programs"
	}
	return fmt.Sprintf("%q cannot fit this model with privacy.unit = %q", Scoring, s.Privacy.Unit)
}

// MostScored returns the largest number of elements of θ that records may depend on with the solver
// Scoring.
func (s *Study) MostScored() int { return scoringLimits[s.Privacy.Unit].coefficients }

func readTargetOfScoring(s *Study, t *document.Table) {
	if s.Inference.Solver != Scoring || s.Privacy.Unit != Client {
		refuse(t, "target", `is used only with solver = %q and privacy.unit = %q`, Scoring, Client)
		return
	}
	s.Inference.Target = Population
	readChoice(t, "target", &s.Inference.Target, Population, Pooled)
}

// refuseForScoring refuses keys that make no sense with the solver Scoring, which computes its own
// units, clipping bounds and steps.
func refuseForScoring(s *Study, t, privacy, federation *document.Table) {
	if s.Inference.Solver != Scoring {
		return
	}
	refuseAll(t, []string{"factors", "damping", "damping_schedule", "local_prior"}, `has no meaning with solver = %q: clients have no factors, and steps follow from released sums; remove it`, Scoring)
	refuseAll(privacy, []string{"clip", "coordinates"}, `has no meaning with inference.solver = %q: clips and coordinates follow from released sums; remove it`, Scoring)
	if s.Inference.Schedule != Synchronous {
		t.Errorf("schedule", "solver = %q opens one sum of all clients' scores in a round: write schedule = %q", Scoring, Synchronous)
	}
	if s.Inference.Q != "full" {
		t.Errorf("q", "solver = %q releases what the covariance of all coefficients needs: write q = %q, or leave it out", Scoring, "full")
	}
	limit := scoringLimits[s.Privacy.Unit]
	if n := s.Inference.Rounds; n > 0 && (n < limit.least || n > mostScoringRounds) {
		t.Errorf("rounds", "solver = %q needs between %d and %d rounds, and %d are best in most studies; got %d", Scoring, limit.least, mostScoringRounds, limit.rounds, n)
	}
	if s.Model.Terms != nil {
		d := countCoefficients(s, s.Model.Terms)
		for _, g := range s.Model.Groups {
			by, _ := s.Column(g.By)
			d += len(by.Levels) * len(g.Effects())
		}
		if d > limit.coefficients {
			t.Errorf("solver", "%q releases a matrix over the coefficients and the effects of groups, of which there may be %d, and the model has %d: write solver = %q", Scoring, limit.coefficients, d, limit.remedy)
		}
	}
	if s.Privacy.Unit == Client && s.Federation.NominalRecords == 0 {
		federation.Errorf("nominal_records", "is missing: clips of clients' gradients and curvatures follow from the number of records that a typical client has; write nominal_records = 100")
	}
	s.Inference.Factors, s.Inference.Damping, s.Inference.Q = Tied, Damping{Alpha: 1}, "full"
}
