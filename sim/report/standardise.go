package report

import (
	"fmt"
	"io"
	"math"

	"fedpvi/accountant"
	"fedpvi/pvi"
	"fedpvi/pvi/scale"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

func scaleTable(w io.Writer, columns []scale.Column) error {
	if len(columns) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nThe scale of columns, released before the first round:\n\n")
	rows := [][]string{{"", "mean", "sd", "−1 is", "1 is", "finding"}}
	for _, c := range columns {
		rows = append(rows, []string{c.Column, number(c.Mean), number(c.SD), number(c.Bounds.Low), number(c.Bounds.High), string(c.Finding)})
	}
	if err := words.Table(w, "  ", 1, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func planScale(w io.Writer, p *pvi.Protocol) error {
	if len(p.Before()) == 0 {
		return nil
	}
	s := p.Before()[0]
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
	if err := words.Table(w, "  ", 2, rows); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n"+wrap(fmt.Sprintf("Columns are then mapped to [−1, 1] by mean ± %s sd, within their bounds; values beyond count as at the ends. This plan takes the bounds that the study declares: the clip and all noise in natural parameters follow the scale that is found, the noise multiplier and the costs do not.", number(st.Standardisation.SDs))))
	return err
}

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

// afterScale returns a phrase that mentions the number of releases in the scale phase, or "" if
// there is none.
func afterScale(p *pvi.Protocol) string {
	for _, s := range p.Before() {
		return fmt.Sprintf(", after %d for the scale, which every cost below includes", s.Passes())
	}
	return ""
}
