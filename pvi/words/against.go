package words

import (
	"fmt"
	"io"

	"fedpvi/pvi/fit"
)

// AgainstPrior writes a table that compares posteriors with priors on the model's scale. The table
// also shows how far the means would move if priors were half or twice as wide.
func AgainstPrior(w io.Writer, all []fit.AgainstPrior) error {
	rows := [][]string{{"", "prior mean", "prior sd", "sd / prior sd", "mean moves if priors are half as wide", "twice as wide"}}
	for i := range all {
		a := &all[i]
		name := a.Name
		if a.Log {
			name = "log " + name
		}
		shift := func(other *fit.Moment) string {
			if other == nil {
				return "-"
			}
			return fmt.Sprintf("%+.2f sd", a.Shift(other))
		}
		rows = append(rows, []string{name, Number(a.Prior.Mean), Number(a.Prior.SD), Number(a.Posterior.SD / a.Prior.SD), shift(a.Narrow), shift(a.Wide)})
	}
	return Table(w, "  ", 1, rows)
}
