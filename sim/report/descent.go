package report

import (
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/gradientsum"
	"fedpvi/pvi/study"
)

// plannedDescent describes private gradient steps in the JSON of a plan.
type plannedDescent struct {
	Steps        int     `json:"steps"` // number of steps of a client in one round
	SamplingRate float64 `json:"sampling_rate"`
	StepSize     float64 `json:"step_size"`
}

func newPlannedDescent(p *pvi.Protocol) *plannedDescent {
	d := stepsOf(p)
	if d == nil {
		return nil
	}
	return &plannedDescent{d.Round, d.Rate, d.StepSize}
}

func stepsOf(p *pvi.Protocol) *method.Steps {
	d, _ := method.StepsOf(p.Method())
	return d
}

// sumsMoveQ reports whether opened sums of gradients move q directly.
func sumsMoveQ(p *pvi.Protocol) bool {
	_, ok := p.Method().(*gradientsum.Method)
	return ok
}

func descentRows(p *pvi.Protocol) [][]string {
	d, in := stepsOf(p), p.Study().Inference
	if d == nil {
		return nil
	}
	if in.Solver == study.DPSEP {
		return propagationRows(p)
	}
	rows := [][]string{
		{"", fmt.Sprintf("%s of %s, each a noisy sum of gradients", plural(in.Rounds, "round"), plural(d.Round, "step"))},
		{"batches", batchesInWords(p)},
		{"gradients", gradientsInWords(p)},
		{"step size", fmt.Sprintf("%s, %s falling to %s%s", in.Descent.Optimiser, number(d.StepSize), number(d.StepSize*in.Descent.Decay), stepSizeRule(p))},
	}
	if s, ok := p.Method().(method.Stepped).Start(); ok {
		rows = append(rows, []string{"start", fmt.Sprintf("from one noisy sum of statistics, for about %s of μ²: clip %s, noise multiplier %s", number(in.Descent.StartShare), number(s.Clip()), number(s.NoiseMultiplier()))})
	}
	return rows
}

func batchesInWords(p *pvi.Protocol) string {
	d := stepsOf(p)
	if d.Rate == 1 {
		return "every record in every step"
	}
	switch p.Study().Inference.Descent.Sampling {
	case study.AllocatedSampling:
		return fmt.Sprintf("every record in one of the %s of an epoch, drawn anew for each (random allocation)", plural(d.Epoch, "step"))
	case study.WithoutReplacement:
		return fmt.Sprintf("%s of %s in every step, without replacement, and accounted as such", plural(d.Batch, "record"), fmt.Sprint(p.Study().Federation.NominalRecords))
	case study.PublishedSampling:
		return fmt.Sprintf("AS PUBLISHED: %s of %s in every step, without replacement, but with the claimed cost of Poisson sampling", plural(d.Batch, "record"), fmt.Sprint(p.Study().Federation.NominalRecords))
	}
	return fmt.Sprintf("every record in a step with probability %s (Poisson)", number(d.Rate))
}

func gradientsInWords(p *pvi.Protocol) string {
	in := p.Study().Inference.Descent
	text := map[study.Gradients]string{
		study.Aligned:            "aligned: the gradient in the mean is released, and the gradient in the spread follows from it",
		study.Joint:              "joint: the gradients in mean and spread are released together",
		study.Preconditioned:     "preconditioned: the gradients in mean and spread are released together, on one scale",
		study.PublishedGradients: fmt.Sprintf("AS PUBLISHED: joint, with 1/%d of the gradient of the divergence inside the clip, which distorts it (the stated cost holds)", p.Study().Federation.NominalRecords),
	}[in.Gradients]
	if in.Draws > 1 {
		text += fmt.Sprintf("; of %d draws, clipped as one vector", in.Draws)
	}
	return text
}

func stepSizeRule(p *pvi.Protocol) string {
	d, in := stepsOf(p), p.Study().Inference
	if in.Descent.StepSize > 0 {
		return ""
	}
	return fmt.Sprintf(" (%s over %d steps)", number(d.StepSize*float64(d.Total)), d.Total)
}

func clippedGradient(p *pvi.Protocol) string {
	d, what := stepsOf(p), "a record's gradient"
	if p.Study().Privacy.Unit == study.Person {
		what = "the sum of the gradients of a person's rows"
	}
	if p.Study().Inference.Solver == study.DPSEP {
		what = contributionInWords(p)
	}
	if n := p.Study().Inference.Descent.Draws; n > 1 {
		what = fmt.Sprintf("a record's gradients for %d draws", n)
	}
	if d.Typical == 0 {
		return what
	}
	return fmt.Sprintf("%s, %s of %s, the norm for values spread evenly within bounds", what, number(d.Clip/d.Typical), number(d.Typical))
}
