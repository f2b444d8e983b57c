package client

import (
	"fmt"
	"math"

	"fedpvi/pvi"
	"fedpvi/pvi/words"
)

// widening returns by how much noise widens the interval of a coefficient whose regressor is one
// in every record, if every client has the nominal number of records; 0 if no public number says
// how many there are. With precision Λ of the records, and noise of sd τ on precision times mean,
// the mean is off by τ/Λ: the variance 1/Λ becomes 1/Λ + τ²/Λ². Other regressors have less than
// Λ and are widened more.
func widening(p *pvi.Protocol, forecast pvi.Forecast) float64 {
	each := float64(p.Study().Federation.NominalRecords) * p.Model().Curvature()
	information := each * float64(len(p.Roster()))
	if !(information > 0) {
		return 0
	}
	tau := forecast.Noise
	if p.Descent() != nil {
		tau = p.ClosedFormNoise()
	}
	return math.Sqrt(1 + tau*tau/information)
}

// widened says it in words.
func (r *Review) widened() string {
	if r.Noise.Widening == 0 {
		return "How much wider intervals get cannot be said beforehand: it depends on how many records there are, and the study has no public number of them (federation.nominal_records)."
	}
	return fmt.Sprintf("With the study's nominal %s of each of %s, the interval of a coefficient whose regressor is 1 in every record is %.3g times as wide as without noise; those of others are wider.",
		words.Plural(r.Noise.nominal, "record"), words.Plural(r.Assumed, "client"), r.Noise.Widening)
}
