package sweep

import "fedpvi/sim"

// addCoverage adds the share of the true parameters that lie within the middle 90 % of
// their marginals, of the posterior as it is and with what the privacy noise adds; the
// same where the study leaves that out. Only records that were made up have a truth.
func addCoverage(values map[string]float64, p *sim.Play) error {
	if p.Truth == nil {
		return nil
	}
	plain, aware, err := p.Coverage()
	values["coverage"], values["noise_aware_coverage"] = plain, aware
	return err
}
