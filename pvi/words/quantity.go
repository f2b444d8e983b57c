package words

import (
	"fmt"
	"io"
	"slices"

	"fedpvi/pvi/fit"
)

// QuantitiesTitle is the title of a table of [Quantities].
const QuantitiesTitle = "Quantities computed from the parameters"

// Quantities writes a table of quantities. If pooled is not nil, it holds the same quantities
// computed from the pooled records, and the table shows them after a vertical bar.
func Quantities(w io.Writer, of, pooled []fit.Quantity) error {
	columns := []string{"mean", "sd", "2.5 %", "50 %", "97.5 %"}
	if slices.ContainsFunc(of, func(q fit.Quantity) bool { return q.Estimate != nil }) {
		columns = []string{"estimate"}
	}
	rows := [][]string{append([]string{"", "unit"}, columns...)}
	if pooled != nil {
		rows[0] = append(rows[0], "│", "mean", "sd", "2.5 %", "50 %", "97.5 %")
	}
	for i := range of {
		row := append([]string{of[i].Name, of[i].Unit}, QuantityCells(of[i])...)
		for len(row) < len(columns)+2 {
			row = append(row, "")
		}
		if pooled != nil {
			row = append(append(row, "│"), QuantityCells(pooled[i])...)
		}
		rows = append(rows, row)
	}
	return Table(w, "  ", 2, rows)
}

// QuantityCells returns a quantity as the cells of a table row: the point estimate or, if the study
// has intervals, the mean, the standard deviation and three quantiles. If the quantity is not
// finite in some draws, one cell says so.
func QuantityCells(q fit.Quantity) []string {
	switch {
	case q.Estimate != nil:
		return []string{Number(*q.Estimate)}
	case q.Spread == nil:
		return []string{fmt.Sprintf("not finite in %s", Plural(q.Undefined, "draw"))}
	}
	return []string{Number(q.Mean), Number(q.SD), Number(q.Lower), Number(q.Q50), Number(q.Upper)}
}
