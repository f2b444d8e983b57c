package words

import (
	"io"

	"fedpvi/pvi/fit"
)

// Checks writes a table of posterior predictive checks. A star marks an observed statistic that
// lies outside the central 95 % of the drawn ones.
func Checks(w io.Writer, all []fit.Check) error {
	rows := [][]string{{"outcome", "observed", "2.5 %", "97.5 % of draws", "draws above", ""}}
	for _, c := range all {
		star := ""
		if c.Observed < c.Low || c.Observed > c.High {
			star = "*"
		}
		rows = append(rows, []string{c.Statistic, Number(c.Observed), Number(c.Low), Number(c.High), Number(c.Above), star})
	}
	return Table(w, "  ", 1, rows)
}
