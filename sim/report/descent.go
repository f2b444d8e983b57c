package report

import (
	"fmt"
	"math"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// plannedDescent is what private gradient steps come to, for a machine.
type plannedDescent struct {
	Steps        int     `json:"steps"` // of a client in one round
	SamplingRate float64 `json:"sampling_rate"`
	StepSize     float64 `json:"step_size"`
}

func newPlannedDescent(d *pvi.Descent) *plannedDescent {
	if d == nil {
		return nil
	}
	return &plannedDescent{d.Steps, d.Rate, d.StepSize}
}

// descentRows are the lines of a plan about private gradient steps, nil if there are
// none.
func descentRows(p *pvi.Protocol) [][]string {
	d := p.Descent()
	if d == nil {
		return nil
	}
	in := p.Study().Inference
	if in.Solver == study.DPSEP {
		return propagationRows(p)
	}
	rows := [][]string{
		{"", fmt.Sprintf("%s of %s, each a noisy sum of gradients", plural(in.Rounds, "round"), plural(d.Steps, "step"))},
		{"batches", batchesInWords(p)},
		{"gradients", gradientsInWords(p)},
		{"step size", fmt.Sprintf("%s, %s falling to %s%s", in.Descent.Optimiser, number(d.StepSize), number(d.StepSize*in.Descent.Decay), stepSizeRule(p))},
	}
	if s := p.Start(); s != nil {
		rows = append(rows, []string{"start", fmt.Sprintf("from one noisy sum of statistics, for about %s of μ²: clip %s, noise multiplier %s", number(in.Descent.StartShare), number(s.Clip()), number(s.NoiseMultiplier()))})
	}
	return rows
}

func batchesInWords(p *pvi.Protocol) string {
	d := p.Descent()
	if d.Rate == 1 {
		return "every record in every step"
	}
	switch p.Study().Inference.Descent.Sampling {
	case study.AllocatedSampling:
		return fmt.Sprintf("every record in one of the %s of an epoch, drawn anew for each (random allocation)", plural(d.Epoch, "step"))
	case study.WithoutReplacement:
		return fmt.Sprintf("%s of %s in every step, without replacement, and accounted as that", plural(d.Batch, "record"), fmt.Sprint(p.Study().Federation.NominalRecords))
	case study.PublishedSampling:
		return fmt.Sprintf("AS PUBLISHED: %s of %s in every step, without replacement, for which Poisson sampling is claimed", plural(d.Batch, "record"), fmt.Sprint(p.Study().Federation.NominalRecords))
	}
	return fmt.Sprintf("every record in a step with probability %s (Poisson)", number(d.Rate))
}

func gradientsInWords(p *pvi.Protocol) string {
	in := p.Study().Inference.Descent
	text := map[study.Gradients]string{
		study.Aligned:            "aligned: the gradient in the mean is released, that in the spread follows from it",
		study.Joint:              "joint: the gradients in mean and spread are released together",
		study.Preconditioned:     "preconditioned: the gradients in mean and spread are released together, on one scale",
		study.PublishedGradients: fmt.Sprintf("AS PUBLISHED: joint, with 1/%d of the gradient of the divergence inside the clip, which bends it (and costs what is stated)", p.Study().Federation.NominalRecords),
	}[in.Gradients]
	if in.Draws > 1 {
		text += fmt.Sprintf("; of %d draws, clipped as one vector", in.Draws)
	}
	return text
}

func stepSizeRule(p *pvi.Protocol) string {
	d, in := p.Descent(), p.Study().Inference
	if in.Descent.StepSize > 0 {
		return ""
	}
	return fmt.Sprintf(" (%s over %d steps)", number(d.StepSize*float64(d.Total)), d.Total)
}

func clippedGradient(p *pvi.Protocol) string {
	d, what := p.Descent(), "a record's gradient"
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

func descentForecast(p *pvi.Protocol, f sim.Forecast) string {
	if p.Study().Inference.Solver == study.DPSEP {
		return propagationForecast(p, f)
	}
	text := fmt.Sprintf("Averaged over all steps, the noise of all clients together has sd %s on every element of the sum of gradients. A record adds at most %s: the noise hides what the first %.0f records of the whole federation say.",
		number(f.Noise), number(f.Largest), math.Ceil(f.Noise/f.Largest))
	if m := p.Noise().Multiplier; p.Descent().Rate < 1 && m < leastSampledNoise {
		text += fmt.Sprintf(" With a noise multiplier of %s below %d, sampling costs more than it saves: a larger inference.sampling_rate hides as much with less noise in all.", number(m), leastSampledNoise)
	}
	return text
}

// leastSampledNoise is the noise multiplier from which on the noise of all steps
// together does not depend on the sampling rate.
const leastSampledNoise = 2

// sentByDescent says what leaves a client that takes private gradient steps.
func sentByDescent(p *pvi.Protocol) []string {
	in, n := p.Study().Inference, p.Noise()
	var out []string
	if p.Summed() {
		out = append(out, fmt.Sprintf("%s times: the sum of its records' gradients at one θ, which everybody knows, %s, every record's clipped to norm %s, with Gaussian noise that in a sum of clients has %s times the clip as standard deviation.",
			capital(fmt.Sprint(p.Descent().Total)), plural(p.Sampled().Dim(), "number"), number(n.Clip), number(n.Multiplier)))
	} else {
		what := "gradients"
		if in.Solver == study.DPSEP {
			what = "sites"
		}
		out = append(out, fmt.Sprintf("In %s: the change of its factor, %s, computed from %s, each a sum of its records' %s, every record's clipped to norm %s, with Gaussian noise of %s times the clip as standard deviation. Those sums could be read as well: the promise counts all %s of them.",
			everyRound(in.Rounds), plural(p.Family().Size(), "number"), plural(p.Descent().Steps, "noisy sum"), what, number(n.Clip), number(n.Multiplier), fmt.Sprint(p.Descent().Total)))
	}
	if s := p.Start(); s != nil {
		out = append(out, fmt.Sprintf("Once, before anything else: %s that sum up its records, each record's share clipped to norm %s, with Gaussian noise of %s times the clip as standard deviation.",
			plural(s.Dim(), "number"), number(s.Clip()), number(s.NoiseMultiplier())))
	}
	if !p.Sound() {
		out = append(out, "NOT PRIVATE AS CLAIMED, for research on public or made-up data only: batches are accounted as if records came into them by another chance than they do.")
	}
	if c := p.OneStep(); c != nil {
		out = append(out, fmt.Sprintf("After the last round, once: the sum of its records' gradients at the posterior's mean, with noise of %s times the same clip, and the sum of their curvatures, %s, every record's clipped to norm %s, with noise of %s times that.",
			number(c.Gradient.NoiseMultiplier()), plural(c.Curvature.Dim(), "number"), number(c.Curvature.Clip()), number(c.Curvature.NoiseMultiplier())))
	}
	return append(out, "What that gives away about one record: sim plan says, against whom.")
}
