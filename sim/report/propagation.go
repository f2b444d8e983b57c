package report

import (
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/method/sites"
	"fedpvi/pvi/study"
)

func propagationRows(p *pvi.Protocol) [][]string {
	d, in := stepsOf(p), p.Study().Inference
	how := in.Propagation
	passes := float64(d.Total) * d.Rate
	if in.Descent.Sampling == study.PublishedSampling {
		return [][]string{
			{"", fmt.Sprintf("%s of %s, each with the noisy site of one record", plural(in.Rounds, "round"), plural(d.Round, "step"))},
			{"batches", fmt.Sprintf("AS PUBLISHED: one record a step, each record once a pass in random order, but with the claimed cost of independent draws; %s passes", number(passes))},
			{"step", fmt.Sprintf("AS PUBLISHED: γ = %s, by which a pass moves the factor %s of the way to the sum of the records' sites", number(how.StepSize), number(how.StepSize*d.Rate))},
		}
	}
	rows := [][]string{
		{"", fmt.Sprintf("%s of %s, each a noisy sum of sites", plural(in.Rounds, "round"), plural(d.Round, "step"))},
		{"batches", batchesInWords(p)},
		{"step", fmt.Sprintf("a pass moves the factor by %s at most; the weight of each of %s passes is its number to the power %s", number(how.StepSize), number(passes), number(how.Recency))},
	}
	rows = append(rows, meanRows(p)...)
	rows = append(rows, [][]string{
		{"sites", sitesInWords(how, p)},
		{"where improper", map[study.Improper]string{
			study.Project: "the nearest factor that a likelihood could have, computed after the noise",
			study.Reject:  "the last proper factor stays, while the step is paid for and averaged",
		}[how.Improper]},
	}...)
	return append(rows, startRows(p)...)
}

// meanRows describes how far the mean of q moves if a record contributes to several coefficients.
func meanRows(p *pvi.Protocol) [][]string {
	m := p.Method().(*sites.Method)
	overlap := m.Overlap()
	if overlap == 1 {
		return nil
	}
	rows := [][]string{{"mean", fmt.Sprintf("a record contributes to up to %s coefficients at once, and each moves by at most 1/%s of a pass", number(overlap), number(overlap))}}
	if m.Glides() {
		rows = append(rows, []string{"", fmt.Sprintf("with a momentum of up to %s; the proposal is an average of the means, in which mean number t has the weight t", number(1-1/overlap))})
	}
	return rows
}

func sitesInWords(how study.Propagation, p *pvi.Protocol) string {
	text := fmt.Sprintf("matched moments of the likelihood to the power %s", number(how.Power))
	if p.Study().Model.Family == study.Mixture {
		text = map[study.Sites]string{
			study.TiedSites:   "a record's likelihood to the power of its probability of being of a cluster, one precision for each",
			study.MomentSites: "matched moments of the tilted distribution",
		}[how.Sites]
		if how.Reseat {
			text += "; in the first half of the steps a cluster that shares its records goes to one that covers two"
		}
	}
	around := "the mean of q"
	if how.Raw {
		around = "the origin"
	}
	return fmt.Sprintf("%s, around %s, precisions times %s", text, around, number(how.PrecisionWeight))
}

func startRows(p *pvi.Protocol) [][]string {
	how, sd := p.Study().Inference.Propagation, number(stepsOf(p).InitialSD)
	switch {
	case how.Start == study.DrawnStart:
		return [][]string{{"start", "a draw from the prior that everybody can make, with sds of at most " + sd}}
	case how.StartAt != nil:
		return [][]string{{"start", "at the means of start_at, with sds of at most " + sd}}
	}
	return nil
}

// contributionInWords describes the vector that a record adds to a client's sum, before it is
// clipped.
func contributionInWords(p *pvi.Protocol) string {
	site := "a record's site"
	if p.Study().Privacy.Unit == study.Person {
		site = "the sum of the sites of a person's rows"
	}
	if p.Study().Inference.Propagation.Contribution == study.DeviationContribution {
		site += ", less an equal share of its client's factor"
	}
	return site
}
