package study

import (
	"slices"

	"fedpvi/internal/document"
)

// Intervals says which intervals a study reports.
type Intervals string

// NoIntervals makes a study report point estimates only. From version 2 on, a study must choose it
// if its intervals would ignore a known source of uncertainty ([Study.Honest]).
const NoIntervals Intervals = "none"

// PointsNote is printed beside the estimates of a study with [NoIntervals].
const PointsNote = `Point estimates alone: the study says intervals = "none".`

func readIntervals(s *Study, t *document.Table) {
	in := &s.Inference
	if s.Version == 1 {
		refuse(t, "intervals", "needs version 2 of the study language or a later one: write study.version = 3")
		return
	}
	if readChoice(t, "intervals", &in.Intervals, NoIntervals) || t.Has("intervals") {
		refuseAll(t, []string{"noise_aware", "noise_aware_shares"}, "makes intervals, and intervals = %q reports none: remove one of the two", NoIntervals)
		in.NoiseAware, in.NoiseAwareShares = NoNoiseAware, [3]float64{}
		return
	}
	fitting := s.fitting()
	if s.Honest() || !slices.Contains(fitting, in.Solver) || s.Privacy.Unit == "" {
		return // reported before
	}
	instead := ""
	switch {
	case slices.Contains(fitting, Scoring):
		instead = `, or leave solver out: the default has intervals that contain the noise`
	case s.Privacy.Unit == Client && s.Model.Family == ByProgram:
		instead = ". " + s.whyNotScored() + `. With privacy.unit = "person" or "record" it has intervals`
	case s.Privacy.Unit == None && s.Model.single():
		instead = `, or q = "full", which has intervals`
	}
	t.Errorf("intervals", "is missing: %s. Write intervals = %q to report point estimates alone%s", s.whyDishonest(), NoIntervals, instead)
}

// Honest reports whether the study's intervals account for every known source of uncertainty,
// including the privacy noise and the correlations of coefficients. They do with the solver
// Scoring, without a model, and with private steps followed by a last round ([OneStep]). Without
// privacy, they do if q has a full covariance and the posterior has a single mode.
func (s *Study) Honest() bool {
	in := &s.Inference
	switch {
	case in.Solver == Scoring, in.Solver == Tabulate:
		return true
	case s.Privacy.Unit == None:
		return in.Q == "full" && s.Model.single()
	}
	return in.Sampled() && in.NoiseAware == OneStep
}

// single reports whether we can assume that the posterior has a single mode. For a program, that is
// up to its author.
func (m *Model) single() bool { return !m.general() || m.Family == ByProgram }

func (s *Study) whyDishonest() string {
	switch {
	case s.Inference.NoiseAware == ClosedForm:
		return "sds of the closed form are too small wherever the steps have not averaged the noise out"
	case s.Inference.NoiseAware == Iterates:
		return "sds by iterates depend on the step size"
	case s.Privacy.Unit != None:
		return "sds of this method leave out the privacy noise"
	case !s.Model.single():
		return "the posterior of clusters and of hidden units has many modes, of which q covers one"
	}
	return `sds of q = "diagonal" leave out how coefficients are correlated`
}

// Points reports whether the study reports only point estimates.
func (s *Study) Points() bool { return s.Inference.Intervals == NoIntervals }

// Doubt returns a warning to print beside intervals that ignore a known source of uncertainty
// ([Study.Honest]), or "" if none is needed. Only studies of version 1 can have such intervals.
func (s *Study) Doubt() string {
	if s.Version > 1 || s.Honest() {
		return ""
	}
	return "Do not rely on these intervals, which version 2 of the study language would not report: " + s.whyDishonest() + "."
}
