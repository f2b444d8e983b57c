package words

import (
	"errors"
	"io"
	"math"
	"slices"

	"fedpvi/pvi/fit"
)

// ErrNoRatio is the error for a table of ratios if the model has neither odds nor rates.
var ErrNoRatio = errors.New("this model has no odds and no rates: ratios are for logistic, softmax and count models")

// Natural writes a table of parameters in natural units, with their central 95 % intervals. If
// other is not nil, it has the same parameters under another posterior, and the table shows them
// on the right of a bar. If ratios is true, a log odds or a log rate is shown as the exponential
// of its mean, without an sd.
func Natural(w io.Writer, names []string, of, other []fit.Natural, ratios bool) error {
	posteriors := [][]fit.Natural{of}
	if other != nil {
		posteriors = append(posteriors, other)
	}
	header, found := []string{"", "unit"}, false
	rows := make([][]string, 1, len(names)+1)
	for k := range posteriors {
		header = append(header, "│", "mean", "sd", "2.5 %", "97.5 %")
		if ratios {
			header[3+5*k] = "mean or ratio"
		}
	}
	rows[0] = slices.Delete(header, 2, 3)
	for i, name := range names {
		row := []string{name, of[i].Unit}
		for _, posterior := range posteriors {
			n := posterior[i]
			sd := Number(n.SD)
			if ratios && n.Ratio != "" {
				row[1], sd, found = n.Ratio, "", true
				n.Mean, n.Low, n.High = math.Exp(n.Mean), math.Exp(n.Low), math.Exp(n.High)
			}
			row = append(row, "│", Number(n.Mean), sd, Number(n.Low), Number(n.High))
		}
		rows = append(rows, slices.Delete(row, 2, 3))
	}
	if ratios && !found {
		return ErrNoRatio
	}
	return Table(w, "  ", 2, rows)
}
