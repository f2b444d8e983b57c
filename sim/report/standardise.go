package report

import (
	"fmt"
	"io"
	"math"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// foundNote returns words that follow a mention of the bounds of the columns. They say that a
// standardisation has estimated the bounds. If the study gives the bounds, foundNote returns "".
func foundNote(st *study.Study) string {
	if st.Standardisation == nil {
		return ""
	}
	return ", as the standardisation found them"
}

// scaleTable writes a table of the column scales that the standardisation estimated. It writes
// nothing for a study without standardisation.
func scaleTable(w io.Writer, columns []scale.Column) error {
	if len(columns) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nThe scale of columns, released before the first round:\n\n")
	rows := [][]string{{"", "mean", "sd", "−1 is", "1 is", "finding"}}
	for _, c := range columns {
		rows = append(rows, []string{c.Column, number(c.Mean), number(c.SD), number(c.Bounds.Low), number(c.Bounds.High), string(c.Finding)})
	}
	if err := Table(w, "  ", 1, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// planScale writes the releases and the cost of the scale phase, which precedes the first round, or
// nothing if there is no scale phase.
func planScale(w io.Writer, p *pvi.Protocol) error {
	for _, s := range p.Before() {
		return planPasses(w, p, s)
	}
	return nil
}

func planPasses(w io.Writer, p *pvi.Protocol, s *scale.Scaling) error {
	st := p.Study()
	fmt.Fprintf(w, "\nBefore the first round: the scale of %s\n\n", plural(len(st.Standardisation.Columns), "column"))
	rows := [][]string{
		{"releases of a client", fmt.Sprint(s.Passes())},
		{"content", released(s)},
	}
	if m := s.Mechanism(s.Passes()); m != nil {
		all, err := accountant.Account(s.EventFor(p.Views()[0].Shares, st.Privacy.Adjacency))
		if err != nil {
			return err
		}
		total, err := p.Cost(p.Views()[0], st.Privacy.Adjacency, p.Releases())
		if err != nil {
			return err
		}
		mu := number(all.Mu())
		if total.Mu > 0 {
			mu += fmt.Sprintf(", %.3g %% of the study's μ²", 100*math.Pow(all.Mu()/total.Mu, 2))
		}
		rows = append(rows,
			[]string{"μ of all", mu},
			[]string{"noise multiplier σ", number(m.NoiseMultiplier())},
			[]string{"clip C", fmt.Sprintf("%s (L2 norm, which no %s exceeds)", number(m.Clip()), st.Privacy.Unit)},
		)
	}
	if err := Table(w, "  ", 2, rows); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n"+wrap(fmt.Sprintf("Columns are then mapped to [−1, 1] by mean ± %s sd, within their bounds; values beyond count as at the ends. This plan takes the bounds that the study declares: the clip and all noise in natural parameters follow the scale that is found, the noise multiplier and the costs do not.", number(st.Standardisation.SDs))))
	return err
}

// released describes the sums that a client releases in the scale phase.
func released(s *scale.Scaling) string {
	switch s.Study().Privacy.Unit {
	case study.Client:
		return "its records' mean values and mean squares, in a sum over clients"
	case study.Record, study.Person:
		return "the number of its records and the sums of their values and squares"
	default:
		return "the number of its records and the sums of their values and squares, exactly"
	}
}

// afterScale returns words that say how many releases the scale phase adds, and that all costs
// include them. It returns "" if there is no scale phase.
func afterScale(p *pvi.Protocol) string {
	for _, s := range p.Before() {
		return fmt.Sprintf(", after %d for the scale, which every cost below includes", s.Passes())
	}
	return ""
}

// scaleStatement returns the text about the scale phase in the privacy statement, or "" if there is
// no scale phase.
func scaleStatement(p sim.Privacy) string {
	if p.ScaleReleases == 0 {
		return ""
	}
	return wrap(fmt.Sprintf("Before that it released the location of the values of its columns %s, under noise of their own, to find their scale. Every cost below includes this.", times(p.ScaleReleases)))
}
