package client

import (
	"fmt"
	"math"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/words"
)

// widening returns the factor by which noise widens the credible interval of a coefficient whose
// regressor is 1 in every record. If the study does not give a nominal number of records per
// client, it returns 0. Without noise, the coefficient's posterior variance is 1/Λ. The noise adds
// τ²/Λ². The factor is the square root of the ratio of the two variances:
//
//	√(1 + τ²/Λ)
//
// Here Λ is the precision from the records, and τ is the standard deviation of the noise in the
// product of precision and mean. The records determine other coefficients less precisely, so the
// noise widens their intervals more.
func widening(p *pvi.Protocol, forecast method.Forecast) float64 {
	each := float64(p.Study().Federation.NominalRecords) * p.Model().Curvature()
	information := each * float64(len(p.Roster()))
	if !(information > 0) {
		return 0
	}
	tau := forecast.Noise
	if m, ok := p.Method().(method.Stepped); ok {
		tau = m.ClosedFormNoise()
	}
	return math.Sqrt(1 + tau*tau/information)
}

func (r *Review) widened() string {
	if r.Study.Parameters == nil {
		return ""
	}
	if r.Noise.Widening == 0 {
		return "The effect on the width of intervals depends on the number of records, and the study has no public number of them (federation.nominal_records)."
	}
	return fmt.Sprintf("With the study's nominal %s of each of %s, the interval of a coefficient whose regressor is 1 in every record is %.3g times as wide as without noise; those of others are wider.",
		words.Plural(r.Noise.nominal, "record"), words.Plural(r.Assumed, "client"), r.Noise.Widening)
}
