package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// A Comparison compares runs by how well their posteriors predict the same records (Vehtari, Gelman
// and Gabry, "Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC",
// 2017). It depends on the records.
type Comparison struct {
	Records int        `json:"records"`  // number of records that all runs predict
	LeftOut int        `json:"left_out"` // number of records that at least one run predicts and at least one leaves out
	Runs    []Compared `json:"runs"`     // in order of decreasing ELPD
}

// A Compared is a run in a comparison. ELPD is the sum of the records' log predictive densities,
// and Difference is the ELPD minus the first run's. The standard errors assume independent records.
type Compared struct {
	Folder       string  `json:"folder"`
	ELPD         float64 `json:"elpd"`
	SE           float64 `json:"se"`
	Difference   float64 `json:"difference"`
	DifferenceSE float64 `json:"difference_se"`
}

// Compare compares the runs in the given folders by how well they predict the records in a file.
// Every run must give each record a log density. The studies must declare their columns alike,
// because the log densities could otherwise be on different scales.
func Compare(ctx context.Context, folders []string, path string) (*Comparison, error) {
	var first *study.Study
	densities := make([]map[int]float64, len(folders))
	seen := map[int]int{} // number of runs that predict a row, by row
	for k, folder := range folders {
		st, byRow, err := logDensities(ctx, folder, path)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = st
		}
		if err := declaredAlike(first, st); err != nil {
			return nil, fmt.Errorf("%s and %s: %w", folders[0], folder, err)
		}
		densities[k] = byRow
		for row := range byRow {
			seen[row]++
		}
	}
	var rows []int
	for row, n := range seen {
		if n == len(folders) {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	if len(rows) < 2 {
		return nil, fmt.Errorf("%s has %s that all runs predict: a standard error needs two", path, words.Plural(len(rows), "record"))
	}
	return ranked(folders, densities, rows, len(seen)-len(rows)), nil
}

// ranked sorts runs by decreasing ELPD. densities has the log densities of each run by row.
func ranked(folders []string, densities []map[int]float64, rows []int, leftOut int) *Comparison {
	sum := func(of func(row int) float64) (total, se float64) {
		values := make([]float64, len(rows))
		for i, row := range rows {
			values[i] = of(row)
			total += values[i]
		}
		return total, stat.StdDev(values, nil) * math.Sqrt(float64(len(rows)))
	}
	c := &Comparison{Records: len(rows), LeftOut: leftOut, Runs: make([]Compared, len(folders))}
	best := 0
	for k, d := range densities {
		r := &c.Runs[k]
		r.Folder = folders[k]
		r.ELPD, r.SE = sum(func(row int) float64 { return d[row] })
		if r.ELPD > c.Runs[best].ELPD {
			best = k
		}
	}
	for k, d := range densities {
		c.Runs[k].Difference, c.Runs[k].DifferenceSE = sum(func(row int) float64 { return d[row] - densities[best][row] })
	}
	slices.SortStableFunc(c.Runs, func(a, b Compared) int { return cmp.Compare(b.ELPD, a.ELPD) })
	return c
}

// logDensities returns the log predictive densities of the records in a file, by row, under the
// posterior of a run.
func logDensities(ctx context.Context, folder, path string) (*study.Study, map[int]float64, error) {
	st, p, err := Load(folder)
	if err != nil {
		return nil, nil, err
	}
	records, _, err := ReadNew(ctx, st, path)
	if err != nil {
		return nil, nil, err
	}
	predicted, err := p.Predict(records)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", folder, err)
	}
	if !slices.Contains(predicted.Quantities, "log_lik") {
		return nil, nil, fmt.Errorf("%s: the log density of the records is not known: the file must have all columns, and a program with generated quantities must generate log_lik", folder)
	}
	byRow := make(map[int]float64, records.Len())
	err = predicted.Each(func(record int, _ []fit.Quantity, density fit.LogDensity) error {
		if math.IsNaN(density.Value) || math.IsInf(density.Value, 0) {
			return fmt.Errorf("%s: the log density of the record in row %d is not finite", folder, records.Rows[record])
		}
		byRow[records.Rows[record]] = density.Value
		return nil
	})
	return st, byRow, err
}

// declaredAlike checks that the log densities of two studies are on the same scale: both studies or
// neither map columns to [-1, 1], and columns in both have the same declaration.
func declaredAlike(a, b *study.Study) error {
	if a.Model.Standardise != b.Model.Standardise {
		return errors.New("only one study maps columns to [-1, 1]: use the same model.standardise")
	}
	for _, c := range a.Columns {
		for _, d := range b.Columns {
			if c.Name == d.Name && (c.Type != d.Type || c.Low != d.Low || c.High != d.High || !slices.Equal(c.Levels, d.Levels) ||
				c.Transform != d.Transform || c.Centre != d.Centre || c.Spread != d.Spread || c.Dated != d.Dated || c.Since != d.Since) {
				return fmt.Errorf("column %q is declared differently, so that log densities may be on different scales: use the same type, bounds, levels, transform, centre and spread", c.Name)
			}
		}
	}
	return nil
}

// Write writes the comparison as a table.
func (c *Comparison) Write(w io.Writer) error {
	rows := [][]string{{"run", "elpd", "se", "difference", "se"}}
	for i, r := range c.Runs {
		row := []string{r.Folder, words.Number(r.ELPD), words.Number(r.SE), "", ""}
		if i > 0 {
			row[3], row[4] = words.Number(r.Difference), words.Number(r.DifferenceSE)
		}
		rows = append(rows, row)
	}
	text := fmt.Sprintf("elpd is the sum of the log predictive densities of %s.", words.Plural(c.Records, "record"))
	if c.LeftOut > 0 {
		text += fmt.Sprintf(" %s that some runs leave out did not count.", words.Plural(c.LeftOut, "record"))
	}
	return writeRanking(w, rows, text, "runs", c.Runs[1].Difference, c.Runs[1].DifferenceSE)
}

// writeRanking writes a table and some text, which says so if the first two rows hardly differ.
func writeRanking(w io.Writer, rows [][]string, text, what string, difference, se float64) error {
	if err := words.Table(w, "", 1, rows); err != nil {
		return err
	}
	if math.Abs(difference) < 2*se {
		text += fmt.Sprintf(" The first two %s differ by less than two standard errors: the records do not say which predicts better.", what)
	}
	_, err := fmt.Fprintln(w, words.Wrap(text))
	return err
}
