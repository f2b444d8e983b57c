package words

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
)

// PredictedCSV writes a row for each record: its row number in the table of records, and the mean,
// the sd and three quantiles of each quantity. If log_lik is a quantity, the last column is the log
// predictive density, whose sum is returned. Otherwise the result is NaN. A quantity that is not
// finite in some draws has empty cells.
func PredictedCSV(w io.Writer, records *shard.New, p *fit.Predicted) (sum float64, err error) {
	scored := slices.Contains(p.Quantities, "log_lik")
	header := []string{"row"}
	for _, name := range p.Quantities {
		for _, of := range []string{"mean", "sd", "q2.5", "q50", "q97.5"} {
			header = append(header, name+"_"+of)
		}
	}
	if scored {
		header = append(header, "log_density")
	} else {
		sum = math.NaN()
	}
	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return sum, err
	}
	text := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	err = p.Each(func(record int, quantities []fit.Quantity, density float64) error {
		row := []string{strconv.Itoa(records.Rows[record])}
		for _, q := range quantities {
			if q.Spread == nil {
				row = append(row, "", "", "", "", "")
				continue
			}
			row = append(row, text(q.Mean), text(q.SD), text(q.Lower), text(q.Q50), text(q.Upper))
		}
		if scored {
			row, sum = append(row, text(density)), sum+density
		}
		return out.Write(row)
	})
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	return sum, err
}

// A Predictions is a summary of predictions. It depends on the records.
type Predictions struct {
	Records    int      `json:"records"`
	LeftOut    int      `json:"left_out"` // number of records that do not fit the study
	Quantities []string `json:"quantities"`
	Lacking    []string `json:"lacking,omitempty"` // quantities that need an absent column

	// LogDensity is the sum of the log predictive densities, or nil without log_lik.
	LogDensity *float64 `json:"log_density,omitempty"`
}

// NewPredictions returns a summary of predictions. sum comes from [PredictedCSV].
func NewPredictions(records *shard.New, report shard.Report, p *fit.Predicted, sum float64) Predictions {
	out := Predictions{Records: records.Len(), LeftOut: report.LeftOut(), Quantities: p.Quantities, Lacking: p.LeftOut}
	if records.Len() > 0 && !math.IsNaN(sum) && !math.IsInf(sum, 0) {
		out.LogDensity = &sum
	}
	return out
}

// String returns the summary in sentences.
func (p Predictions) String() string {
	text := fmt.Sprintf("Predicted for %s: %s.", Plural(p.Records, "record"), strings.Join(p.Quantities, ", "))
	if p.LeftOut > 0 {
		text += fmt.Sprintf(" %s left out, because a value is missing or not as the study declares it.", Plural(p.LeftOut, "record"))
	}
	if p.Lacking != nil {
		text += fmt.Sprintf(" Not computed, because the table lacks a column: %s.", strings.Join(p.Lacking, ", "))
	}
	if p.LogDensity != nil {
		text += fmt.Sprintf(" The log predictive densities add up to %s, %s for each record.", Number(*p.LogDensity), Number(*p.LogDensity/float64(p.Records)))
	}
	return Wrap(text)
}
