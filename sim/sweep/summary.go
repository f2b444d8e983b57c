package sweep

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"fedpvi/sim/report"

	"fedpvi/pvi/words"
)

var nan = math.NaN()

func mean(values []float64) float64 {
	if len(values) == 0 {
		return nan
	}
	return stat.Mean(values, nil)
}

// A statistic is a number that summarises the runs of one grid cell.
type statistic struct {
	name string // name of the column in summary.csv
	of   func(r *Results, cell int) float64
}

// posteriorStatistics are the statistics of every cell.
var posteriorStatistics = []statistic{
	{"runs", func(r *Results, cell int) float64 { return float64(len(r.column(cell, "kl"))) }},
	over("kl_p10", "kl", quantile(.1)),
	over("kl_median", "kl", quantile(.5)),
	over("kl_p90", "kl", quantile(.9)),
	over("kl_mean", "kl", mean),
	over("mean_error_median", "mean_error", quantile(.5)),
	over("sd_ratio_median", "sd_ratio", quantile(.5)),
	{"accepted_share", acceptedShare},
	over("mean_error_mean", "mean_error", mean),
	over("mean_error_sd", "mean_error", deviation),
	over("sd_ratio_mean", "sd_ratio", mean),
	over("sd_ratio_sd", "sd_ratio", deviation),
	over("noise_aware_sd_ratio_mean", "noise_aware_sd_ratio", mean),
	over("noise_aware_sd_ratio_sd", "noise_aware_sd_ratio", deviation),
	over("claimed_epsilon", "claimed_epsilon", mean),
	over("true_epsilon", "true_epsilon", mean),
	over("sound_epsilon", "sound_epsilon", mean),
	over("coverage", "coverage", mean),
	over("coverage_se", "coverage", standardError),
	over("noise_aware_coverage", "noise_aware_coverage", mean),
	over("noise_aware_coverage_se", "noise_aware_coverage", standardError),
}

// testStatistics are the mean and the standard deviation of each test metric.
var testStatistics = func() (all []statistic) {
	for _, metric := range testMetrics {
		all = append(all, over(metric+"_mean", metric, mean), over(metric+"_sd", metric, deviation))
	}
	return all
}()

func over(name, metric string, f func(values []float64) float64) statistic {
	return statistic{name, func(r *Results, cell int) float64 { return f(r.column(cell, metric)) }}
}

func quantile(p float64) func(values []float64) float64 {
	return func(values []float64) float64 { return report.Quantile(values, p) }
}

func acceptedShare(r *Results, cell int) float64 {
	accepted, rejected := mean(r.column(cell, "accepted")), mean(r.column(cell, "rejected"))
	return accepted / (accepted + rejected)
}

func (r *Results) statistics() []statistic {
	if r.spec.Tested {
		return slices.Concat(posteriorStatistics, testStatistics)
	}
	return posteriorStatistics
}

func (r *Results) describe(cell int) map[string]float64 {
	found := map[string]float64{}
	for _, s := range r.statistics() {
		found[s.name] = s.of(r, cell)
	}
	return found
}

// A shown is a column of the readable summary table.
type shown struct {
	head string
	text func(found map[string]float64) string
}

func plainly(head, name string) shown {
	return shown{head, func(found map[string]float64) string { return short(found[name]) }}
}

func plusMinus(head, mean, uncertainty string) shown {
	return shown{head, func(found map[string]float64) string {
		if math.IsNaN(found[uncertainty]) {
			return digits(found[mean])
		}
		return digits(found[mean]) + " ± " + digits(found[uncertainty])
	}}
}

func (r *Results) shown() []shown {
	moved := shown{"λ moved", func(found map[string]float64) string { return formatted("%.0f %%", 100*found["accepted_share"]) }}
	costs := []shown{plainly("claimed ε", "claimed_epsilon"), plainly("true ε", "true_epsilon"), plainly("sound ε", "sound_epsilon")}
	columns := r.shownByPlots()
	if !r.spec.Tested {
		return slices.Concat([]shown{
			plainly("KL 10 %", "kl_p10"), plainly("median", "kl_median"), plainly("90 %", "kl_p90"), plainly("mean", "kl_mean"), moved,
		}, columns, costs)
	}
	for _, c := range []struct{ head, metric string }{
		{"accuracy", "accuracy"}, {"log likelihood", "log_likelihood"}, {"AUC", "auc"},
	} {
		if !r.has(c.metric) {
			continue
		}
		columns = append(columns,
			plusMinus(c.head, c.metric+"_mean", c.metric+"_sd"),
			shown{"below pooled", func(found map[string]float64) string { return digits(found[c.metric+"_gap_mean"]) }},
		)
	}
	return slices.Concat(columns, []shown{plainly("KL median", "kl_median"), moved}, costs)
}

// shownByPlots returns columns for the metrics in the sweep's plots: coverages with standard
// errors, and errors of means and ratios of sds with standard deviations.
func (r *Results) shownByPlots() (columns []shown) {
	for _, c := range []struct{ metric, head, mean, uncertainty string }{
		{"coverage", "coverage", "coverage", "coverage_se"},
		{"noise_aware_coverage", "noise aware coverage", "noise_aware_coverage", "noise_aware_coverage_se"},
		{"mean_error", "error of the mean", "mean_error_mean", "mean_error_sd"},
		{"sd_ratio", "sd ratio", "sd_ratio_mean", "sd_ratio_sd"},
		{"noise_aware_sd_ratio", "noise aware sd ratio", "noise_aware_sd_ratio_mean", "noise_aware_sd_ratio_sd"},
	} {
		if slices.ContainsFunc(r.spec.Plots, func(p Plot) bool { return p.Y == c.metric }) {
			columns = append(columns, plusMinus(c.head, c.mean, c.uncertainty))
		}
	}
	return columns
}

func (r *Results) has(metric string) bool {
	for cell := range r.spec.cells() {
		if len(r.column(cell, metric)) > 0 {
			return true
		}
	}
	return false
}

// table returns a row of headings, followed by a row for every point of the grid.
func (r *Results) table() [][]string {
	columns := r.shown()
	header := r.spec.axisNames()
	for _, c := range columns {
		header = append(header, c.head)
	}
	rows := [][]string{header}
	for cell := range r.spec.cells() {
		var row []string
		for _, c := range r.spec.cases(cell) {
			row = append(row, c.Label)
		}
		found := r.describe(cell)
		for _, c := range columns {
			row = append(row, c.text(found))
		}
		rows = append(rows, row)
	}
	return rows
}

// Summary writes a table with a row for every point of the grid.
func (r *Results) Summary(w io.Writer) error {
	return words.Table(w, "  ", len(r.spec.Axes), r.table())
}

func (r *Results) markdown(w io.Writer) error {
	var b strings.Builder
	for i, row := range r.table() {
		for k := range row {
			row[k] = strings.ReplaceAll(row[k], "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func short(x float64) string { return formatted("%.3g", x) }

func digits(x float64) string { return formatted("%.4f", x) }

// formatted formats a number in the given format, and NaN as a dash.
func formatted(format string, x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf(format, x)
}
