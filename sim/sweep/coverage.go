package sweep

import (
	"math"

	"fedpvi/sim"
)

// addCoverage adds the share of the true coefficients inside the central 90 % intervals, for q and
// for the noise-aware posterior. The two shares are equal if the study requests no noise-aware
// posterior. addCoverage adds nothing if the true coefficients are unknown, as for records from
// files, or if the study reports only point estimates.
func addCoverage(values map[string]float64, p *sim.Play) error {
	if p.Truth == nil || p.Federation.Protocol.Study().Points() {
		return nil
	}
	plain, aware, err := p.Coverage()
	values["coverage"], values["noise_aware_coverage"] = plain, aware
	return err
}

// isShare reports whether a metric is a share of the coefficients. Shares take few values, so their
// mean is a better summary than their quantiles.
func isShare(metric string) bool { return metric == "coverage" || metric == "noise_aware_coverage" }

// standardError returns the standard error of the mean of independent values. It returns NaN for
// fewer than two values.
func standardError(values []float64) float64 {
	return deviation(values) / math.Sqrt(float64(len(values)))
}
