package sweep

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"fedpvi/sim/report"
)

var nan = math.NaN()

// formatField writes a value for a CSV file; one that is missing is empty.
func formatField(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func parseField(field string) (float64, error) {
	if field == "" {
		return nan, nil
	}
	return strconv.ParseFloat(field, 64)
}

// traceKey names a point of the trace of a cell.
type traceKey struct {
	cell, round, metric int
}

func (r *Results) keepPoint(index, round, metric int, x float64) {
	if math.IsNaN(x) {
		return
	}
	k := traceKey{index / r.spec.Seeds, round, metric}
	r.points[k] = append(r.points[k], x)
}

// column returns the values of a metric over the runs of a cell that are there.
func (r *Results) column(cell int, metric string) []float64 {
	m := slices.Index(Metrics, metric)
	var values []float64
	for i := cell * r.spec.Seeds; i < (cell+1)*r.spec.Seeds && i < len(r.values); i++ {
		if x := r.values[i][m]; !math.IsNaN(x) {
			values = append(values, x)
		}
	}
	return values
}

// quantiles returns the given quantiles of values, NaN if there are none. Quantile p
// of n values in order is at place p(n−1), counted from 0, on straight lines
// between them (Hyndman and Fan 1996, definition 7), so that the median of an even
// number is the mean of the two in the middle.
func quantiles(values []float64, at ...float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	out := make([]float64, len(at))
	for i, p := range at {
		out[i] = nan
		if len(sorted) > 0 {
			place := p * float64(len(sorted)-1)
			below := int(place)
			above := min(below+1, len(sorted)-1)
			out[i] = sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
		}
	}
	return out
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return nan
	}
	return stat.Mean(values, nil)
}

// summaryHeader names the columns of a summary after those of the axes.
var summaryHeader = []string{
	"runs", "kl_p10", "kl_median", "kl_p90", "kl_mean", "mean_error_median", "sd_ratio_median",
	"accepted_share", "claimed_epsilon", "true_epsilon", "sound_epsilon",
	"coverage", "coverage_se", "noise_aware_coverage", "noise_aware_coverage_se",
}

// summaryRow describes a cell.
func (r *Results) summaryRow(cell int) []float64 {
	kl := r.column(cell, "kl")
	q := quantiles(kl, .1, .5, .9)
	plain, aware := r.column(cell, "coverage"), r.column(cell, "noise_aware_coverage")
	accepted, rejected := mean(r.column(cell, "accepted")), mean(r.column(cell, "rejected"))
	return []float64{
		float64(len(kl)), q[0], q[1], q[2], mean(kl),
		quantiles(r.column(cell, "mean_error"), .5)[0],
		quantiles(r.column(cell, "sd_ratio"), .5)[0],
		accepted / (accepted + rejected),
		mean(r.column(cell, "claimed_epsilon")), mean(r.column(cell, "true_epsilon")), mean(r.column(cell, "sound_epsilon")),
		mean(plain), standardError(plain), mean(aware), standardError(aware),
	}
}

// Summary writes a table with a row for every point of the grid.
func (r *Results) Summary(w io.Writer) error {
	var header []string
	for _, a := range r.spec.Axes {
		header = append(header, a.Name)
	}
	rows := [][]string{append(header, "KL 10 %", "median", "90 %", "mean", "λ moved", "claimed ε", "true ε", "sound ε")}
	for cell := range r.spec.cells() {
		var row []string
		for _, c := range r.spec.cases(cell) {
			row = append(row, c.Label)
		}
		v := r.summaryRow(cell)
		rows = append(rows, append(row, short(v[1]), short(v[2]), short(v[3]), short(v[4]),
			percent(v[7]), short(v[8]), short(v[9]), short(v[10])))
	}
	return report.Table(w, "  ", len(r.spec.Axes), rows)
}

// A Point is a point of the grid in a [Overview].
type Point struct {
	Cases   map[string]string  `json:"cases"`   // by axis
	Summary map[string]float64 `json:"summary"` // by column of summary.csv; what is missing there is not here
}

// An Overview is what a sweep found, for a machine.
type Overview struct {
	Sweep  string  `json:"sweep"`
	Title  string  `json:"title"`
	Digest string  `json:"digest"` // SHA-256 of sweep and study
	Runs   int     `json:"runs"`
	Points []Point `json:"points"`
	Folder string  `json:"folder"`
}

// Overview returns what is in summary.csv.
func (r *Results) Overview() Overview {
	o := Overview{Sweep: r.spec.Name, Title: r.spec.Title, Digest: r.spec.Digest, Runs: r.Runs(), Folder: r.Folder}
	for cell := range r.spec.cells() {
		p := Point{map[string]string{}, map[string]float64{}}
		for i, c := range r.spec.cases(cell) {
			p.Cases[r.spec.Axes[i].Name] = c.Label
		}
		for i, x := range r.summaryRow(cell) {
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				p.Summary[summaryHeader[i]] = x
			}
		}
		o.Points = append(o.Points, p)
	}
	return o
}

func short(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.3g", x)
}

func percent(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*x)
}

// writeSummary writes summary.csv.
func (r *Results) writeSummary() error {
	file, err := os.Create(filepath.Join(r.Folder, "summary.csv"))
	if err != nil {
		return err
	}
	defer file.Close()
	var header []string
	for _, a := range r.spec.Axes {
		header = append(header, a.Name)
	}
	if err := writeRow(file, append(header, summaryHeader...)); err != nil {
		return err
	}
	for cell := range r.spec.cells() {
		var fields []string
		for _, c := range r.spec.cases(cell) {
			fields = append(fields, c.Label)
		}
		for _, x := range r.summaryRow(cell) {
			fields = append(fields, formatField(x))
		}
		if err := writeRow(file, fields); err != nil {
			return err
		}
	}
	return file.Close()
}

// Finish writes summary.csv and the plots from what is there.
func (r *Results) Finish() error {
	if err := r.writeSummary(); err != nil {
		return err
	}
	for _, p := range r.spec.Plots {
		if err := r.plot(p); err != nil {
			return fmt.Errorf("plot %s: %w", p.File, err)
		}
	}
	return nil
}
