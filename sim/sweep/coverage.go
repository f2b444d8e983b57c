package sweep

import (
	"math"

	"fedpvi/sim"
)

// addCoverage adds the coverage of q and of the noise-aware posterior, if the true coefficients are
// known and the study reports intervals.
func addCoverage(values map[string]float64, p *sim.Play) error {
	if p.Truth == nil || p.Federation.Protocol.Study().Points() {
		return nil
	}
	plain, aware, err := p.Coverage()
	values["coverage"], values["noise_aware_coverage"] = plain, aware
	return err
}

// isShare reports whether a metric is a share of the coefficients. A share can take only few
// values, so its mean is a better summary than its quantiles.
func isShare(metric string) bool { return metric == "coverage" || metric == "noise_aware_coverage" }

// standardError returns NaN if there are fewer than two values.
func standardError(values []float64) float64 {
	return deviation(values) / math.Sqrt(float64(len(values)))
}
