package study

import "fedpvi/internal/document"

// DefaultScoringRounds is the number of rounds of the solver Scoring if a study gives none.
const DefaultScoringRounds = 13

// leastScoringRounds is the smallest number of rounds of the solver Scoring.
const leastScoringRounds = 4

// maxScored is the largest number of coefficients of the solver Scoring, because a round may
// send a matrix with a row for each coefficient.
const maxScored = 200

// scores reports whether the solver Scoring can fit the model under a privacy unit.
func (m *Model) scores(unit Unit) bool {
	return unit == Record && !m.general() && len(m.Groups) == 0
}

// refuseForScoring refuses keys that do not apply to the solver Scoring, which chooses its own
// units, clips and steps.
func refuseForScoring(s *Study, t, privacy *document.Table) {
	if s.Inference.Solver != Scoring {
		return
	}
	for _, key := range []string{"factors", "damping", "damping_schedule", "local_prior"} {
		refuse(t, key, `has no meaning with solver = %q: clients have no factors, and steps follow from released sums; remove it`, Scoring)
	}
	for _, key := range []string{"clip", "coordinates"} {
		refuse(privacy, key, `has no meaning with inference.solver = %q: clips and coordinates follow from released sums; remove it`, Scoring)
	}
	if s.Inference.Schedule != Synchronous {
		t.Errorf("schedule", "solver = %q opens one sum of all clients' scores in a round: write schedule = %q", Scoring, Synchronous)
	}
	if n := s.Inference.Rounds; n > 0 && n < leastScoringRounds {
		t.Errorf("rounds", "solver = %q needs at least %d rounds, and %d are best in most studies; got %d", Scoring, leastScoringRounds, DefaultScoringRounds, n)
	}
	if s.Model.Terms != nil {
		if d := countCoefficients(s, s.Model.Terms); d > maxScored {
			t.Errorf("solver", "%q releases a matrix over the coefficients, of which there may be %d, and the model has %d: write solver = %q", Scoring, maxScored, d, DPSVI)
		}
	}
	s.Inference.Factors, s.Inference.Damping, s.Inference.Q = Tied, Damping{Alpha: 1}, "full"
}
