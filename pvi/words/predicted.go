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

// PredictedCSV writes a row for each record. It has the record's row number in its table, and the
// mean, the standard deviation and three quantiles of each quantity. If log_lik is one of the
// quantities, the last column is the log predictive density. The cells of a quantity that is not
// finite in some draws are empty.
func PredictedCSV(w io.Writer, records *shard.New, p *fit.Predicted) (all Densities, err error) {
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
		all.Sum = math.NaN()
	}
	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return all, err
	}
	text := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	err = p.Each(func(record int, quantities []fit.Quantity, density fit.LogDensity) error {
		row := []string{strconv.Itoa(records.Rows[record])}
		for _, q := range quantities {
			if q.Spread == nil {
				row = append(row, "", "", "", "", "")
				continue
			}
			row = append(row, text(q.Mean), text(q.SD), text(q.Lower), text(q.Q50), text(q.Upper))
		}
		if scored {
			row = append(row, text(density.Value))
			all.add(density)
		}
		return out.Write(row)
	})
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	return all, err
}

// Densities adds up the log predictive densities of records.
type Densities struct {
	Sum       float64 // NaN if log_lik is not a quantity
	Uncertain int     // number of uncertain densities ([fit.LogDensity.Uncertain])
}

func (d *Densities) add(one fit.LogDensity) {
	if d.Sum += one.Value; one.Uncertain() {
		d.Uncertain++
	}
}

// A Predictions is a summary of predictions. It depends on the records.
type Predictions struct {
	Records    int      `json:"records"`
	LeftOut    int      `json:"left_out"` // number of records that do not fit the study
	Quantities []string `json:"quantities"`
	Lacking    []string `json:"lacking,omitempty"` // quantities that could not be computed because a column is missing

	// LogDensity is the sum of the log predictive densities. It is nil if log_lik is not a quantity.
	LogDensity *float64 `json:"log_density,omitempty"`
	Uncertain  int      `json:"uncertain,omitempty"` // see [Densities]
}

// NewPredictions returns a summary of predictions. densities comes from [PredictedCSV].
func NewPredictions(records *shard.New, report shard.Report, p *fit.Predicted, densities Densities) Predictions {
	out := Predictions{Records: records.Len(), LeftOut: report.LeftOut(), Quantities: p.Quantities, Lacking: p.LeftOut, Uncertain: densities.Uncertain}
	if sum := densities.Sum; records.Len() > 0 && !math.IsNaN(sum) && !math.IsInf(sum, 0) {
		out.LogDensity = &sum
	}
	return out
}

// String returns the summary as sentences.
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
	if p.Uncertain > 0 {
		text += " " + UncertainDensities(p.Uncertain)
	}
	return Wrap(text)
}

// UncertainDensities returns a sentence about the number of records with an uncertain log
// predictive density.
func UncertainDensities(records int) string {
	return fmt.Sprintf("The log predictive densities of %s are uncertain by more than 0.1: they are averages over points of the posterior, of which few are near these records.", Plural(records, "record"))
}
