package sweep

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"fedpvi/sim"
)

// addCoverage adds the share of the true parameters that lie within the middle 90 % of their
// marginals, under the plain and under the noise-aware posterior; they are equal if the study asks
// for none. Only made-up records have a truth.
func addCoverage(values map[string]float64, p *sim.Play) error {
	if p.Truth == nil {
		return nil
	}
	plain, aware, err := p.Coverage()
	values["coverage"], values["noise_aware_coverage"] = plain, aware
	return err
}

// isShare reports whether a metric is a share of a few, which is better summarised by means than
// by quantiles.
func isShare(metric string) bool { return metric == "coverage" || metric == "noise_aware_coverage" }

// standardError returns the standard error of the mean of independent values; NaN for fewer than
// two.
func standardError(values []float64) float64 {
	if len(values) < 2 {
		return nan
	}
	return stat.StdDev(values, nil) / math.Sqrt(float64(len(values)))
}

// spread returns the drawn summary of a metric's values: deciles and median, or the mean of a
// share between the ends of its 95 % confidence interval.
func spread(metric string, values []float64) []float64 {
	if !isShare(metric) {
		return quantiles(values, .1, .5, .9)
	}
	const normal95 = 1.959963984540054
	m, reach := mean(values), normal95*standardError(values)
	if math.IsNaN(reach) {
		reach = 0
	}
	return []float64{m - reach, m, m + reach}
}

// shownCoverage returns columns of the coverages that a plot of the sweep uses, with the standard
// errors of the means.
func (r *Results) shownCoverage() (columns []shown) {
	for _, metric := range []string{"coverage", "noise_aware_coverage"} {
		if slices.ContainsFunc(r.spec.Plots, func(p Plot) bool { return p.Y == metric }) {
			columns = append(columns, shown{strings.ReplaceAll(metric, "_", " "), func(found map[string]float64) string {
				return digits(found[metric]) + uncertain(found[metric+"_se"])
			}})
		}
	}
	return columns
}
