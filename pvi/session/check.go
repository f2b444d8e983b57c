package session

import (
	"errors"
	"math"

	"fedpvi/dpmech"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
)

// ErrNoPosterior is returned by [Posterior.Check] if the study reports point estimates or has no
// model.
var ErrNoPosterior = errors.New("the study has no posterior, and records are compared with draws from a posterior")

// Check compares the outcomes of records with outcomes drawn from the posterior
// ([fit.Model.Check]), with random numbers from src. Only the holder of the records may see the
// result.
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

// variates takes random numbers for [fit.Model.Check] from a stream.
type variates struct{ *dpmech.Stream }

// Float64 returns a uniform number in (0, 1).
func (v variates) Float64() float64 { return (float64(v.Uint64()>>11) + 0.5) / (1 << 53) }

// NormFloat64 returns a standard normal number by inversion.
func (v variates) NormFloat64() float64 { return math.Sqrt2 * math.Erfinv(2*v.Float64()-1) }
