package session

import (
	"errors"
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
)

// ErrNoPosterior is the error of [Posterior.Check] if the study reports point estimates or has no
// model.
var ErrNoPosterior = errors.New("the study has no posterior, and records are compared with draws from a posterior")

// Check compares the outcomes of records with outcomes drawn from the posterior
// ([fit.Model.Check]), using random numbers from src. The result is for the holder of the records
// only.
func (p *Posterior) Check(records *shard.Records, src *dpmech.Stream) ([]fit.Check, error) {
	if p.Estimates != nil || p.model.Study.Model.Absent() {
		return nil, ErrNoPosterior
	}
	family, natural, err := p.gaussian()
	if err != nil {
		return nil, err
	}
	return p.model.Check(shard.Design(p.model.Study, records.Fitting()), family, natural, variates{src})
}

// variates provides random numbers from a stream to [fit.Model.Check].
type variates struct{ *dpmech.Stream }

// Float64 returns a uniform number in (0, 1).
func (v variates) Float64() float64 { return (float64(v.Uint64()>>11) + 0.5) / (1 << 53) }

// NormFloat64 returns a standard normal number, computed by inversion.
func (v variates) NormFloat64() float64 { return math.Sqrt2 * math.Erfinv(2*v.Float64()-1) }
