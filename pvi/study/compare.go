package study

import (
	"fmt"
	"math"

	"fedpvi/internal/document"
)

// A Compare has the options of a last round that measures how well the study's model predicts. Each
// client keeps some random records out of the fit. In the last round it releases a noisy sum of
// their log predictive densities.
type Compare struct {
	HeldOut float64 // probability with which a record or a person is held out; default 0.1
	Share   float64 // share of the privacy budget; default 0.1

	// Low and High are the limits to which the log predictive density of a record is clipped.
	Low, High float64
}

// OutcomeScale describes the outcome and the scale on which its density is measured. Log predictive
// densities of two studies are comparable if the descriptions are equal. The description is empty
// for a model without an outcome.
func (s *Study) OutcomeScale() string {
	c, ok := s.Column(s.Model.Outcome)
	switch {
	case !ok:
		return ""
	case s.Model.Positive != nil:
		return fmt.Sprintf("%s, %s or not", c.Name, s.Model.Positive.Text)
	case s.Model.Kind() == Measured:
		of := c.Name
		if c.Transform != "" {
			of = fmt.Sprintf("%s(%s)", c.Transform, c.Name)
		}
		return fmt.Sprintf("%s, %g to %g mapped to %g to %g", of, c.Low, c.High, s.Scale(c, c.Low), s.Scale(c, c.High))
	case s.Model.Kind() == Class:
		return fmt.Sprintf("%s, one of %d levels", c.Name, len(c.Levels))
	}
	return fmt.Sprintf("%s, a count up to %g", c.Name, c.High)
}

const (
	mostHeldOut = 0.5

	// By default, log predictive densities are clipped to the range from u − belowUniform to u +
	// aboveUniform in nats, where u is the log density of the uniform distribution.
	belowUniform, aboveUniform = 4, 3

	mostNats = 1000 // largest allowed absolute value of either limit
	// smallest allowed width of the range; in a narrower one, all models would get nearly the same
	// score
	leastNats = 0.01
)

// readCompare reads the table [compare] and adds the last round to the study. private says whether
// the study standardises its columns privately; such a study cannot have [compare].
func readCompare(s *Study, root, inference *document.Table, private bool) {
	if !root.Has("compare") {
		return
	}
	t := root.Table("compare")
	c := &Compare{HeldOut: 0.1, Share: 0.1}
	s.Compare = c
	if readPositive(t, "held_out", &c.HeldOut) && c.HeldOut > mostHeldOut {
		t.Errorf("held_out", "must be at most %g, because the fit needs the other records; got %g", mostHeldOut, c.HeldOut)
	}
	others, beside := 0.0, ""
	if s.Describe != nil {
		others, beside = s.Describe.Share, " with describe.share"
	}
	if readPositive(t, "share", &c.Share); c.Share+others > maxDescribeShare {
		t.Errorf("share", "must be at most %g%s, because the model needs the rest of the budget; got %g", maxDescribeShare, beside, c.Share+others)
	}
	readScoreRange(s, c, t)
	switch {
	case s.Version == 1:
		root.Errorf("compare", "needs version 2 of the study language or a later one: write study.version = 3")
	case s.Model.Absent():
		root.Errorf("compare", "scores the predictions of a model, and the study has none: write [model], or leave [compare] out")
	case s.Privacy.Unit == Client:
		root.Errorf("compare", `noise that hides a whole client also hides the sum over its held-out records: write privacy.unit = "record" or "person", or leave [compare] out`)
	case s.Privacy.Unit == None:
		root.Errorf("compare", "is released with noise, and the study has none: leave [compare] out, and compare the models by sim compare --data on records that no study has read")
	case s.Inference.Solver != Scoring:
		root.Errorf("compare", "held-out records are scored in a round of solver = %q, but the solver of this study is %q: leave [compare] out, or write a model that %q can fit", Scoring, s.Inference.Solver, Scoring)
	case private:
		root.Errorf("compare", `the scale of columns would be computed from all records, including the held-out ones: write model.standardise = "bounds", or leave [compare] out`)
	case !inference.Has("rounds"):
		s.Inference.Rounds++
	case s.Inference.Rounds <= scoringLimits[s.Privacy.Unit].least:
		inference.Errorf("rounds", "the last round scores the held-out records, and the fit needs %d rounds before it; got %d in all", scoringLimits[s.Privacy.Unit].least, s.Inference.Rounds)
	}
}

// readScoreRange reads the range to which log predictive densities are clipped. The default range
// contains the log density of a uniform outcome, and ends at 0 if outcomes are discrete. A program
// has no default range, because nothing is known about the scale of its density.
func readScoreRange(s *Study, c *Compare, t *document.Table) {
	if ends, ok := t.Floats("clip"); ok {
		if len(ends) != 2 || !(ends[1]-ends[0] >= leastNats) || !(math.Abs(ends[0]) <= mostNats && math.Abs(ends[1]) <= mostNats) {
			t.Errorf("clip", "must be the lower and the upper limit to which log predictive densities of records are clipped, between %d and %d and at least %g apart, such as [-6, 0]", -mostNats, mostNats, leastNats)
			return
		}
		c.Low, c.High = ends[0], ends[1]
		return
	}
	outcome, known := s.Column(s.Model.Outcome)
	if !known {
		if s.Model.Family == ByProgram {
			t.Errorf("clip", "is missing: no public number bounds the log density of a record of a program or formula; write the lower and the upper limit to which log predictive densities of records are clipped, clip = [-6, 0]")
		}
		return
	}
	if s.Model.Kind() == Measured {
		uniform := -math.Log(s.Scale(outcome, outcome.High) - s.Scale(outcome, outcome.Low))
		c.Low, c.High = uniform-belowUniform, uniform+aboveUniform
		return
	}
	uniform := -math.Log(s.OutcomeBound() + 1)
	c.Low, c.High = uniform-belowUniform, min(uniform+aboveUniform, 0)
}
