package baseline

import (
	"fmt"
	"math"

	"fedpvi/pvi/ep"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

const (
	sitesHeld = 1 << 26 // maximum number of float64s in the factors of all records (half a gigabyte)
	sepPasses = 400     // number of passes of stochastic expectation propagation per coordinate
)

// epOptions make expectation propagation converge even if the factors of records disagree strongly.
var epOptions = ep.Options{Damping: 0.5, Passes: 1000, Tolerance: 1e-8}

// propagate runs expectation propagation, or its stochastic form, without privacy. Its fixed point
// becomes the posterior of p.
func propagate(p *sim.Play) (Cost, error) {
	nothing := Cost{math.NaN(), math.NaN()}
	protocol := p.Federation.Protocol
	in, family := protocol.Study().Inference.Propagation, protocol.Family()
	tilted := protocol.Model().Tilted(p.Federation.Shards[0], family, 1)
	natural := make([]float64, family.Size())
	if protocol.Study().Simulation.Baseline == study.EP {
		if tilted.Records()*len(natural) > sitesHeld {
			return nothing, fmt.Errorf("baseline: %d records with a factor of %d numbers each do not fit: write baseline = %q", tilted.Records(), len(natural), study.SEP)
		}
		o := epOptions
		o.Power = in.Power
		if passes, settled := ep.EP(natural, protocol.Prior(), tilted, o); !settled {
			return nothing, fmt.Errorf("baseline: expectation propagation has not converged after %d passes", passes)
		}
	} else if err := tie(natural, protocol.Prior(), tilted, in, family.Dim()); err != nil {
		return nothing, fmt.Errorf("baseline: %w", err)
	}
	for i, prior := range protocol.Prior() {
		natural[i] += prior
	}
	if err := family.Check(natural); err != nil {
		return nothing, fmt.Errorf("baseline: %w", err)
	}
	p.Adopt(natural)
	return nothing, nil
}

// tie finds one common factor for all records by stochastic expectation propagation. With a
// diagonal family, a step in one coordinate ignores its correlation with the others. So tie divides
// the steps by the number of coordinates and takes that many times more of them.
func tie(dst, prior []float64, t ep.Tilted, how study.Propagation, d int) error {
	o := ep.SEPOptions{
		Power: how.Power, StepSize: 1, Recency: sepPasses * float64(d), Overlap: float64(d),
		Nominal: float64(t.Records()), Improper: study.Project,
	}
	if t.Family().Name() == "full" {
		o.Overlap = 1
	}
	return ep.SEP(dst, prior, t, o, int(sepPasses*o.Overlap))
}
