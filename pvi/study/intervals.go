package study

import (
	"slices"

	"fedpvi/internal/document"
)

// Intervals is the kind of intervals that a study reports.
type Intervals string

// NoIntervals makes a study report point estimates, without sds, intervals or draws. Since version
// 2 of the study language, a study must have this value if the intervals of its method leave out a
// known source of uncertainty ([Study.Honest]).
const NoIntervals Intervals = "none"

// PointsNote is the note beside estimates of a study with [NoIntervals].
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
		return // an error about the solver or the unit was reported
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

// Honest reports whether the study's intervals can be relied on. The sds that its method computes
// must include every known source of uncertainty: the privacy noise, and correlations of
// coefficients. Honest returns true for studies with the solver Scoring or without a model, for
// studies with private steps and a last round ([OneStep]), and for studies without privacy whose q
// has a full covariance and whose posterior has one mode.
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

// single reports whether the posterior is taken to have a single mode, so that one Gaussian q can
// describe it. This is so for regressions and for programs. A program may have several modes, but
// its author can know this.
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

// Doubt returns a warning that must be shown beside the study's intervals if they leave out a known
// source of uncertainty ([Study.Honest]). Otherwise it returns "". Only studies of version 1 can
// have such intervals.
func (s *Study) Doubt() string {
	if s.Version > 1 || s.Honest() {
		return ""
	}
	return "Do not rely on these intervals, which version 2 of the study language would not report: " + s.whyDishonest() + "."
}
